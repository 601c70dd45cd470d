//! Which arguments of the origin's tools stand in headers too, for clients without a handshake: learned from the lists that
//! pass, and asked for where a call is refused because nobody has asked yet.

use std::collections::HashMap;
use std::sync::Arc;

use covenant_gate::registry::{HeaderArgument, header_arguments};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::exchange::{Asked, Desk};
use super::reading::Reading;
use super::road::Headers;
use super::room::Load;
use super::sorting;
use super::trouble::Trouble;
use crate::era::{Era, MODERN};
use crate::headers::encoded;
use crate::http::{METHOD, VERSION};
use crate::message::{Id, Incoming, peek};
use crate::params::Params;
use crate::reply::HEADER_MISMATCH;

/// The most tools that are remembered.
const MOST: usize = 4096;

/// What is known of the origin's tools: those that have such arguments.
#[derive(Debug, Default)]
pub(super) struct Marks(Mutex<HashMap<String, Box<[HeaderArgument]>>>);

#[derive(Deserialize)]
struct Listed {
    tools: Vec<Spec>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    name: String,
    #[serde(default)]
    input_schema: Value,
}

impl Marks {
    /// Remembers what a list says.
    pub(super) fn learn(&self, result: Option<&RawValue>) {
        let listed = result.and_then(|raw| serde_json::from_str::<Listed>(raw.get()).ok());
        let mut known = self.0.lock();
        for Spec { name, input_schema } in listed.into_iter().flat_map(|listed| listed.tools) {
            let marked = header_arguments(&input_schema);
            if marked.is_empty() {
                known.remove(&name);
            } else if known.len() < MOST {
                known.insert(name, marked);
            }
        }
    }

    /// The headers for the arguments of that call.
    pub(super) fn of(&self, asked: &Asked) -> Headers {
        let Some(name) = asked.subject.as_deref().filter(|_| asked.is_call()) else { return Headers::new() };
        let Some(marked) = self.0.lock().get(name).cloned() else { return Headers::new() };
        let Some(Incoming::Request(request)) = peek(&asked.line) else { return Headers::new() };
        let arguments =
            Params::read(request.params).and_then(|params| params.arguments()).unwrap_or_default();
        let header = |argument: &HeaderArgument| {
            let text = argument.text(&arguments)?;
            Some((format!("mcp-param-{}", argument.header), encoded(&text).into_owned()))
        };
        marked.iter().filter_map(header).collect()
    }

    /// Whether a call was refused for its headers, which we may know better after a look at the list.
    pub(super) fn are_wanted(asked: &Asked, answer: Result<&Load, &Trouble>) -> bool {
        let error = match answer {
            Ok(load) => sorting::error(&load.bytes),
            Err(Trouble::Error(error)) => Some(error.clone()),
            Err(_) => None,
        };
        let error = error.and_then(|error| serde_json::from_str::<Value>(&error).ok());
        let code = error.as_ref().and_then(|error| error.get("code")).and_then(Value::as_i64);
        asked.is_call() && code == Some(i64::from(HEADER_MISMATCH))
    }

    /// Asks for the list in the name of who called; whether more is known now.
    pub(super) async fn learn_for(&self, desk: &Arc<Desk>, asked: &Asked) -> bool {
        let before = self.of(asked);
        if let Some(list) = listing(desk, asked).await {
            self.learn(sorting::result(&list.bytes));
        }
        self.of(asked) != before
    }
}

async fn listing(desk: &Arc<Desk>, asked: &Asked) -> Option<Load> {
    let message: Value = serde_json::from_slice(&asked.line).ok()?;
    let meta = message.pointer("/params/_meta").filter(|_| asked.era == Era::Modern)?;
    let id = Id::of_the_bridge();
    let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{"_meta":{meta}}}}}"#);
    let headers = [(VERSION, MODERN), (METHOD, "tools/list")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let reply = desk.road.post(line.into_bytes(), &headers, true).await.ok()?;
    Reading { desk, id: &id, lasting: false }.answer(reply, None).await.ok()
}
