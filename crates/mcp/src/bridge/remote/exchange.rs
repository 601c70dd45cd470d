//! One request of the client, from its line to its answer: posted, followed, and asked a second time where the origin
//! forgot the session.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::time::timeout;

use super::marks::Marks;
use super::reading::Reading;
use super::road::{Headers, Road};
use super::room::{Held, Load};
use super::session::{Open, Sessions};
use super::trouble::Trouble;
use super::{LONGEST, sorting, telling};
use crate::era::{Era, MODERN};
use crate::headers::encoded;
use crate::http::{METHOD, NAME, VERSION};
use crate::message::Id;
use crate::upstream::http::body;

/// How many messages wait for the client to read before whoever has more waits too.
const WAITING: usize = 64;

/// How long a message may take that nobody waits for.
const ASIDE: Duration = Duration::from_secs(10);

/// A request of the client.
pub(super) struct Asked {
    pub(super) id: Id,
    pub(super) method: String,
    pub(super) era: Era,
    /// What it is about, as its headers say.
    pub(super) subject: Option<String>,
    /// The whole message.
    pub(super) line: Vec<u8>,
    pub(super) _held: Held,
}

/// What comes for the client.
pub(super) enum Heard {
    /// Something that answers nothing.
    Said(Load),
    /// The answer to that request.
    Answer(Id, Load),
}

/// What all requests share.
pub(super) struct Desk {
    pub(super) road: Road,
    pub(super) sessions: Sessions,
    pub(super) marks: Marks,
    client: Sender<Heard>,
}

impl Asked {
    pub(super) fn is_call(&self) -> bool {
        self.method == "tools/call"
    }

    /// Whether it is answered only when it ends.
    pub(super) fn is_lasting(&self) -> bool {
        self.method == "subscriptions/listen"
    }
}

impl Desk {
    pub(super) fn new(road: Road) -> (Arc<Self>, Receiver<Heard>) {
        let (client, heard) = channel(WAITING);
        let (sessions, marks) = (Sessions::default(), Marks::default());
        (Arc::new(Self { road, sessions, marks, client }), heard)
    }

    /// Gives the client something of the origin that answers nothing. Comes back when it is the client's turn to read.
    pub(super) async fn pass(&self, line: Vec<u8>) -> Result<(), Trouble> {
        let mut held = self.road.room.hold();
        if !held.grow(line.len()) {
            return Err(Trouble::Crowded);
        }
        self.hand(Heard::Said(Load::held(line, held))).await;
        Ok(())
    }

    /// Gives the client something. A client that is gone misses nothing.
    pub(super) async fn hand(&self, heard: Heard) {
        drop(self.client.send(heard).await);
    }

    /// Sees a request through, and gives the client its answer.
    pub(super) async fn see_through(self: Arc<Self>, asked: Asked) {
        let answered = if asked.is_lasting() {
            self.ask(&asked).await
        } else {
            timeout(LONGEST, self.ask(&asked)).await.unwrap_or(Err(Trouble::Hung(LONGEST)))
        };
        let load = answered.unwrap_or_else(|trouble| {
            if matches!(trouble, Trouble::Hung(_)) {
                tokio::spawn(Arc::clone(&self).take_back(asked.id.clone(), asked.era));
            }
            let own = (asked.method == "server/discover" && is_absence(&trouble))
                .then(|| self.discovery(&asked.id, &trouble));
            Load::own(own.unwrap_or_else(|| telling::answer(&asked, &trouble, &self.road)))
        });
        self.hand(Heard::Answer(asked.id, load)).await;
    }

    async fn ask(self: &Arc<Self>, asked: &Asked) -> Result<Load, Trouble> {
        match asked.era {
            Era::Legacy => match self.in_session(asked).await {
                Err((Trouble::SessionLost, Some(lost))) => {
                    self.sessions.forget(&lost).await;
                    self.in_session(asked).await.map_err(|(trouble, _)| trouble)
                }
                other => other.map_err(|(trouble, _)| trouble),
            },
            Era::Modern => {
                let answer = self.alone(asked).await;
                if !Marks::are_wanted(asked, answer.as_ref()) || !self.marks.learn_for(self, asked).await {
                    return answer;
                }
                self.alone(asked).await
            }
        }
    }

    /// In the session, or without one where the client never opened any.
    async fn in_session(self: &Arc<Self>, asked: &Asked) -> Result<Load, (Trouble, Option<Arc<Open>>)> {
        let patience = self.road.patience;
        let opening = timeout(patience, self.sessions.current(self)).await;
        let open = opening.unwrap_or(Err(Trouble::Hung(patience))).map_err(|trouble| (trouble, None))?;
        let headers = open.as_ref().map(|open| open.headers()).unwrap_or_default();
        let answered = self.post(asked, &headers, open.as_deref()).await;
        answered.map_err(|trouble| (trouble, open))
    }

    /// On its own, with headers that say what its body says.
    async fn alone(self: &Arc<Self>, asked: &Asked) -> Result<Load, Trouble> {
        let mut headers: Headers = vec![(VERSION.to_owned(), MODERN.to_owned())];
        headers.push((METHOD.to_owned(), encoded(&asked.method).into_owned()));
        headers.extend(asked.subject.iter().map(|name| (NAME.to_owned(), encoded(name).into_owned())));
        headers.extend(self.marks.of(asked));
        let answer = self.post(asked, &headers, None).await?;
        if asked.method == "tools/list" {
            self.marks.learn(sorting::result(&answer.bytes));
        }
        Ok(answer)
    }

    async fn post(
        self: &Arc<Self>,
        asked: &Asked,
        more: &Headers,
        open: Option<&Open>,
    ) -> Result<Load, Trouble> {
        let reply = self.road.post(asked.line.clone(), more, !asked.is_call()).await?;
        let reading = Reading { desk: self, id: &asked.id, lasting: asked.is_lasting() };
        reading.answer(reply, open).await
    }

    /// Posts what nobody waits for into a session.
    pub(super) async fn aside(&self, open: &Open, line: Vec<u8>) {
        let posting = async {
            if let Ok(reply) = self.road.post(line, &open.headers(), true).await {
                body::drain(reply.body).await;
            }
        };
        drop(timeout(ASIDE, posting).await);
    }

    /// Tells the origin that nobody waits for that any more. A stateless request was taken back by hanging up.
    pub(super) async fn take_back(self: Arc<Self>, id: Id, era: Era) {
        let line = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        );
        if let (Era::Legacy, Some(open)) = (era, self.sessions.open().await) {
            self.aside(&open, line.into_bytes()).await;
        }
    }
}

/// Whether there was nobody who could have answered.
fn is_absence(trouble: &Trouble) -> bool {
    match trouble {
        Trouble::Unreached(_) | Trouble::Hung(_) | Trouble::BrokenOff(_) => true,
        Trouble::Refused(refused) => refused.status >= 500,
        _ => false,
    }
}
