//! Who hears that a list or a resource changed, and of which change: only what this caller can see counts.

use std::collections::BTreeSet;
use std::sync::Arc;

use covenant_gate::{Admitted, Credential, Gate};
use covenant_model::id::ApprovalId;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{broadcast, watch};
use tokio_util::sync::CancellationToken;

use super::flight::Flight;
use super::resources::{FOLLOWED, LONGEST_URI};
use super::{Asked, Received, Session};
use crate::message::Id;
use crate::reply::RpcError;

/// Which lists someone wants to hear about, or which have changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lists {
    /// The tools.
    pub tools: bool,
    /// The prompts.
    pub prompts: bool,
    /// The resources and their templates.
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

/// What has changed.
#[derive(Clone)]
pub enum Change {
    /// Those lists.
    Lists(Lists),
    /// That resource.
    Resource(Arc<str>),
    /// Resources, and nobody knows which: more than were kept for a listener this slow. All that one may follow count.
    Resources(Follower),
    /// A person decided on that: of interest to a client that was told of it.
    Decided(ApprovalId),
}

/// Who follows, to ask whether it still may.
#[derive(Clone)]
pub struct Follower {
    gate: Arc<Gate>,
    admitted: Admitted,
}

impl Follower {
    fn may(&self, uri: &str) -> bool {
        self.gate.may_follow(&self.admitted, uri).is_ok()
    }
}

/// What a modern client asks to hear of.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Wanted {
    tools_list_changed: bool,
    prompts_list_changed: bool,
    resources_list_changed: bool,
    resource_subscriptions: BTreeSet<String>,
}

/// A modern subscription: what it asked for and was given, under the id of its request.
pub struct Listen {
    id: Id,
    lists: Lists,
    resources: BTreeSet<String>,
    admitted: Admitted,
    flight: Flight,
}

impl Listen {
    /// The id of its request, which is the name of the subscription.
    pub fn id(&self) -> &Id {
        &self.id
    }

    /// Who listens.
    pub fn admitted(&self) -> &Admitted {
        &self.admitted
    }

    /// The first message of the subscription, without a line end.
    pub fn acknowledgement(&self) -> Vec<u8> {
        let mut given: Vec<_> =
            self.lists.named().map(|name| format!(r#""{name}ListChanged":true"#)).collect();
        if !self.resources.is_empty() {
            given.push(format!(r#""resourceSubscriptions":{}"#, json!(self.resources)));
        }
        let notifications = format!(r#","notifications":{{{}}}"#, given.join(","));
        self.message("subscriptions/acknowledged", &notifications)
    }

    /// A message for each thing that changed and that this subscription is about, without line ends.
    pub fn changed(&self, change: &Change) -> Vec<Vec<u8>> {
        let updated = |uri: &str| self.message("resources/updated", &format!(r#","uri":{}"#, json!(uri)));
        match change {
            Change::Lists(lists) => {
                let named = lists.both(self.lists).named();
                named.map(|name| self.message(&format!("{name}/list_changed"), "")).collect()
            }
            Change::Resource(uri) => self.resources.get(&**uri).map(|uri| updated(uri)).into_iter().collect(),
            Change::Resources(follower) => {
                self.resources.iter().filter(|uri| follower.may(uri)).map(|uri| updated(uri)).collect()
            }
            // Clients of this era make their call again, and see.
            Change::Decided(_) => Vec::new(),
        }
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

/// One client that listens, over however many subscriptions: who it is, and what it saw last.
pub struct Watch {
    follower: Follower,
    credential: Credential,
    visible: Visible,
    changes: watch::Receiver<u64>,
    updates: broadcast::Receiver<Arc<str>>,
    verdicts: broadcast::Receiver<ApprovalId>,
}

impl Watch {
    /// Listens from what is visible now.
    pub fn new(gate: Arc<Gate>, credential: Credential, admitted: Admitted) -> Self {
        // Subscribed first: what changes while we look is seen again, and not missed.
        let (changes, updates, verdicts) = (gate.changed(), gate.updates(), gate.verdicts());
        let visible = Visible::of(&gate, &admitted);
        Self { follower: Follower { gate, admitted }, credential, visible, changes, updates, verdicts }
    }

    /// The next thing that changed for this client; `None` when it is no longer one. Can be dropped and asked again.
    pub async fn next(&mut self) -> Option<Change> {
        let Follower { gate, admitted } = &self.follower;
        loop {
            let change = tokio::select! {
                changed = self.changes.changed() => {
                    changed.ok()?;
                    let lists = self.visible.renew(Visible::of(gate, admitted));
                    (lists != Lists::default()).then_some(Change::Lists(lists))
                }
                updated = self.updates.recv() => match updated {
                    Ok(uri) => self.follower.may(&uri).then_some(Change::Resource(uri)),
                    Err(broadcast::error::RecvError::Lagged(_)) => Some(Change::Resources(self.follower.clone())),
                    Err(broadcast::error::RecvError::Closed) => return None,
                },
                decided = self.verdicts.recv() => match decided {
                    Ok(id) => Some(Change::Decided(id)),
                    // A client may wait for such a message, and must not need it.
                    Err(broadcast::error::RecvError::Lagged(_)) => None,
                    Err(broadcast::error::RecvError::Closed) => return None,
                },
            };
            gate.authenticate(&self.credential).ok()?;
            if change.is_some() {
                return change;
            }
        }
    }
}

/// What one caller can see, to tell whether a change changed anything for it.
#[derive(Debug, Default)]
pub struct Visible {
    tools: Vec<Arc<RawValue>>,
    prompts: Vec<Value>,
    resources: (Vec<Value>, Vec<Value>),
}

impl Visible {
    fn of(gate: &Gate, listener: &Admitted) -> Self {
        let offers = gate.offers();
        let mut visible = Self { tools: gate.tools(listener), ..Self::default() };
        if offers.prompts {
            visible.prompts = gate.prompts(listener);
        }
        if offers.resources {
            visible.resources = (gate.resources(listener), gate.resource_templates(listener));
        }
        visible
    }

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
    /// The client that shook hands or listens, if one did.
    pub fn listener(&self) -> Option<Admitted> {
        self.state.lock().listener.clone()
    }

    /// The messages of a legacy client for what changed, without line ends.
    pub fn changed(&self, change: &Change) -> Vec<Vec<u8>> {
        let updated = |uri: &str| {
            let uri = json!(uri);
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":{uri}}}}}"#
            )
            .into_bytes()
        };
        match change {
            Change::Lists(lists) => {
                let message =
                    |name| format!(r#"{{"jsonrpc":"2.0","method":"notifications/{name}/list_changed"}}"#);
                lists.named().map(|name| message(name).into_bytes()).collect()
            }
            Change::Resource(uri) => {
                let followed = self.state.lock().follows.contains(&**uri);
                followed.then(|| updated(uri)).into_iter().collect()
            }
            Change::Resources(follower) => {
                let follows = self.state.lock().follows.clone();
                follows.iter().filter(|uri| follower.may(uri)).map(|uri| updated(uri)).collect()
            }
            Change::Decided(id) => self.told.over(id).into_iter().collect(),
        }
    }

    pub(super) fn listen(self: &Arc<Self>, asked: Asked<'_>) -> Result<Received, RpcError> {
        let bad = || {
            RpcError::invalid_params(
                "`notifications` must be an object of the lists and resources to hear about",
            )
        };
        let raw = asked.params.notifications.filter(|raw| raw.get().starts_with('{')).ok_or_else(bad)?;
        let wanted: Wanted = serde_json::from_str(raw.get()).map_err(|_| bad())?;
        let offers = self.gate.offers();
        let given = Lists { tools: true, prompts: offers.prompts, resources: offers.resources };
        let may =
            |uri: &String| uri.len() <= LONGEST_URI && self.gate.may_follow(&asked.admitted, uri).is_ok();
        // Counted before they are looked at: a client cannot have a million of them judged.
        let resources = wanted.resource_subscriptions.into_iter().take(FOLLOWED).filter(may).collect();
        self.state.lock().listener = Some(asked.admitted.clone());
        let flight = self.flights.begin(self, &asked.id)?;
        let lists = Lists {
            tools: wanted.tools_list_changed,
            prompts: wanted.prompts_list_changed,
            resources: wanted.resources_list_changed,
        };
        let lists = lists.both(given);
        Ok(Received::Listening(Listen { id: asked.id, lists, resources, admitted: asked.admitted, flight }))
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
