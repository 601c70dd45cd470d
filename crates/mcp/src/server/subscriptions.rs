//! Who hears that a list changed, and of which change: only what this caller can see counts.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::flight::Flight;
use super::{Asked, Received, Session};
use crate::message::Id;
use crate::reply::RpcError;

/// Which lists someone wants to hear about, or which have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
pub struct Lists {
    /// The tools.
    #[serde(default, rename = "toolsListChanged")]
    pub tools: bool,
    /// The prompts.
    #[serde(default, rename = "promptsListChanged")]
    pub prompts: bool,
    /// The resources and their templates.
    #[serde(default, rename = "resourcesListChanged")]
    pub resources: bool,
}

impl Lists {
    fn both(self, other: Self) -> Self {
        Self {
            tools: self.tools && other.tools,
            prompts: self.prompts && other.prompts,
            resources: self.resources && other.resources,
        }
    }

    fn named(self) -> impl Iterator<Item = &'static str> {
        [(self.tools, "tools"), (self.prompts, "prompts"), (self.resources, "resources")]
            .into_iter()
            .filter_map(|(on, name)| on.then_some(name))
    }
}

/// A modern subscription: what it asked for and was given, under the id of its request.
pub struct Listen {
    id: Id,
    lists: Lists,
    flight: Flight,
}

impl Listen {
    /// The id of its request, which is the name of the subscription.
    pub fn id(&self) -> &Id {
        &self.id
    }

    /// The first message of the subscription, without a line end.
    pub fn acknowledgement(&self) -> Vec<u8> {
        let given: Vec<_> = self.lists.named().map(|name| format!(r#""{name}ListChanged":true"#)).collect();
        let notifications = format!(r#","notifications":{{{}}}"#, given.join(","));
        self.message("subscriptions/acknowledged", &notifications)
    }

    /// A message for each list that changed and that this subscription is about, without line ends.
    pub fn changed(&self, changes: Lists) -> impl Iterator<Item = Vec<u8>> {
        changes.both(self.lists).named().map(|name| self.message(&format!("{name}/list_changed"), ""))
    }

    /// The answer that ends the subscription from our side, without a line end.
    pub fn ended(&self) -> Vec<u8> {
        let id = &self.id;
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
        )
        .into_bytes()
    }

    /// Fires when the client ends the subscription.
    pub fn cancelled(&self) -> &CancellationToken {
        self.flight.token()
    }

    fn message(&self, method: &str, more: &str) -> Vec<u8> {
        let id = &self.id;
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/{method}","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}{more}}}}}"#
        )
        .into_bytes()
    }
}

/// The messages of a legacy session for the lists that changed, without line ends.
pub fn changed_legacy(changes: Lists) -> impl Iterator<Item = Vec<u8>> {
    changes.named().map(|name| {
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/{name}/list_changed"}}"#).into_bytes()
    })
}

/// What one caller can see, to tell whether a change changed anything for it.
#[derive(Debug, Default)]
pub struct Visible {
    tools: Vec<Arc<RawValue>>,
    prompts: Vec<Value>,
    resources: (Vec<Value>, Vec<Value>),
}

impl Visible {
    /// Takes the newer view; says in which lists it differs.
    pub fn renew(&mut self, newer: Self) -> Lists {
        let same = |(a, b): (&Arc<RawValue>, &Arc<RawValue>)| Arc::ptr_eq(a, b) || a.get() == b.get();
        let changes = Lists {
            tools: self.tools.len() != newer.tools.len() || !self.tools.iter().zip(&newer.tools).all(same),
            prompts: self.prompts != newer.prompts,
            resources: self.resources != newer.resources,
        };
        *self = newer;
        changes
    }
}

impl Session {
    /// What the listening caller can see now; `None` if nobody listens, or the caller is no longer one.
    pub fn visible(&self) -> Option<Visible> {
        let listener = self.state.lock().listener.clone()?;
        self.gate.authenticate(&self.credential).ok()?;
        let offers = self.gate.offers();
        let mut visible = Visible { tools: self.gate.tools(&listener), ..Visible::default() };
        if offers.prompts {
            visible.prompts = self.gate.prompts(&listener);
        }
        if offers.resources {
            visible.resources = (self.gate.resources(&listener), self.gate.resource_templates(&listener));
        }
        Some(visible)
    }

    /// Moves whenever something changed that may concern someone.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.gate.changed()
    }

    pub(super) fn listen(self: &Arc<Self>, asked: Asked<'_>) -> Result<Received, RpcError> {
        let bad = || RpcError::invalid_params("`notifications` must be an object of the lists to hear about");
        let raw = asked.params.notifications.filter(|raw| raw.get().starts_with('{')).ok_or_else(bad)?;
        let wanted: Lists = serde_json::from_str(raw.get()).map_err(|_| bad())?;
        let offers = self.gate.offers();
        let given = Lists { tools: true, prompts: offers.prompts, resources: offers.resources };
        self.state.lock().listener = Some(asked.admitted);
        let flight = self.flights.begin(self, &asked.id);
        Ok(Received::Listening(Listen { id: asked.id, lists: wanted.both(given), flight }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(tools: &[&str]) -> Visible {
        let raw = |text: &&str| Arc::from(RawValue::from_string((*text).to_owned()).unwrap());
        Visible { tools: tools.iter().map(raw).collect(), ..Visible::default() }
    }

    #[test]
    fn only_a_view_that_differs_is_a_change() {
        let mut visible = view(&["1", "2"]);
        assert_eq!(visible.renew(view(&["1", "2"])), Lists::default());
        let tools = Lists { tools: true, ..Lists::default() };
        assert_eq!(visible.renew(view(&["1"])), tools);
        assert_eq!(visible.renew(view(&["3"])), tools);
        assert_eq!(visible.renew(view(&["3"])), Lists::default());
    }
}
