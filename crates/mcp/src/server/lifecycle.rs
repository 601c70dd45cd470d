//! Who we are and what we have: the legacy handshake and modern discovery.

use std::sync::Arc;

use covenant_gate::Offers;
use serde_json::{Map, Value, json};

use super::{Asked, Received, Session};
use crate::era::{SUPPORTED, negotiate};
use crate::params::{kinds, required};
use crate::reply::{Cache, RpcError, SERVER};

/// How long a client may keep what discovery said.
const DISCOVERY: Cache = Cache::PrivateMillis(60_000);

/// What a model should know before it calls anything.
const INSTRUCTIONS: &str = "Covenant is the gate between you and the tools of this machine. You see only the tools \
    you may call. Every call is checked and recorded. Error -31001 means a capability is missing: show the user the \
    command in its message, which only a person can run, and do not retry before it was run. Error -31003 or -32042 means a \
    person must approve this very call first: say so, and repeat the call unchanged later. Error -32000 means you \
    are too fast: wait. Text such as [REDACTED:NAME] stands for a secret that is kept from you on purpose.";

impl Session {
    /// Only what has something behind it is announced.
    fn capabilities(offers: Offers) -> Value {
        let mut capabilities = Map::new();
        let mut announce = |name: &str, value| capabilities.insert(name.to_owned(), value);
        announce("tools", json!({ "listChanged": true }));
        announce("logging", json!({}));
        if offers.resources {
            let lists = json!({ "listChanged": true });
            let updates = json!({ "listChanged": true, "subscribe": true });
            announce("resources", if offers.updates { updates } else { lists });
        }
        if offers.prompts {
            announce("prompts", json!({ "listChanged": true }));
        }
        if offers.completions {
            announce("completions", json!({}));
        }
        Value::Object(capabilities)
    }

    pub(super) fn initialize(self: &Arc<Self>, asked: Asked<'_>) -> Result<Received, RpcError> {
        let wanted = required("protocolVersion", asked.params.protocol_version)?;
        let capabilities = asked.params.capabilities;
        if capabilities.is_some_and(|raw| !raw.get().starts_with('{')) {
            return Err(RpcError::invalid_params("`capabilities` must be an object"));
        }
        {
            let mut state = self.state.lock();
            state.listener = Some(asked.admitted.clone());
            state.kinds = kinds(capabilities);
        }
        let text = format!(
            r#"{{"protocolVersion":"{}","capabilities":{},"serverInfo":{},"instructions":{}}}"#,
            negotiate(&wanted),
            Self::capabilities(self.gate.offers()),
            *SERVER,
            Value::from(INSTRUCTIONS),
        );
        Ok(asked.own(text, Cache::Unsaid))
    }

    pub(super) fn discover(&self, asked: Asked<'_>) -> Received {
        let text = format!(
            r#"{{"supportedVersions":{},"capabilities":{},"instructions":{}}}"#,
            json!(SUPPORTED),
            Self::capabilities(self.gate.offers()),
            Value::from(INSTRUCTIONS),
        );
        asked.own(text, DISCOVERY)
    }

    /// A legacy client that shook hands hears of changes from now on.
    pub(super) fn ready(&self) -> Received {
        if self.state.lock().listener.is_some() { Received::Ready } else { Received::Nothing }
    }
}
