//! What a client is told when it begins, whether or not the origin can be asked: who is here, and what there is.

use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::exchange::{Desk, Heard};
use super::room::Load;
use super::trouble::Trouble;
use crate::era::{SUPPORTED, negotiate};
use crate::message::Id;
use crate::reply::SERVER;

/// How long the origin is asked what it has before the client is told what any has: clients give up on a server that is
/// slow to begin.
const BRIEFLY: Duration = Duration::from_secs(2);

/// The most characters of what is said for an origin that cannot be asked.
const LONGEST: usize = 1000;

impl Desk {
    /// Answers `initialize`: with what the origin says of itself if it says so soon, else with what every daemon has.
    pub(super) async fn greet(self: Arc<Self>, id: Id, wanted: String, opening: Box<RawValue>) {
        self.sessions.begin(opening).await;
        let desk = Arc::clone(&self);
        // Apart, so that an origin that is slow to begin still has begun when the first request comes.
        let opening = tokio::spawn(async move { desk.sessions.current(&desk).await });
        let soon = BRIEFLY.min(self.road.patience);
        let opened = timeout(soon, opening).await;
        let (said, alone) = match opened.unwrap_or(Ok(Err(Trouble::Hung(soon)))) {
            Ok(Ok(Some(open))) => (open.said.clone(), false),
            Ok(Err(trouble)) => (self.absent(&trouble), true),
            // Another handshake has taken the place of this one.
            Ok(Ok(None)) | Err(_) => (self.absent(&Trouble::Crowded), true),
        };
        let mut result = json!({ "protocolVersion": negotiate(&wanted) });
        for member in ["capabilities", "serverInfo", "instructions"] {
            if let (Some(value), Some(result)) = (said.get(member), result.as_object_mut()) {
                result.insert(member.to_owned(), value.clone());
            }
        }
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#);
        self.hand(Heard::Answer(id, Load::own(line.into_bytes()))).await;
        if alone {
            self.sessions.told_without();
        }
    }

    /// Answers `server/discover` for an origin that cannot be asked. It is not to be kept.
    pub(super) fn discovery(&self, id: &Id, trouble: &Trouble) -> Vec<u8> {
        let mut result = self.absent(trouble);
        if let Some(members) = result.as_object_mut() {
            let server = members.remove("serverInfo").unwrap_or_default();
            members.insert("_meta".to_owned(), json!({ "io.modelcontextprotocol/serverInfo": server }));
            members.insert("supportedVersions".to_owned(), json!(SUPPORTED));
            members.insert("resultType".to_owned(), json!("complete"));
            members.insert("ttlMs".to_owned(), json!(0));
            members.insert("cacheScope".to_owned(), json!("private"));
        }
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).into_bytes()
    }

    /// What is said for an origin that cannot be asked.
    fn absent(&self, trouble: &Trouble) -> Value {
        let server: Value = serde_json::from_str(&SERVER).unwrap_or_default();
        let instructions = format!(
            "This is the way to the Covenant daemon at {}. When it was opened: {} Ask for the list of tools: it comes \
             once the daemon answers, and otherwise an error says what to do.",
            self.road.origin(),
            trouble.told(self.road.origin(), self.road.has_token()).message,
        );
        let instructions = self.road.scrub.shown(&instructions, LONGEST);
        json!({
            "capabilities": { "tools": { "listChanged": true }, "logging": {} },
            "serverInfo": server,
            "instructions": instructions,
        })
    }
}
