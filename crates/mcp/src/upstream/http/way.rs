//! How requests to one server look: where they go, which headers they carry, and in which session they are.

use std::sync::Arc;
use std::time::Duration;

use covenant_model::secret::Secret;
use covenant_model::server::Web;
use parking_lot::Mutex;
use tokio::time::timeout;

use super::body;
use crate::era::MODERN;
use crate::headers;
use crate::upstream::ports::{Courier, Method, Reply, Sent};
use crate::upstream::wire::{Letter, WireError};

/// How long a message may take that nobody waits for: an answer to the server, the end of a session.
const ASIDE: Duration = Duration::from_secs(5);

/// The most bytes of a session's id.
const SESSION: usize = 1024;

/// Headers that are ours to write, whatever an entry says.
const OURS: [&str; 11] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "transfer-encoding",
];

/// What every request to one server shares.
pub(crate) struct Way {
    courier: Arc<dyn Courier>,
    url: String,
    own: Vec<(String, Secret)>,
    agreed: Mutex<Agreed>,
}

/// What the handshake found.
#[derive(Clone, Default)]
struct Agreed {
    revision: Option<Arc<str>>,
    modern: bool,
    session: Option<Arc<str>>,
    /// The server does not know that session any more.
    spent: bool,
}

/// The head of an answer, and the session its request was sent in.
pub(crate) struct Passage {
    pub(crate) reply: Reply,
    pub(crate) session: Option<Arc<str>>,
}

impl Way {
    pub(crate) fn new(courier: Arc<dyn Courier>, web: &Web, url: String) -> Self {
        let own = web.headers.iter().filter(|(name, _)| !is_ours(name));
        let own = own.map(|(name, value)| (name.clone(), value.clone())).collect();
        Self { courier, url, own, agreed: Mutex::default() }
    }

    /// The same server at another place of it.
    pub(crate) fn at(&self, url: String) -> Self {
        let agreed = Mutex::new(self.agreed.lock().clone());
        Self { courier: Arc::clone(&self.courier), url, own: self.own.clone(), agreed }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Posts a letter, and comes back with the head of the answer.
    pub(crate) async fn post(&self, letter: &Letter) -> Result<Passage, WireError> {
        let agreed = match letter.method {
            "initialize" => Agreed::default(),
            "server/discover" => Agreed { revision: Some(MODERN.into()), modern: true, ..Agreed::default() },
            _ => self.agreed.lock().clone(),
        };
        // Without its session it would be another request than was meant.
        if agreed.spent {
            return Err(WireError::SessionLost);
        }
        let name = letter.name.as_deref().map(headers::encoded);
        let arguments: Vec<_> =
            letter.arguments.iter().map(|(end, value)| (format!("mcp-param-{end}"), value)).collect();
        let mut more = vec![("content-type", "application/json")];
        if agreed.modern {
            more.push(("mcp-method", letter.method));
            more.extend(name.as_deref().map(|name| ("mcp-name", name)));
            more.extend(arguments.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        }
        let repeatable = letter.method != "tools/call";
        let sent = self.send(Method::Post, &agreed, &more, letter.body.clone(), repeatable).await;
        let reply = sent.map_err(|reason| WireError::Failed { status: None, reason })?;
        Ok(Passage { reply, session: agreed.session })
    }

    /// Posts the answer to a request of the server. Whether it arrives is the server's concern.
    pub(crate) async fn give_back(&self, answer: Vec<u8>) {
        let agreed = self.agreed.lock().clone();
        // Since 2026 a server has no requests, and nothing may be posted that answers one.
        if answer.is_empty() || agreed.modern {
            return;
        }
        let more = [("content-type", "application/json")];
        let sent = async {
            if let Ok(reply) = self.send(Method::Post, &agreed, &more, answer, true).await {
                body::drain(reply.body).await;
            }
        };
        drop(timeout(ASIDE, sent).await);
    }

    /// Opens the stream of what belongs to no request, or goes on where one broke off.
    pub(crate) async fn get(&self, after: Option<&str>) -> Result<Passage, String> {
        let agreed = self.agreed.lock().clone();
        let more: Vec<_> = after.map(|id| ("last-event-id", id)).into_iter().collect();
        let reply = self.send(Method::Get, &agreed, &more, Vec::new(), true).await?;
        Ok(Passage { reply, session: agreed.session })
    }

    /// Ends the session, where there is one.
    pub(crate) async fn delete(&self) {
        let agreed = std::mem::take(&mut *self.agreed.lock());
        if agreed.session.is_none() || agreed.spent {
            return;
        }
        drop(timeout(ASIDE, self.send(Method::Delete, &agreed, &[], Vec::new(), true)).await);
    }

    /// A handshake was answered: what comes after it is in that session, or in none.
    pub(crate) fn begin(&self, session: Option<&str>) -> Result<(), WireError> {
        if session.is_some_and(|id| id.len() > SESSION || !id.bytes().all(|byte| byte.is_ascii_graphic())) {
            let reason = "gave a session id that no header can hold".to_owned();
            return Err(WireError::Failed { status: None, reason });
        }
        let mut agreed = self.agreed.lock();
        agreed.session = session.filter(|id| !id.is_empty()).map(Arc::from);
        agreed.spent = false;
        Ok(())
    }

    /// The server does not know that session any more. Another may have begun since: whether it is the present one.
    pub(crate) fn spend(&self, session: &Arc<str>) -> bool {
        let mut agreed = self.agreed.lock();
        let present = agreed.session.as_ref() == Some(session);
        agreed.spent |= present;
        present
    }

    pub(crate) fn agree(&self, revision: &str, modern: bool) {
        let mut agreed = self.agreed.lock();
        agreed.revision = Some(revision.into());
        agreed.modern = modern;
        if modern {
            agreed.session = None;
        }
    }

    /// Whether the server speaks without a handshake: it then has no stream of its own.
    pub(crate) fn is_modern(&self) -> bool {
        self.agreed.lock().modern
    }

    async fn send(
        &self,
        method: Method,
        agreed: &Agreed,
        more: &[(&str, &str)],
        body: Vec<u8>,
        repeatable: bool,
    ) -> Result<Reply, String> {
        let accept = match method {
            Method::Post => "application/json, text/event-stream",
            Method::Get => "text/event-stream",
            Method::Delete => "*/*",
        };
        let mut headers = Vec::with_capacity(self.own.len() + more.len() + 3);
        headers.push(("accept", accept));
        headers.extend_from_slice(more);
        headers.extend(agreed.revision.as_deref().map(|revision| ("mcp-protocol-version", revision)));
        headers.extend(agreed.session.as_deref().map(|session| ("mcp-session-id", session)));
        headers.extend(self.own.iter().map(|(name, value)| (name.as_str(), value.reveal())));
        self.courier.send(Sent { method, url: &self.url, headers: &headers, body, repeatable }).await
    }
}

fn is_ours(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    OURS.contains(&lower.as_str()) || lower.starts_with("mcp-param-")
}
