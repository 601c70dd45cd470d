//! What the configuration says of the things tools use, with its paths and secrets in their places. What cannot be used
//! is left out, and said.

use std::path::PathBuf;
use std::time::Duration;

use covenant_tools::settings::{
    Calendar, CalendarSource, Chat, GitHub, Hidden, LeftOut, NO_VAULT, Outside, Provider, Scripts, Settings,
    Vault,
};

use super::allowlist;
use crate::config::grounds::Grounds;
use crate::config::{Config, calendars, chat, fill, github, workspace};
use crate::home::Home;
use crate::secrets::Secrets;

/// All of it.
pub(crate) fn resolved(
    config: &Config,
    home: &Home,
    environment: &dyn Fn(&str) -> Option<String>,
    secrets: &Secrets,
) -> Settings {
    let mut left_out = Vec::new();
    let place = |path: &str| workspace::place(home, path, environment);
    let calendars = config.calendars.iter().filter_map(|entry| {
        let made = calendar(entry, &place, secrets);
        kept(made, Outside::Calendars, &format!("calendar `{}`", entry.name), &mut left_out)
    });
    let calendars = calendars.collect();
    let written = config.github.as_ref();
    let github =
        written.and_then(|entry| kept(github(entry, secrets), Outside::GitHub, "[github]", &mut left_out));
    let chats = config.chat.iter().filter_map(|(name, entry)| {
        let made = kept(chat(entry, secrets), Outside::Chat, &format!("[chat.{name}]"), &mut left_out)?;
        Some((name.clone(), made))
    });
    let chat = chats.collect();
    let grounds = Grounds::of(config, home, environment);
    let vault = match (grounds.vault, &config.vault) {
        (Some(place), Some(vault)) => place.map(|path| Vault { path, git_sync: vault.git_sync }),
        _ => Err(NO_VAULT.to_owned()),
    };
    let path = config.scripts.place(home, environment);
    let written = [
        grounds.workspace.as_ref().ok().map(|workspace| ("workspace", workspace.as_path())),
        vault.as_ref().ok().map(|vault| ("vault", vault.path.as_path())),
    ];
    let mut bare = Vec::new();
    let allowlist =
        allowlist::counting(config.scripts.allowed(), &path, written.into_iter().flatten(), &mut bare);
    left_out.extend(bare.into_iter().map(|reason| LeftOut { service: Outside::Allowlist, reason }));
    Settings {
        workspace: grounds.workspace,
        memory: home.memory(),
        vault,
        calendars,
        github,
        chat,
        scripts: Scripts {
            path,
            within: Duration::from_millis(config.scripts.max_execution_ms),
            memory_mb: config.scripts.max_memory_mb,
            allowlist,
        },
        left_out,
    }
}

/// What was made, or a note of why it was not.
fn kept<T>(made: Result<T, String>, service: Outside, what: &str, left_out: &mut Vec<LeftOut>) -> Option<T> {
    let reason = |reason| LeftOut { service, reason: format!("{what} is not used: {reason}") };
    made.map_err(|why| left_out.push(reason(why))).ok()
}

/// What is said in place of those two: the secret that stands in them, if one does.
fn hidden(token: &str, url: &str) -> Hidden {
    let Hidden { token: plain_token, url: plain_url } = Hidden::default();
    let called = |text: &str, plain: String| fill::named(text).map_or(plain, str::to_owned);
    Hidden { token: called(token, plain_token), url: called(url, plain_url) }
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
    let base_url = fill::address(&entry.base_url, secrets)?.url();
    Ok(GitHub { token, base_url, hidden: hidden(&entry.token, &entry.base_url) })
}

fn chat(entry: &chat::Chat, secrets: &Secrets) -> Result<Chat, String> {
    let written = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let token = written(&entry.token).map(|token| fill::with(&token, secrets)).transpose()?;
    let url = written(entry.place()).map(|place| fill::address(&place, secrets)).transpose()?;
    Ok(Chat {
        provider: provider(entry.provider),
        token,
        url: url.map(|address| address.url()),
        hidden: hidden(&entry.token, entry.place()),
    })
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
