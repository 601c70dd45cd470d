//! Messages to people: the ways that the configuration names, and one message sent by one of them.
//!
//! What each service speaks is a file in `chat/`; whom a target means is in `target`, and that nothing is sent twice in
//! `exchange`.

mod discord;
mod exchange;
mod matrix;
mod slack;
mod target;
mod telegram;
mod webhook;

use std::collections::BTreeMap;

use covenant_gate::Veil;
use covenant_model::secret::Secret;
use url::Url;

pub(crate) use self::target::Target;
use crate::native::Parts;
use crate::service::{Place, Service};
use crate::settings::{Chat, Outside, Provider};

/// The most characters a message may have, wherever it goes.
pub(crate) const LONGEST: usize = webhook::LIMIT;

/// Why there is no way to people.
const UNCONFIGURED: &str = "no chat is configured: write a section [chat.NAME] with `provider` (slack, discord, telegram, \
     matrix or webhook) and `token = \"${secret:…}\"` (or `url` for a webhook) into config.toml";

/// A message on its way.
pub(crate) struct Message<'a> {
    /// Whom it is for.
    target: Target<'a>,
    /// The same as it was written.
    written: &'a str,
    /// What it says.
    text: &'a str,
    /// What tells it from every other.
    id: &'a str,
}

/// Whose message it is: what tells the call from every other, and what must not be shown to it.
pub(crate) struct Sender<'a> {
    pub(crate) id: &'a str,
    pub(crate) veil: Veil,
}

/// The ways there are, by name.
pub(crate) struct Outlets(BTreeMap<String, Result<Outlet, String>>);

/// One way to people.
struct Outlet {
    service: Service,
    provider: Provider,
    token: Option<Secret>,
}

impl Outlets {
    /// What the configuration names; otherwise what must be written there.
    pub(crate) fn of(parts: &Parts) -> Result<Self, String> {
        let chat = &parts.settings.chat;
        let all: BTreeMap<_, _> =
            chat.iter().map(|(name, chat)| (name.clone(), Outlet::of(name, chat, parts))).collect();
        match all.iter().find_map(|(name, outlet)| outlet.as_ref().err().map(|why| (name, why))) {
            None if all.is_empty() => Err(parts.settings.why_not(Outside::Chat, UNCONFIGURED)),
            Some((name, why)) if all.values().all(Result::is_err) => Err(format!("[chat.{name}]: {why}")),
            _ => Ok(Self(all)),
        }
    }

    /// The names of those that can be used.
    pub(crate) fn active(&self) -> Vec<&str> {
        self.0.iter().filter(|(_, outlet)| outlet.is_ok()).map(|(name, _)| name.as_str()).collect()
    }

    /// Sends one message, once.
    pub(crate) async fn send(
        &self,
        name: &str,
        target: &str,
        text: &str,
        sender: Sender<'_>,
    ) -> Result<String, String> {
        let outlet = match self.0.get(name) {
            Some(Ok(outlet)) => outlet,
            Some(Err(why)) => return Err(format!("provider {name:?} is not active: {why}")),
            None => {
                let available = self.active().join(", ");
                return Err(format!("provider {name:?} is not active (available: {available})"));
            }
        };
        if text.trim().is_empty() {
            return Err("`message` is empty: write what it should say".to_owned());
        }
        let message = Message { target: Target::of(target)?, written: target, text, id: sender.id };
        outlet.send(&message, sender.veil).await?;
        Ok(format!("Message sent via {name} to {target}"))
    }
}

impl Outlet {
    fn of(name: &str, chat: &Chat, parts: &Parts) -> Result<Self, String> {
        let (called, usual) = match chat.provider {
            Provider::Slack => ("Slack", Some(slack::BASE)),
            Provider::Discord => ("Discord", Some(discord::BASE)),
            Provider::Telegram => ("Telegram", Some(telegram::BASE)),
            Provider::Matrix => ("Matrix", None),
            Provider::Webhook => ("the webhook", None),
        };
        let place = Place {
            name: called,
            section: format!("chat.{name}"),
            base: base(chat, usual)?,
            hidden: chat.hidden.clone(),
            web: parts.web.clone(),
            clock: parts.clock.clone(),
        };
        let service = Service::new(place, chat.token.as_ref());
        let service = match (&chat.token, chat.provider) {
            (None, Provider::Webhook) | (Some(_), Provider::Telegram) => service,
            (None, _) => {
                return Err(format!("{called} needs a token: write `token = \"${{secret:…}}\"` there"));
            }
            (Some(token), Provider::Discord) => service.authorized("Bot", token)?,
            (Some(token), _) => service.authorized("Bearer", token)?,
        };
        Ok(Self { service, provider: chat.provider, token: chat.token.clone() })
    }

    async fn send(&self, message: &Message<'_>, veil: Veil) -> Result<(), String> {
        let service = &self.service.veiled(veil);
        match (self.provider, &self.token) {
            (Provider::Slack, _) => slack::send(service, message).await,
            (Provider::Discord, _) => discord::send(service, message).await,
            (Provider::Telegram, Some(token)) => telegram::send(service, token, message).await,
            // It is not made without one.
            (Provider::Telegram, None) => Err("Telegram needs a token".to_owned()),
            (Provider::Matrix, _) => matrix::send(service, message).await,
            (Provider::Webhook, _) => webhook::send(service, message).await,
        }
    }
}

/// What the addresses of a service begin with: what is written, or what is usual.
fn base(chat: &Chat, usual: Option<&str>) -> Result<Url, String> {
    let missing = || match chat.provider {
        Provider::Matrix => "Matrix needs the address of the homeserver: write `base_url` there".to_owned(),
        _ => "a webhook needs its address: write `url = \"${secret:…}\"` there".to_owned(),
    };
    let url = match &chat.url {
        Some(url) => url.clone(),
        None => usual.and_then(|usual| Url::parse(usual).ok()).ok_or_else(missing)?,
    };
    if url.cannot_be_a_base() || !["http", "https"].contains(&url.scheme()) {
        return Err("the address there is no http or https address: write one".to_owned());
    }
    Ok(url)
}

#[cfg(test)]
mod tests;
