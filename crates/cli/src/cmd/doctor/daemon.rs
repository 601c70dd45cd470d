//! Checks of the daemon: whether one runs and answers, its socket, its ports, its database.

use std::fs::File;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt as _;

use covenant_daemon::config::{Config, Overrides};
use covenant_daemon::{Inspection, lock};
use covenant_model::api::Status;

use super::Finding;
use crate::client::Client;
use crate::exit::Failure;
use crate::setting::Setting;

/// Everything about the daemon.
pub(super) fn all(setting: &Setting) -> Vec<Finding> {
    let holder = lock::holder(&setting.home);
    match (ask(setting), holder) {
        (Ok(Some(status)), _) => running(setting, &status),
        (Ok(None), None) => absent(setting),
        (Ok(None), Some(holder)) => vec![Finding::fail(
            "daemon",
            format!("process {} holds this home and answers nobody", holder.pid),
            format!("see what it is doing with `covenant logs`; if it hangs: kill {}", holder.pid),
        )],
        (Err(failure), _) => vec![Finding::fail("daemon", failure.message(), failure.help())],
    }
}

/// The status, as the operator: a client's token in the environment does not matter here.
fn ask(setting: &Setting) -> Result<Option<Status>, Failure> {
    let socket = setting.home.socket().map_err(|error| Failure::failed(error.to_string(), ""))?;
    let client = Client::new(&socket, None)?;
    if client.is_served()? { client.get("/api/v1/status").map(Some) } else { Ok(None) }
}

fn running(setting: &Setting, status: &Status) -> Vec<Finding> {
    let mut findings = vec![if status.version == covenant_model::VERSION {
        Finding::ok("daemon", format!("process {} serves, since {}", status.pid, status.started_at))
    } else {
        Finding::warn(
            "daemon",
            format!(
                "process {} is version {}, this command is {}",
                status.pid,
                status.version,
                covenant_model::VERSION
            ),
            "restart it: covenant stop && covenant up --detach",
        )
    }];
    findings.extend(status.reasons.iter().map(|reason| {
        Finding::fail("daemon", format!("calls are not served: {reason}"), "see its log: covenant logs")
    }));
    findings.push(socket(setting));
    findings.push(Finding::ok("http", format!("listens on {}", status.listen.join(" and "))));
    findings.push(Finding::ok("database", format!("{} (schema {})", status.database, status.schema)));
    findings
}

fn socket(setting: &Setting) -> Finding {
    const NAME: &str = "socket";
    let path = match setting.home.socket() {
        Ok(path) => path,
        Err(error) => return Finding::told(NAME, &error),
    };
    match path.metadata().map(|metadata| metadata.mode() & 0o777) {
        Ok(mode) if mode & 0o077 != 0 => Finding::fail(
            NAME,
            format!("{} is open to other users (mode {mode:03o})", path.display()),
            format!("chmod 600 {}", path.display()),
        ),
        Ok(mode) => Finding::ok(NAME, format!("{} (mode {mode:03o})", path.display())),
        Err(error) => Finding::told(NAME, &error),
    }
}

fn absent(setting: &Setting) -> Vec<Finding> {
    let mut findings = vec![Finding::ok("daemon", "none runs; commands that need one start it")];
    let Ok(loaded) = Config::load(&setting.home, &Overrides::from_environment()) else { return findings };
    for address in loaded.config.http.addresses() {
        if address.port() == 0 {
            findings.push(Finding::ok("http", format!("takes any free port on {}", address.ip())));
            continue;
        }
        match TcpListener::bind(address) {
            Ok(_) => findings.push(Finding::ok("http", format!("{address} is free"))),
            Err(error) if address.is_ipv6() => {
                findings.push(Finding::warn("http", format!("{address} cannot be used: {error}"), ""));
            }
            Err(error) => findings.push(Finding::fail(
                "http",
                format!("{address} cannot be listened on: {error}"),
                "end what uses it, or choose another with [http] listen in config.toml",
            )),
        }
    }
    findings.push(database(setting, &loaded.config));
    findings
}

/// Without a daemon the database is only looked at from outside: opening it could migrate it.
fn database(setting: &Setting, config: &Config) -> Finding {
    const NAME: &str = "database";
    const UNCHECKED: &str = "what is in it is not checked without a daemon";
    let Some(file) = config.database.url.strip_prefix("sqlite:") else {
        return Finding::skip(NAME, format!("{}: {UNCHECKED}", config.database.shown()));
    };
    let path = setting.home.root().join(file);
    let unreadable = |error: std::io::Error| {
        let action = "see who owns it, and make it yours; a daemon cannot start without it";
        Finding::fail(NAME, format!("{} cannot be read: {error}", path.display()), action)
    };
    match File::open(&path).and_then(|file| file.metadata()) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Finding::ok(NAME, format!("{} is not there yet; the first daemon makes it", path.display()))
        }
        Err(error) => unreadable(error),
        Ok(metadata) if !metadata.is_file() => unreadable(std::io::ErrorKind::IsADirectory.into()),
        Ok(metadata) if metadata.mode() & 0o077 != 0 => Finding::warn(
            NAME,
            format!("{} can be read by other users (mode {:03o})", path.display(), metadata.mode() & 0o777),
            format!("chmod 600 {}", path.display()),
        ),
        Ok(metadata) => match covenant_daemon::inspect(&path) {
            Ok(Inspection::Schema(schema)) => {
                let size = metadata.len().div_ceil(1024);
                Finding::ok(NAME, format!("{} ({size} KiB, schema {schema})", path.display()))
            }
            Ok(Inspection::Absent) => {
                Finding::ok(NAME, "it is not there yet; the first daemon makes it".to_owned())
            }
            Err(error) => {
                Finding::fail(NAME, error.to_string(), "a daemon cannot start before that is mended")
            }
        },
    }
}
