//! `covenant up`: the daemon, here or in the background.

pub(crate) mod connect;

use std::ffi::OsString;

use clap::{Args, ValueEnum};
use covenant_daemon::config::Overrides;
use covenant_daemon::lock::{self, LockError};
use covenant_daemon::logging::{self, Echo};
use covenant_daemon::{Options, Running, StartError};
use covenant_model::api::Status;
use covenant_runner::daemon;

use crate::autostart::{self, Report, Started};
use crate::exit::{Exit, Failure};
use crate::print;
use crate::setting::Setting;

const EXAMPLES: &str = "\
Examples:
  covenant up                             # here; Ctrl-C stops it, calls finish
  covenant up --detach                    # in the background
  covenant up --listen 127.0.0.1:9000     # on another port
  # for other machines, with a certificate: in config.toml, paths in the home
  #   [http]
  #   listen = \"0.0.0.0:8421\"
  #   tls_cert = \"cert.pem\"
  #   tls_key = \"key.pem\"
  #   public_url = \"https://covenant.example.org:8421\"
  covenant doctor && covenant up
  # behind a proxy that speaks TLS
  covenant up --listen 0.0.0.0:8421 --behind-proxy

`covenant status` says whether one runs, `covenant logs` what it does.";

/// Run the daemon.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Up {
    /// The address and port to listen on; by default `127.0.0.1:8421` and `[::1]:8421`.
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Run in the background and come back once it serves.
    #[arg(long)]
    detach: bool,
    /// A proxy that speaks TLS stands before it.
    #[arg(long)]
    behind_proxy: bool,
    /// Which part of a start in the background this process is.
    #[arg(long, hide = true)]
    stage: Option<Stage>,
}

/// The parts of a start in the background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Stage {
    /// Opens a session of its own, starts the daemon and ends.
    Launch,
    /// Is the daemon.
    Serve,
}

impl Up {
    pub(crate) fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        match self.stage {
            None if self.detach => self.detach(setting),
            None => self.foreground(setting),
            Some(Stage::Launch) => self.launch(setting),
            Some(Stage::Serve) => self.serve(setting),
        }
    }

    /// The options that a background daemon gets as well.
    fn options(&self) -> Vec<OsString> {
        let mut options = Vec::new();
        if let Some(listen) = &self.listen {
            options.extend(["--listen".into(), listen.into()]);
        }
        if self.behind_proxy {
            options.push("--behind-proxy".into());
        }
        options
    }

    fn overrides(&self) -> Overrides {
        let environment = Overrides::from_environment();
        Overrides {
            listen: self.listen.clone().or(environment.listen),
            behind_proxy: self.behind_proxy || environment.behind_proxy,
            ..environment
        }
    }

    fn detach(&self, setting: &Setting) -> Result<Exit, Failure> {
        let options = self.options();
        let started = match lock::holder(&setting.home) {
            Some(_) if autostart::is_served(&setting.home)? => Started::Theirs,
            _ => autostart::start(&setting.home, &options)?,
        };
        let client = setting.running()?.ok_or_else(|| setting.no_daemon())?;
        let status: Status = client.get("/api/v1/status")?;
        if started == Started::Theirs {
            let already = format!("a daemon already serves {} (pid {})", status.home, status.pid);
            if !options.is_empty() {
                return Err(Failure::failed(
                    already,
                    "your options have no effect on it; stop it first: covenant stop",
                ));
            }
            print::note(&already);
        }
        connect::show(&status, setting)?;
        Ok(Exit::Done)
    }

    fn foreground(&self, setting: &Setting) -> Result<Exit, Failure> {
        let runtime = runtime()?;
        runtime.block_on(async {
            let running = self.begin(setting, Echo::Stderr).await.map_err(|error| refused(&error))?;
            connect::show(&running.status(), setting)?;
            running.wait().await;
            Ok(Exit::Done)
        })
    }

    /// The process in the middle: it only starts the daemon, which then has no relation to whoever wanted it.
    fn launch(&self, setting: &Setting) -> Result<Exit, Failure> {
        let mut arguments: Vec<OsString> = vec!["up".into(), "--home".into(), setting.home.root().into()];
        arguments.extend([autostart::STAGE.into(), "serve".into()]);
        arguments.extend(self.options());
        let environment: Vec<_> = std::env::vars_os().collect();
        daemon::step_away(autostart::program()?, &arguments, &environment)
            .map_err(|error| Failure::failed(error.to_string(), ""))?;
        Ok(Exit::Done)
    }

    /// The daemon in the background: says through the pipe how its start went, and serves.
    fn serve(&self, setting: &Setting) -> Result<Exit, Failure> {
        let runtime = runtime()?;
        runtime.block_on(async {
            match self.begin(setting, Echo::Nowhere).await {
                Ok(running) => {
                    say(&Report::Ready { pid: std::process::id(), remarks: running.remarks().to_vec() });
                    running.wait().await;
                    Ok(Exit::Done)
                }
                Err(error) => {
                    say(&report(&error));
                    Ok(refused(&error).exit())
                }
            }
        })
    }

    async fn begin(&self, setting: &Setting, echo: Echo) -> Result<Running, StartError> {
        let options = Options { overrides: self.overrides(), echo, ..Options::new(setting.home.clone()) };
        let running = covenant_daemon::start(options).await?;
        // Not earlier: before there is a log, standard error is the only place for them.
        logging::log_panics();
        Ok(running)
    }
}

/// Whether another process has the home: then it may well serve, and nothing is wrong with ours.
fn is_held(error: &StartError) -> bool {
    matches!(error, StartError::Lock(LockError::Held { .. } | LockError::Taken { .. }))
}

fn refused(error: &StartError) -> Failure {
    let bad_input = matches!(error, StartError::Config(_) | StartError::Secrets(_));
    if bad_input {
        return Failure::told(Exit::Usage, error).or_help("correct that, and start it again");
    }
    Failure::told(Exit::Failed, error).or_help("see what else is wrong: covenant doctor")
}

fn report(error: &StartError) -> Report {
    let told = refused(error);
    if is_held(error) {
        return Report::Held { message: told.message().to_owned() };
    }
    Report::Failed {
        exit: told.exit().number(),
        message: told.message().to_owned(),
        help: told.help().to_owned(),
    }
}

/// Tells whoever started us. If they have gone, the daemon serves all the same.
fn say(report: &Report) {
    let line = serde_json::to_string(report).unwrap_or_default();
    let _ = daemon::report(&line);
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    covenant_daemon::runtime()
        .map_err(|error| Failure::failed(format!("no event loop could be made: {error}"), ""))
}
