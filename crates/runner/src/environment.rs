//! Which variables a background daemon inherits: what programs need to run at all, and what the home asks for by
//! name. A shell's other variables, credentials among them, stay behind.

use std::ffi::{OsStr, OsString};

use crate::control::MARK;

/// Variables every program may need.
const PLAIN: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "TZ",
    "TMPDIR",
    "XDG_RUNTIME_DIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
];

/// Proxy variables, which exist in both cases.
const PROXY: &[&str] = &["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];

/// Our own variables that name a caller or a run, not a daemon: they would outlive what they were meant for.
const CALLER: &[&str] = &["COVENANT_TOKEN", MARK];

/// The part of `all` that a daemon gets; `wanted` are the names its configuration takes secrets from.
pub fn for_daemon(
    all: impl IntoIterator<Item = (OsString, OsString)>,
    wanted: &[String],
) -> Vec<(OsString, OsString)> {
    all.into_iter().filter(|(name, _)| keeps(name, wanted)).collect()
}

fn keeps(name: &OsStr, wanted: &[String]) -> bool {
    let Some(name) = name.to_str() else { return false };
    wanted.iter().any(|one| one == name)
        || PLAIN.contains(&name)
        || PROXY.iter().any(|proxy| proxy.eq_ignore_ascii_case(name))
        || name.starts_with("LC_")
        || (name.starts_with("COVENANT_") && !CALLER.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(name: &str, wanted: &[&str]) -> bool {
        let wanted: Vec<String> = wanted.iter().map(|&one| one.to_owned()).collect();
        !for_daemon([(name.into(), "x".into())], &wanted).is_empty()
    }

    #[test]
    fn what_programs_need_to_run_is_kept() {
        for name in ["PATH", "HOME", "LC_ALL", "https_proxy", "NO_PROXY", "SSL_CERT_FILE", "COVENANT_LISTEN"]
        {
            assert!(kept(name, &[]), "{name}");
        }
    }

    #[test]
    fn credentials_of_the_shell_stay_behind_unless_the_home_names_them() {
        for name in
            ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "LD_PRELOAD", "COVENANT_TOKEN", MARK]
        {
            assert!(!kept(name, &[]), "{name}");
        }
        assert!(kept("GITHUB_TOKEN", &["GITHUB_TOKEN"]));
    }
}
