//! Who the bridge acts as: the token in the environment, else the one that is kept for this agent and this daemon.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use covenant_daemon::config::{Config, Overrides};
use covenant_daemon::home::Home;
use covenant_daemon::origin::Origin;
use covenant_daemon::trust::{self, Kind};
use covenant_model::principal::AgentType;
use covenant_model::secret::Secret;

use crate::exit::{Exit, Failure};
use crate::setting::Setting;

/// A variable that says something.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// The token for a daemon that is known by any of these origins, which are asked for only where they matter.
pub(super) fn find(
    setting: &Setting,
    origins: impl FnOnce() -> Result<Vec<Origin>, Failure>,
) -> Result<Option<Secret>, Failure> {
    let given = setting.token.clone().or_else(|| variable("COVIBE_MCP_TOKEN").map(Secret::new));
    let (None, Some(agent)) = (&given, variable("COVIBE_AGENT")) else { return Ok(given) };
    let agent: AgentType = agent.parse().map_err(|error| {
        Failure::usage(format!("COVIBE_AGENT says which agent this is: {error}"), "correct or remove it")
    })?;
    let Some(file) = file() else { return Ok(None) };
    kept(&file, &origins()?, agent)
}

/// `~/.covibe/credentials.json`.
fn file() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty())?;
    Some(Path::new(&home).join(".covibe/credentials.json"))
}

/// The token that is kept there for that agent, under the first of these origins that has one.
fn kept(file: &Path, origins: &[Origin], agent: AgentType) -> Result<Option<Secret>, Failure> {
    let read = trust::read(file, Kind::Private).map_err(|error| Failure::told(Exit::Usage, &error))?;
    let Some(content) = read else { return Ok(None) };
    // The parser's own words would quote what it found, which may be a token.
    let entries: BTreeMap<String, BTreeMap<String, String>> = serde_json::from_slice(&content.bytes)
        .map_err(|error| {
            let place = format!("line {}, column {}", error.line(), error.column());
            Failure::usage(
                format!("{} cannot be read: it is not as it should be at {place}", file.display()),
                "write {\"ORIGIN\": {\"AGENT\": \"cv_…\"}}, or remove it",
            )
        })?;
    let known = |origin: &Origin| {
        let mut entries = entries.iter();
        entries.find(|(written, _)| Origin::parse(written).is_ok_and(|written| written == *origin))
    };
    let token = origins.iter().filter_map(known).find_map(|(_, agents)| agents.get(agent.as_str()));
    let token = token.map(|token| token.trim()).filter(|token| !token.is_empty());
    Ok(token.map(|token| Secret::new(token.to_owned())))
}

/// The origins that the daemon of that home has on this machine, and the public one.
pub(super) fn origins_of(home: &Home) -> Result<Vec<Origin>, Failure> {
    let loaded = Config::load(home, &Overrides::from_environment());
    let http = loaded.map_err(|error| Failure::told(Exit::Usage, &error))?.config.http;
    let scheme = if http.tls() { "https" } else { "http" };
    let addresses = http.addresses();
    let named = addresses.first().map(|address| format!("{scheme}://localhost:{}", address.port()));
    let listened = addresses.iter().map(|address| format!("{scheme}://{address}"));
    let public = http.public_origin().map(|(scheme, authority)| format!("{scheme}://{authority}"));
    let written = listened.chain(named).chain(public);
    Ok(written.filter_map(|origin| Origin::parse(&origin).ok()).collect())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const KEPT: &str = r#"{"https://a.example/": {"codex": "cv_codex", "cursor": " "},
        "http://127.0.0.1:8421": {"claude-code": "cv_claude"}, "no origin": {"codex": "cv_other"}}"#;

    fn file(text: &str, mode: u32) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("credentials.json");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        (dir, path)
    }

    fn origins(written: &[&str]) -> Vec<Origin> {
        written.iter().map(|written| Origin::parse(written).unwrap()).collect()
    }

    #[test]
    fn a_token_is_found_by_origin_and_agent() {
        let (_dir, path) = file(KEPT, 0o600);
        let found = |written: &[&str], agent| {
            kept(&path, &origins(written), agent).unwrap().map(|token| token.reveal().to_owned())
        };
        assert_eq!(found(&["https://a.example"], AgentType::Codex).as_deref(), Some("cv_codex"));
        assert_eq!(found(&["https://a.example"], AgentType::Cursor), None, "an empty one is none");
        assert_eq!(found(&["https://a.example"], AgentType::ClaudeCode), None);
        assert_eq!(found(&["https://b.example"], AgentType::Codex), None);
        let local = ["http://localhost:8421", "http://127.0.0.1:8421"];
        assert_eq!(found(&local, AgentType::ClaudeCode).as_deref(), Some("cv_claude"));
        assert!(kept(Path::new("/nowhere"), &origins(&local), AgentType::Codex).unwrap().is_none());
    }

    #[test]
    fn a_file_that_others_can_read_or_that_is_broken_is_refused_without_being_quoted() {
        for (text, mode, words) in [
            (KEPT, 0o644, "can be read by other users"),
            (r#"{"https://a.example": "cv_secret"}"#, 0o600, "line 1, column"),
            (r#"{"https://a.example": {"codex": "cv_secret"}"#, 0o600, "line 1, column"),
        ] {
            let (_dir, path) = file(text, mode);
            let refused = kept(&path, &origins(&["https://a.example"]), AgentType::Codex).unwrap_err();
            assert_eq!(refused.exit(), Exit::Usage);
            let told = refused.sentence();
            assert!(told.contains(words) && !told.contains("cv_secret"), "{told}");
        }
    }

    #[test]
    fn the_local_daemon_is_known_by_each_of_its_names() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(&dir.path().join("home")).unwrap();
        home.prepare().unwrap();
        let text = "[http]\nlisten = \"127.0.0.1:9001\"\npublic_url = \"https://a.example\"\n";
        std::fs::write(home.config(), text).unwrap();
        let known: Vec<_> =
            origins_of(&home).unwrap().iter().map(|origin| origin.as_str().to_owned()).collect();
        let expected =
            ["http://127.0.0.1:9001", "http://[::1]:9001", "http://localhost:9001", "https://a.example"];
        assert_eq!(known, expected);
    }
}
