//! What the configuration says of the things tools use, with its paths and secrets in their places. What cannot be used
//! is left out, and said.

use std::path::PathBuf;
use std::time::Duration;

use covenant_tools::settings::{Calendar, CalendarSource, Chat, GitHub, Provider, Scripts, Settings, Vault};

use crate::config::{Config, calendars, chat, fill, github, workspace};
use crate::home::Home;
use crate::secrets::Secrets;

/// All of it, and one sentence for each thing that is left out.
pub(super) fn resolved(
    config: &Config,
    home: &Home,
    environment: &dyn Fn(&str) -> Option<String>,
    secrets: &Secrets,
) -> (Settings, Vec<String>) {
    let mut left_out = Vec::new();
    let place = |path: &str| workspace::place(home, path, environment);
    let calendars = config.calendars.iter().filter_map(|entry| {
        let made = calendar(entry, &place, secrets);
        kept(made, &format!("calendar `{}`", entry.name), &mut left_out)
    });
    let calendars = calendars.collect();
    let github =
        config.github.as_ref().and_then(|entry| kept(github(entry, secrets), "[github]", &mut left_out));
    let chats = config.chat.iter().filter_map(|(name, entry)| {
        let made = kept(chat(entry, secrets), &format!("[chat.{name}]"), &mut left_out)?;
        Some((name.clone(), made))
    });
    let chat = chats.collect();
    let settings = Settings {
        workspace: config.workspace.place(home, environment),
        memory: home.memory(),
        vault: config
            .vault
            .as_ref()
            .map(|vault| Vault { path: vault.place(home, environment), git_sync: vault.git_sync }),
        calendars,
        github,
        chat,
        scripts: Scripts {
            path: config.scripts.place(home, environment),
            within: Duration::from_millis(config.scripts.max_execution_ms),
            memory_mb: config.scripts.max_memory_mb,
            allowlist: config.scripts.allowed().clone(),
        },
    };
    (settings, left_out)
}

/// What was made, or a note of why it was not.
fn kept<T>(made: Result<T, String>, what: &str, left_out: &mut Vec<String>) -> Option<T> {
    made.map_err(|reason| left_out.push(format!("{what} is not used: {reason}"))).ok()
}

fn calendar(
    entry: &calendars::Calendar,
    place: &dyn Fn(&str) -> PathBuf,
    secrets: &Secrets,
) -> Result<Calendar, String> {
    let source = if entry.url.is_empty() {
        CalendarSource::File(place(&entry.path))
    } else {
        CalendarSource::Address(fill::address(&entry.address(), secrets)?.url())
    };
    Ok(Calendar { name: entry.name.clone(), source })
}

fn github(entry: &github::GitHub, secrets: &Secrets) -> Result<GitHub, String> {
    let token = fill::with(&entry.token, secrets)?;
    Ok(GitHub { token, base_url: fill::address(&entry.base_url, secrets)?.url() })
}

fn chat(entry: &chat::Chat, secrets: &Secrets) -> Result<Chat, String> {
    let written = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let token = written(&entry.token).map(|token| fill::with(&token, secrets)).transpose()?;
    let url = written(entry.place()).map(|place| fill::address(&place, secrets)).transpose()?;
    Ok(Chat { provider: provider(entry.provider), token, url: url.map(|address| address.url()) })
}

fn provider(provider: chat::Provider) -> Provider {
    match provider {
        chat::Provider::Slack => Provider::Slack,
        chat::Provider::Discord => Provider::Discord,
        chat::Provider::Telegram => Provider::Telegram,
        chat::Provider::Matrix => Provider::Matrix,
        chat::Provider::Webhook => Provider::Webhook,
    }
}
