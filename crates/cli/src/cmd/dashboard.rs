//! `covenant dashboard`: the operator, who is known here, signs in in a browser.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use covenant_daemon::atomic;
use covenant_model::api::{SignInLink, SignedOut};
use covenant_runner::daemon::{Launch, launch};

use crate::exit::{Exit, Failure};
use crate::print;
use crate::setting::Setting;

const EXAMPLES: &str = "\
Examples:
  covenant dashboard
  covenant dashboard --no-open    # print the link, and open nothing
  covenant dashboard --sign-out-all    # end every session of yours
  covenant dashboard --json

The link is good for one minute and for one use: who opens it is signed in as
you. Others of a team sign in with what `covenant team invite` gives them.";

/// How long a browser is given to say that it cannot be started.
const PATIENCE: Duration = Duration::from_millis(300);

/// Sign in in a browser.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Dashboard {
    /// Print the link and open no browser.
    #[arg(long)]
    no_open: bool,

    /// Sign yourself out of every browser, and make no link.
    #[arg(long, conflicts_with = "no_open")]
    sign_out_all: bool,
}

impl Dashboard {
    pub(crate) fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        if self.sign_out_all {
            return sign_out_all(setting);
        }
        let made: SignInLink = setting.client()?.post("/api/v1/session/link", &serde_json::json!({}))?;
        if setting.json() {
            print::json(&made)?;
            return Ok(Exit::Done);
        }
        print::line(&made.link)?;
        print::note("This link signs you in once, within a minute.");
        if !self.no_open && open(setting, &made.link).is_none() {
            print::note("Open it in a browser on this machine.");
        }
        Ok(Exit::Done)
    }
}

fn sign_out_all(setting: &Setting) -> Result<Exit, Failure> {
    let out: SignedOut = setting.client()?.delete("/api/v1/session/all")?;
    if setting.json() {
        print::json(&out)?;
    } else {
        print::line(&format!("You are signed out everywhere. Sessions that ended: {}.", out.ended))?;
    }
    Ok(Exit::Done)
}

/// Has a browser open the link, if there seems to be one; it matters to nobody whether it did. The link itself stands in a file
/// that only we can read: everybody on this machine sees what programs are started with.
fn open(setting: &Setting, link: &str) -> Option<()> {
    let program = opener()?;
    let file = setting.home.dashboard_page();
    let directory = file.parent()?.to_owned();
    let page = format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Covenant</title>\n\
         <meta http-equiv=\"refresh\" content=\"0; url={link}\">\n<p><a href=\"{link}\">Sign in</a></p>\n"
    );
    atomic::write(&file, page.as_bytes()).ok()?;
    let errors = std::fs::File::options().write(true).open("/dev/null").ok()?;
    let arguments = vec![OsString::from(format!("file://{}", file.display()))];
    let environment = std::env::vars_os().collect();
    // What it reports is nothing: that it is not heard of is how it goes well.
    let _ = launch(Launch { program, arguments, environment, directory, errors }, PATIENCE);
    Some(())
}

/// What opens files for people here, where there is a screen.
fn opener() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let name = if cfg!(target_os = "macos") {
        "open"
    } else if set("DISPLAY") || set("WAYLAND_DISPLAY") {
        "xdg-open"
    } else {
        return None;
    };
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(|it| it.is_file())
}
