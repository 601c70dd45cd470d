//! What is kept of a session, so that it goes on after the daemon was started anew.

use std::sync::Arc;

use covenant_gate::Gate;
use covenant_gate::context::Level;
use covenant_gate::inquiry::Kinds;
use serde::{Deserialize, Serialize};

use super::{Session, State};

/// The most bytes of the resources that are kept.
const FOLLOWS: usize = 32 * 1024;

#[derive(Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is one capability of the protocol")]
struct Kept {
    level: Level,
    /// By a form.
    elicitation: bool,
    #[serde(default)]
    url: bool,
    sampling: bool,
    roots: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    follows: Vec<String>,
}

impl Session {
    /// What to keep: a JSON text.
    pub fn kept(&self) -> String {
        let state = self.state.lock();
        let Kinds { form: elicitation, url, sampling, roots } = state.kinds;
        let mut room = FOLLOWS;
        let fits = |uri: &&String| {
            room = room.saturating_sub(uri.len() + 8);
            room > 0
        };
        let follows = state.follows.iter().filter(fits).cloned().collect();
        let kept = Kept { level: state.level, elicitation, url, sampling, roots, follows };
        serde_json::to_string(&kept).unwrap_or_default()
    }

    /// A session as it was kept; `None` for a text that is none.
    pub fn restored(gate: Arc<Gate>, text: &str) -> Option<Arc<Self>> {
        let Kept { level, elicitation, url, sampling, roots, follows } = serde_json::from_str(text).ok()?;
        let kinds = Kinds { form: elicitation, url, sampling, roots };
        let state = State { level, kinds, follows: follows.into_iter().collect(), ..State::default() };
        Some(Self::with(gate, state))
    }
}
