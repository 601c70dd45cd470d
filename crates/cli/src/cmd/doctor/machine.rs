//! Checks of the machine and the shell: the clock, the disk, the program's name, a client's token.

use std::path::Path;

use covenant_daemon::home::Home;
use covenant_model::time::Timestamp;
use covenant_model::token;
use serde_json::Value;

use super::Finding;
use crate::client::NEW_TOKEN;
use crate::setting::Setting;

/// Less room than this, and a warning is due.
const LITTLE: u64 = 1024 * 1024 * 1024;

/// Less room than this, and the next rows may not fit.
const HARDLY_ANY: u64 = 64 * 1024 * 1024;

/// 2025-01-01: any clock before it is wrong.
const TOO_EARLY: u64 = 1_735_689_600_000;

/// How far the clock may lie before the last line of the log.
const BACK: u64 = 60 * 60 * 1000;

/// Everything about the machine and the shell.
pub(super) fn all(setting: &Setting) -> Vec<Finding> {
    let mut findings =
        vec![clock(setting.now(), last_written(&setting.home)), disk(&setting.home), program()];
    findings.extend(token(setting));
    findings
}

fn clock(now: Timestamp, last: Option<Timestamp>) -> Finding {
    const NAME: &str = "clock";
    let action = "set the clock, or let it be set: timedatectl set-ntp true";
    if now.millis() < TOO_EARLY {
        return Finding::fail(NAME, format!("it shows {now}: grants would end at the wrong time"), action);
    }
    match last {
        Some(last) if last.millis() > now.millis().saturating_add(BACK) => {
            Finding::warn(NAME, format!("it shows {now}, but the log was written to at {last}"), action)
        }
        _ => Finding::ok(NAME, now.to_string()),
    }
}

/// When the log was last written to.
fn last_written(home: &Home) -> Option<Timestamp> {
    let written = home.log().metadata().ok()?.modified().ok()?;
    let since = written.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(Timestamp::from_millis(u64::try_from(since.as_millis()).ok()?))
}

fn disk(home: &Home) -> Finding {
    const NAME: &str = "disk";
    let Some(place) = home.root().ancestors().find(|path| path.exists()) else {
        return Finding::warn(NAME, "no part of the home's path is there", "");
    };
    match free(place) {
        Err(error) => Finding::warn(NAME, format!("the room on it is not known: {error}"), ""),
        Ok((bytes, files)) => {
            let detail = format!("{} MiB free for {}", bytes / (1024 * 1024), home.root().display());
            let action = "make room; or prune old rows: covenant audit prune --before 90d";
            match bytes {
                _ if files == Some(0) => Finding::fail(NAME, "no more files can be made on it", action),
                0..HARDLY_ANY => Finding::fail(NAME, format!("only {detail}: no row, no call"), action),
                HARDLY_ANY..LITTLE => Finding::warn(NAME, detail, action),
                _ => Finding::ok(NAME, detail),
            }
        }
    }
}

/// Bytes for ordinary users, and files where the file system counts them.
fn free(place: &Path) -> Result<(u64, Option<u64>), rustix::io::Errno> {
    let found = rustix::fs::statvfs(place)?;
    Ok((found.f_bavail.saturating_mul(found.f_frsize), (found.f_files > 0).then_some(found.f_favail)))
}

/// MCP clients are told to start `covenant`: it should be found.
fn program() -> Finding {
    const NAME: &str = "program";
    let directories = std::env::var_os("PATH").unwrap_or_default();
    match std::env::split_paths(&directories)
        .map(|directory| directory.join("covenant"))
        .find(|file| file.is_file())
    {
        Some(file) => Finding::ok(NAME, format!("`covenant` is {}", file.display())),
        None => Finding::warn(
            NAME,
            "`covenant` is not on PATH: MCP clients need its full path",
            "install it: cargo install --path crates/cli; or copy the binary to a directory on PATH",
        ),
    }
}

/// The token this shell acts with, where there is one. It is not shown.
fn token(setting: &Setting) -> Option<Finding> {
    const NAME: &str = "token";
    let token = setting.token.as_ref()?;
    let renew = NEW_TOKEN;
    if token::hash(token.reveal()).is_none() {
        return Some(Finding::fail(NAME, "COVENANT_TOKEN is set and is not a token of ours (`cv_…`)", renew));
    }
    let Ok(Some(client)) = setting.running() else {
        return Some(Finding::warn(NAME, "COVENANT_TOKEN is set; without a daemon it cannot be tried", ""));
    };
    Some(match client.get::<Value>("/api/v1/tools?limit=1") {
        Ok(_) => Finding::warn(
            NAME,
            "COVENANT_TOKEN is set: commands of this shell act as that client, not as you",
            renew,
        ),
        Err(failure) => Finding::fail(NAME, format!("COVENANT_TOKEN is set: {}", failure.message()), renew),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::doctor::State;

    #[test]
    fn a_clock_before_this_program_or_far_before_the_log_is_noticed() {
        let now = Timestamp::from_millis(TOO_EARLY + 10 * BACK);
        let at = |millis: u64| Some(Timestamp::from_millis(millis));
        assert_eq!(clock(Timestamp::from_millis(0), None).state, State::Fail);
        assert_eq!(clock(now, None).state, State::Ok);
        assert_eq!(clock(now, at(now.millis() + BACK)).state, State::Ok);
        assert_eq!(clock(now, at(now.millis() + BACK + 1)).state, State::Warn);
    }
}
