//! For tests: a courier whose server is a function, and an ear that remembers.

use std::sync::Arc;
use std::time::Duration;

use covenant_model::secret::Secret;
use covenant_model::server::{Web, WebTransport};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::ports::{Courier, Couriers, Later, Method, Reply, ReplyBody, Sent};
use super::scrub::{Scrub, known};
use super::wire::{Ear, Letter};
use crate::message::Id;

/// The most bytes of a message on the stage.
pub(crate) const LIMIT: usize = 1000;

/// A request that came.
#[derive(Debug, Clone)]
pub(crate) struct Came {
    pub(crate) method: Method,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    pub(crate) repeatable: bool,
}

impl Came {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The id in its body, as JSON.
    pub(crate) fn id(&self) -> String {
        let body: serde_json::Value = serde_json::from_str(&self.body).unwrap();
        body["id"].to_string()
    }
}

type Piece = Result<Vec<u8>, String>;

/// What a server answers: a head, and pieces that may come later.
pub(crate) struct Said {
    status: u16,
    headers: Vec<(String, String)>,
    body: mpsc::UnboundedReceiver<Piece>,
    /// Kept by who wants the body to go on.
    pub(crate) more: Option<mpsc::UnboundedSender<Piece>>,
}

impl Said {
    /// That status and type, and the body in those pieces; then nothing more, for as long as `more` is kept.
    pub(crate) fn open(status: u16, kind: &str, pieces: &[&str]) -> Self {
        let (more, body) = mpsc::unbounded_channel();
        for piece in pieces {
            more.send(Ok(piece.as_bytes().to_vec())).unwrap();
        }
        let headers = if kind.is_empty() { vec![] } else { vec![("content-type".into(), kind.into())] };
        Self { status, headers, body, more: Some(more) }
    }

    /// The same, and the body ends.
    pub(crate) fn whole(status: u16, kind: &str, pieces: &[&str]) -> Self {
        Self { more: None, ..Self::open(status, kind, pieces) }
    }

    pub(crate) fn json(body: &str) -> Self {
        Self::whole(200, "application/json", &[body])
    }

    pub(crate) fn events(pieces: &[&str]) -> Self {
        Self::whole(200, "text/event-stream", pieces)
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

type Server = Box<dyn Fn(&Came) -> Result<Said, String> + Send + Sync>;

/// A courier to a function.
pub(crate) struct Stage {
    server: Server,
    came: Mutex<Vec<Came>>,
    open: Mutex<Vec<mpsc::UnboundedSender<Piece>>>,
}

impl Stage {
    pub(crate) fn new(server: impl Fn(&Came) -> Result<Said, String> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { server: Box::new(server), came: Mutex::default(), open: Mutex::default() })
    }

    /// What came so far.
    pub(crate) fn came(&self) -> Vec<Came> {
        self.came.lock().clone()
    }

    /// Bodies that are still open on the side of the server, in the order they were opened.
    pub(crate) fn open_bodies(&self) -> Vec<mpsc::UnboundedSender<Piece>> {
        self.open.lock().clone()
    }

    /// Ends all of them.
    pub(crate) fn close_bodies(&self) {
        self.open.lock().clear();
    }

    fn answer(&self, sent: Sent<'_>) -> Result<Reply, String> {
        let headers = sent.headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let came = Came {
            method: sent.method,
            url: sent.url.to_owned(),
            headers: headers.collect(),
            body: String::from_utf8(sent.body).unwrap(),
            repeatable: sent.repeatable,
        };
        self.came.lock().push(came.clone());
        let said = (self.server)(&came)?;
        self.open.lock().extend(said.more);
        Ok(Reply { status: said.status, headers: said.headers, body: Box::new(Body(said.body)) })
    }
}

impl Courier for Stage {
    fn send<'a>(&'a self, request: Sent<'a>) -> Later<'a, Result<Reply, String>> {
        let reply = self.answer(request);
        Box::pin(async { reply })
    }
}

/// Couriers that all lead to one stage.
pub(crate) struct Leading(pub(crate) Arc<Stage>);

impl Couriers for Leading {
    fn open<'a>(&'a self, _: &'a str) -> Later<'a, Result<Arc<dyn Courier>, String>> {
        let courier: Arc<dyn Courier> = Arc::clone(&self.0) as _;
        Box::pin(async { Ok(courier) })
    }
}

struct Body(mpsc::UnboundedReceiver<Piece>);

impl ReplyBody for Body {
    fn next(&mut self) -> Later<'_, Option<Piece>> {
        Box::pin(self.0.recv())
    }
}

/// Remembers what it heard, and answers requests with their method.
#[derive(Default)]
pub(crate) struct Heed(pub(crate) Mutex<Vec<String>>);

impl Ear for Heed {
    fn notification(&self, method: &str, params: Option<&RawValue>, about: Option<u64>) {
        let params = params.map(RawValue::get).unwrap_or_default();
        self.0.lock().push(format!("{method} {params} {about:?}"));
    }

    fn request(&self, id: &Id, method: &str, _: Option<&RawValue>) -> Vec<u8> {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"{method}"}}"#).into_bytes()
    }

    fn scrub(&self) -> &Scrub {
        known::scrub()
    }
}

/// A server behind that URL, with a header of its own.
pub(crate) fn web(url: &str, transport: WebTransport) -> Web {
    let headers = [("Authorization", "Bearer hunter2"), ("Mcp-Session-Id", "mine"), ("Accept", "*/*")];
    Web {
        url: Secret::new(url.to_owned()),
        headers: headers.map(|(name, value)| (name.to_owned(), Secret::new(value.to_owned()))).into(),
        transport,
    }
}

/// A letter with that id.
pub(crate) fn letter(id: u64, method: &'static str) -> Letter {
    Letter {
        id: Some(id),
        method,
        name: None,
        arguments: Vec::new(),
        body: format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#).into_bytes(),
    }
}

/// A letter that wants no answer.
pub(crate) fn notice(method: &'static str) -> Letter {
    let body = format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#).into_bytes();
    Letter { id: None, method, name: None, arguments: Vec::new(), body }
}

/// A result for that id.
pub(crate) fn result(id: impl std::fmt::Display, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

/// Waits until something holds; the runner of the test would wait no longer.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(20), waiting).await.is_ok(), "{what}");
}
