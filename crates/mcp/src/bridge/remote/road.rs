//! How requests to the origin look: where they go, what they show of who asks, and how long is waited for the head of
//! an answer.

use std::sync::Arc;
use std::time::Duration;

use covenant_model::redact::Redactor;
use covenant_model::secret::Secret;
use tokio::sync::OnceCell;
use tokio::time::timeout;

use super::room::Room;
use super::session::Open;
use super::trouble::Trouble;
use super::{ROOM, Remote};
use crate::http::{SESSION, VERSION};
use crate::upstream::ports::{Courier, Couriers, Method, Reply, Sent};
use crate::upstream::scrub::Scrub;

/// The way to one origin.
pub(super) struct Road {
    origin: String,
    url: String,
    authorization: Option<Secret>,
    couriers: Arc<dyn Couriers>,
    courier: OnceCell<Arc<dyn Courier>>,
    redactor: Arc<Redactor>,
    /// What the origin says, as it may be shown.
    pub(super) scrub: Scrub,
    /// How long the origin may be silent.
    pub(super) patience: Duration,
    /// The room for messages on their way.
    pub(super) room: Arc<Room>,
}

/// Headers of one request, beside those of every request.
pub(super) type Headers = Vec<(String, String)>;

impl Road {
    pub(super) fn new(remote: Remote) -> Self {
        let Remote { origin, token, couriers, patience } = remote;
        let secrets = token.iter().map(|token| ("COVIBE_MCP_TOKEN", token.reveal()));
        let redactor = Arc::new(Redactor::new(secrets));
        let known = Arc::clone(&redactor);
        Self {
            url: format!("{origin}/mcp"),
            origin,
            authorization: token.map(|token| Secret::new(format!("Bearer {}", token.reveal()))),
            couriers,
            courier: OnceCell::new(),
            scrub: Scrub::new(move || Arc::clone(&known)),
            redactor,
            patience,
            room: Room::new(ROOM),
        }
    }

    pub(super) fn origin(&self) -> &str {
        &self.origin
    }

    pub(super) fn has_token(&self) -> bool {
        self.authorization.is_some()
    }

    /// A line of JSON without the token.
    pub(super) fn redacted(&self, line: &str) -> String {
        self.redactor.redact_json(line).into_owned()
    }

    /// Posts a message, and comes back with the head of the answer.
    pub(super) async fn post(
        &self,
        body: Vec<u8>,
        more: &Headers,
        repeatable: bool,
    ) -> Result<Reply, Trouble> {
        let mut headers = vec![("accept", "application/json, text/event-stream")];
        headers.push(("content-type", "application/json"));
        headers.extend(more.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        self.send(Method::Post, headers, body, repeatable).await
    }

    /// Opens the stream of what belongs to no request.
    pub(super) async fn listen(&self, open: &Open) -> Result<Reply, Trouble> {
        let own = open.headers();
        let mut headers = vec![("accept", "text/event-stream")];
        headers.extend(own.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        self.send(Method::Get, headers, Vec::new(), true).await
    }

    /// Ends a session.
    pub(super) async fn end(&self, open: &Open) {
        let own = open.headers();
        let headers = own.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        // One that cannot be ended now ends when it is idle.
        drop(self.send(Method::Delete, headers, Vec::new(), true).await);
    }

    async fn send(
        &self,
        method: Method,
        mut headers: Vec<(&str, &str)>,
        body: Vec<u8>,
        repeatable: bool,
    ) -> Result<Reply, Trouble> {
        headers.extend(self.authorization.iter().map(|value| ("authorization", value.reveal())));
        let sending = async {
            let opened = self.courier.get_or_try_init(|| self.couriers.open(&self.url)).await;
            // Such as a machine that has no trusted roots at all.
            let courier = opened.map_err(|clause| format!("could not be reached: {clause}"))?;
            courier.send(Sent { method, url: &self.url, headers: &headers, body, repeatable }).await
        };
        let sent = timeout(self.patience, sending).await.map_err(|_| Trouble::Hung(self.patience))?;
        sent.map_err(|clause| Trouble::Unreached(self.scrub.quoted(&clause, CLAUSE)))
    }
}

/// The most characters of a clause.
const CLAUSE: usize = 400;

impl Open {
    /// What a request in this session carries.
    pub(super) fn headers(&self) -> Headers {
        let session = self.id.iter().map(|id| (SESSION.to_owned(), id.clone()));
        session.chain([(VERSION.to_owned(), self.revision.clone())]).collect()
    }
}
