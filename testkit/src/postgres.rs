//! A private `PostgreSQL` for the tests of one process: made on first use, on a socket only, gone with the process.
//!
//! A shell holds the server. It waits on a pipe from this process; when that breaks, however this process ended,
//! the shell stops the server and removes its directory. `PostgreSQL` refuses to run as root, so root starts it as
//! the user `postgres`, or `nobody`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// What is run in the shell: `$1` is the directory of the programs, `$2` the server's own.
const SCRIPT: &str = r#"
export LC_ALL=C
settings="-c listen_addresses='' -c unix_socket_directories='$2' -c fsync=off -c synchronous_commit=off \
 -c full_page_writes=off -c max_connections=200 -c shared_buffers=32MB"
{
    "$1/initdb" -D "$2/data" -U covenant -A trust -E UTF8 --no-sync --no-instructions &&
    "$1/pg_ctl" -D "$2/data" -l "$2/log" -o "$settings" -w start
} >"$2/start" 2>&1 </dev/null && echo ready || { cat "$2/start" "$2/log" 2>/dev/null; echo failed; }
read -r _
"$1/pg_ctl" -D "$2/data" -m immediate stop >/dev/null 2>&1
rm -rf "$2"
"#;

struct Cluster {
    programs: PathBuf,
    directory: PathBuf,
    /// Its standard input is the pipe that the shell waits on: never closed before the process ends.
    _shell: Child,
}

static CLUSTER: OnceLock<Result<Option<Cluster>, String>> = OnceLock::new();

/// The URL of a fresh, empty database. `None`, with a loud line, where `PostgreSQL` is not installed; an error if
/// that is so in CI, where nothing may be skipped.
pub fn database() -> Result<Option<String>, String> {
    static NUMBER: AtomicU32 = AtomicU32::new(1);
    let Some(cluster) = CLUSTER.get_or_init(start).as_ref().map_err(Clone::clone)? else { return Ok(None) };
    let name = format!("t{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let mut createdb = command(&cluster.programs.join("createdb"));
    createdb.arg("-h").arg(&cluster.directory).args(["-U", "covenant", &name]);
    let made = createdb.output().map_err(|error| format!("createdb: {error}"))?;
    if !made.status.success() {
        return Err(format!("createdb {name}: {}", String::from_utf8_lossy(&made.stderr)));
    }
    Ok(Some(format!("postgres://covenant@localhost/{name}?host={}", cluster.directory.display())))
}

fn start() -> Result<Option<Cluster>, String> {
    let Some(programs) = programs() else { return missing() };
    let directory = make_directory()?;
    let mut shell = command(Path::new("/bin/sh"));
    shell.args(["-c", SCRIPT, "sh"]).arg(&programs).arg(&directory).current_dir(&directory);
    // A group of its own: an interrupt from the terminal is for the tests, and the shell must outlive them.
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
    if let Some((uid, gid)) = other_user(&directory)? {
        shell.uid(uid).gid(gid);
    }
    let mut shell = shell.spawn().map_err(|error| format!("sh: {error}"))?;
    let output = shell.stdout.take().ok_or("sh has no output")?;
    let mut said = String::new();
    for line in BufReader::new(output).lines() {
        match line.map_err(|error| format!("sh: {error}"))?.as_str() {
            "ready" => return Ok(Some(Cluster { programs, directory, _shell: shell })),
            "failed" => break,
            other => said = format!("{said}{other}\n"),
        }
    }
    Err(format!("PostgreSQL did not start:\n{said}"))
}

fn missing() -> Result<Option<Cluster>, String> {
    if std::env::var_os("CI").is_some() {
        return Err(
            "PostgreSQL is not installed, and CI is set: install it, nothing may be skipped here".into()
        );
    }
    // Past the test harness, which would keep what `eprintln` says to itself.
    let loud =
        b"\nSKIPPED: every test on PostgreSQL: initdb is neither in PATH nor in /usr/lib/postgresql\n\n";
    std::io::stderr().write_all(loud).map_err(|error| error.to_string())?;
    Ok(None)
}

/// The newest of the installed versions, else what is in `PATH`.
pub(crate) fn programs() -> Option<PathBuf> {
    let installed = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let version = |path: &PathBuf| path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok());
    let mut installed: Vec<PathBuf> = installed.map(|entry| entry.path()).collect();
    installed.sort_by_key(version);
    let installed = installed.into_iter().rev().map(|path| path.join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    installed.chain(std::env::split_paths(&path)).find(|directory| directory.join("initdb").is_file())
}

/// A short path: a socket's address has about a hundred bytes.
fn make_directory() -> Result<PathBuf, String> {
    let process = std::process::id();
    let names = (0..100).map(|number| PathBuf::from(format!("/tmp/covenant-pg-{process}-{number}")));
    let mut last = String::new();
    for directory in names {
        match std::fs::DirBuilder::new().mode(0o700).create(&directory) {
            Ok(()) => return Ok(directory),
            Err(error) => last = format!("{}: {error}", directory.display()),
        }
    }
    Err(last)
}

/// For root, whom the server is started as and its directory given to.
fn other_user(directory: &Path) -> Result<Option<(u32, u32)>, String> {
    // What we just made is ours, so it says who we are.
    if std::fs::metadata(directory).map_err(|error| error.to_string())?.uid() != 0 {
        return Ok(None);
    }
    let users = std::fs::read_to_string("/etc/passwd").map_err(|error| format!("/etc/passwd: {error}"))?;
    let find = |name: &str| {
        let mut fields = users.lines().find(|line| line.split(':').next() == Some(name))?.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    let (uid, gid) =
        find("postgres").or_else(|| find("nobody")).ok_or("there is no user to run PostgreSQL as")?;
    std::os::unix::fs::chown(directory, Some(uid), Some(gid)).map_err(|error| error.to_string())?;
    Ok(Some((uid, gid)))
}

#[expect(clippy::disallowed_methods, reason = "the tests' own server, not a tool")]
pub(crate) fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    // Settings of whoever runs the tests are not for this server.
    for name in ["PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGPASSWORD", "PGSERVICE", "PGOPTIONS", "PGDATA"]
    {
        command.env_remove(name);
    }
    command
}
