//! Checks of what lies in the home: the directory itself, configuration, secrets, keys, the audit log.

use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use covenant_daemon::config::{Config, Overrides};
use covenant_daemon::home::Home;
use covenant_daemon::identity::{Identity, IdentityError};
use covenant_daemon::secrets::Secrets;
use covenant_daemon::trust::{self, Kind};
use covenant_model::time::Timestamp;

use super::Finding;
use crate::cmd::audit::{check_home, is_in_database};

/// A certificate that ends within that time should be renewed.
const SOON: Duration = Duration::from_hours(14 * 24);

/// The directory: there, ours, closed to others.
pub(super) fn home(home: &Home) -> Vec<Finding> {
    const NAME: &str = "home";
    if !home.exists() {
        let detail = format!("{} is not there yet; the first daemon makes it", home.root().display());
        return vec![Finding::ok(NAME, detail)];
    }
    match home.check() {
        Err(error) => vec![Finding::told(NAME, &error)],
        Ok(remarks) if remarks.is_empty() => {
            let mode = home.root().metadata().map(|metadata| metadata.mode() & 0o777).unwrap_or_default();
            vec![Finding::ok(NAME, format!("{} (mode {mode:03o}, yours)", home.root().display()))]
        }
        Ok(remarks) => remarks.iter().map(|remark| Finding::remark(NAME, remark)).collect(),
    }
}

/// The configuration: readable, without unknown keys.
pub(super) fn config(home: &Home) -> Vec<Finding> {
    const NAME: &str = "config";
    match Config::load(home, &Overrides::from_environment()) {
        Err(error) => vec![Finding::told(NAME, &error)],
        Ok(loaded) if loaded.warnings.is_empty() => {
            let path = home.config();
            let there =
                if path.exists() { "is sound" } else { "is not there: every setting has its default" };
            vec![Finding::ok(NAME, format!("{} {there}", path.display()))]
        }
        Ok(loaded) => {
            let fix = || format!("correct it in {}", home.config().display());
            loaded.warnings.into_iter().map(|warning| Finding::warn(NAME, warning, fix())).collect()
        }
    }
}

/// The certificate, where there is to be one: it can be used, and not only for a few days more.
pub(super) fn tls(home: &Home, now: Timestamp) -> Option<Finding> {
    const NAME: &str = "tls";
    let loaded = Config::load(home, &Overrides::from_environment()).ok()?;
    let shown = match covenant_daemon::inspect_certificate(home, &loaded.config.http) {
        Ok(shown) => shown?,
        Err(error) => return Some(Finding::told(NAME, &error)),
    };
    let names = if shown.names.is_empty() { "no name".to_owned() } else { shown.names.join(", ") };
    let what = format!("{} for {names}", shown.path.display());
    let renew = "renew it, and then: covenant reload";
    Some(match shown.until {
        None => Finding::ok(NAME, what),
        Some(until) if until <= now => Finding::warn(NAME, format!("{what}, which expired {until}"), renew),
        Some(until) if until.since(now) < SOON => {
            Finding::warn(NAME, format!("{what}, good only until {until}"), renew)
        }
        Some(until) => Finding::ok(NAME, format!("{what}, good until {until}")),
    })
}

/// The secrets: private, and in a sound file.
pub(super) fn secrets(home: &Home) -> Vec<Finding> {
    const NAME: &str = "secrets";
    let Ok(loaded) = Config::load(home, &Overrides::from_environment()) else {
        return vec![Finding::warn(NAME, "not checked: the configuration cannot be read", "")];
    };
    match Secrets::load(home, &loaded.config, &|name| std::env::var(name).ok()) {
        Err(error) => vec![Finding::told(NAME, &error)],
        Ok(loaded) if loaded.warnings.is_empty() => {
            let there = if home.secrets().exists() {
                "is private and sound"
            } else {
                "is not there: no secrets in it"
            };
            vec![Finding::ok(NAME, format!("{} {there}", home.secrets().display()))]
        }
        Ok(loaded) => loaded.warnings.iter().map(|warning| Finding::remark(NAME, warning)).collect(),
    }
}

/// What the configuration says to tools: the workspace, the vault, the scripts and services can be used.
pub(super) fn tools(home: &Home) -> Vec<Finding> {
    const NAME: &str = "tools";
    let environment = |name: &str| std::env::var(name).ok();
    let Ok(loaded) = Config::load(home, &Overrides::from_environment()) else {
        return vec![Finding::skip(NAME, "not checked: the configuration cannot be read")];
    };
    let Ok(secrets) = Secrets::load(home, &loaded.config, &environment) else {
        return vec![Finding::skip(NAME, "not checked: the secrets cannot be read")];
    };
    let unfit = covenant_daemon::unfit_settings(home, &loaded.config, &secrets.secrets, &environment);
    if unfit.is_empty() {
        return vec![Finding::ok(NAME, "what they are configured for can be used")];
    }
    unfit.iter().map(|reason| Finding::remark(NAME, reason)).collect()
}

/// The keys: there, private, and what they should be. A home that has lived and lost one says what `up` would.
pub(super) fn identity(home: &Home) -> Vec<Finding> {
    const NAME: &str = "identity";
    let directory = home.identity();
    let files = ["local.key", "digest.key", "operator.token", "local.pub"];
    let mut missing = Vec::new();
    let mut findings = Vec::new();
    for file in files {
        let kind = if file == "local.pub" { Kind::Program } else { Kind::Private };
        match trust::read(&directory.join(file), kind) {
            Ok(Some(_)) => {}
            Ok(None) => missing.push(file),
            Err(error) => findings.push(Finding::told(NAME, &error)),
        }
    }
    if !findings.is_empty() {
        return findings;
    }
    if missing.len() == files.len() && !has_lived(home) {
        return vec![Finding::ok(NAME, "no keys yet; the first daemon makes them")];
    }
    if missing.contains(&"local.key") && missing.contains(&"local.pub") {
        let detail = format!("the keys of this home are gone: {} lacks local.key", directory.display());
        let action =
            "restore it from a backup; with new keys, what was granted and recorded before counts no more";
        return vec![Finding::fail(NAME, detail, action)];
    }
    if missing.contains(&"local.key") {
        return vec![Finding::told(NAME, &IdentityError::Lost(directory.join("local.key")))];
    }
    if missing.is_empty() {
        // With all four there, this only reads.
        return vec![match Identity::load_or_make(home) {
            Ok(_) => Finding::ok(NAME, format!("the keys in {} are private and sound", directory.display())),
            Err(error) => Finding::told(NAME, &error),
        }];
    }
    let gone = |file| Finding::warn(NAME, format!("{file} is missing; the next daemon makes it anew"), "");
    missing.into_iter().map(gone).collect()
}

/// Whether a daemon ran here once.
fn has_lived(home: &Home) -> bool {
    is_there(&home.database()) || is_there(&home.identity().join("first-start"))
}

/// Whether a path is there, also where we may not look.
fn is_there(path: &Path) -> bool {
    !path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// The audit log: writable, and unbroken.
pub(super) fn audit(home: &Home) -> Vec<Finding> {
    const NAME: &str = "audit";
    if is_in_database(home) {
        let detail = "not checked: the log is in the database; while a daemon runs: covenant audit verify";
        return vec![Finding::skip(NAME, detail)];
    }
    let directory = home.audit();
    if !is_there(&directory) {
        return vec![if has_lived(home) {
            let detail =
                format!("the log is gone: {} is not there, and the database is", directory.display());
            Finding::fail(NAME, detail, "restore it from a backup; the next daemon would begin a new one")
        } else {
            Finding::ok(NAME, "no log yet; the first daemon begins it")
        }];
    }
    let access = rustix::fs::Access::READ_OK | rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
    if let Err(error) = rustix::fs::access(&directory, access) {
        let detail = format!("{} cannot be read and written ({error}): no row, no call", directory.display());
        let action = format!("make it yours: chown -R $USER {0} && chmod -R u+rwX {0}", directory.display());
        return vec![Finding::fail(NAME, detail, action)];
    }
    if !is_there(&home.public_key()) {
        return vec![Finding::skip(NAME, "not checked: there is no public key to check it with")];
    }
    vec![match check_home(home) {
        Ok(sentence) => Finding::ok(NAME, sentence),
        Err(failure) => Finding::fail(NAME, failure.message(), failure.help()),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::doctor::State;

    fn home() -> (tempfile::TempDir, Home) {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(&dir.path().join("home")).unwrap();
        (dir, home)
    }

    fn states(findings: &[Finding]) -> Vec<State> {
        findings.iter().map(|finding| finding.state).collect()
    }

    #[test]
    fn a_home_before_its_first_daemon_lacks_nothing() {
        let (_dir, home) = home();
        assert_eq!(states(&identity(&home)), [State::Ok]);
        assert_eq!(states(&audit(&home)), [State::Ok]);
    }

    #[test]
    fn what_tools_are_configured_for_and_cannot_use_is_told() {
        let (_dir, home) = home();
        home.prepare().unwrap();
        assert_eq!(states(&tools(&home)), [State::Ok]);
        let config = "[workspace]\npath = \"identity\"\n[vault]\npath = \"notes\"\n[github]\ntoken = \"${secret:GH}\"\n";
        covenant_daemon::atomic::write(&home.config(), config.as_bytes()).unwrap();
        let told = tools(&home);
        assert_eq!(states(&told), [State::Warn; 3], "{told:?}");
        for (finding, action) in
            told.iter().zip(["covenant secrets set GH", "write a directory", "make that"])
        {
            assert!(finding.action.contains(action), "{finding:?}");
        }
    }

    #[test]
    fn a_home_that_has_lived_must_have_its_key_and_its_log() {
        let (_dir, home) = home();
        home.prepare().unwrap();
        std::fs::write(home.database(), "").unwrap();
        std::fs::remove_dir(home.audit()).unwrap();
        for findings in [identity(&home), audit(&home)] {
            assert_eq!(states(&findings), [State::Fail]);
            assert!(findings[0].action.contains("backup"), "{findings:?}");
        }
    }

    #[test]
    fn a_certificate_is_looked_at_as_a_start_would_and_its_end_is_foreseen() {
        let kept = covenant_testkit::Home::new("covenant");
        let home = Home::at(&kept.path()).unwrap();
        let look = |now: &str| tls(&home, now.parse().unwrap());
        assert_eq!(look("2026-11-16"), None, "there is none");
        kept.write("config.toml", "[http]\ntls_cert = \"cert.pem\"\ntls_key = \"key.pem\"\n");
        let missing = look("2026-11-16").unwrap();
        assert!(missing.state == State::Fail && missing.detail.contains("cert.pem"), "{missing:?}");
        covenant_testkit::tls::Certificate::new().write(&kept);
        let sound = look("2026-11-16").unwrap();
        assert_eq!(sound.state, State::Ok, "{sound:?}");
        assert!(
            sound.detail.contains("cert.pem for localhost, 127.0.0.1, ::1, good until 4096-01-01"),
            "{sound:?}"
        );
        assert_eq!(look("4095-12-19").unwrap().state, State::Warn);
        let over = look("4096-01-01").unwrap();
        assert!(over.state == State::Warn && over.detail.contains("expired"), "{over:?}");
    }

    #[test]
    fn sound_keys_are_told_from_others() {
        let (_dir, home) = home();
        home.prepare().unwrap();
        Identity::load_or_make(&home).unwrap();
        assert_eq!(states(&identity(&home)), [State::Ok]);
        std::fs::remove_file(home.operator_token()).unwrap();
        assert_eq!(states(&identity(&home)), [State::Warn]);
        assert!(!home.operator_token().exists(), "looking makes nothing");
        std::fs::write(home.public_key(), "00").unwrap();
        // Makes the token anew, and then stumbles over the key.
        assert!(Identity::load_or_make(&home).is_err());
        assert_eq!(states(&identity(&home)), [State::Fail]);
        std::fs::remove_file(home.identity().join("local.key")).unwrap();
        assert!(identity(&home)[0].detail.contains("local.key is gone"));
    }
}
