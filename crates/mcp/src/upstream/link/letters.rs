//! What we write to servers: every letter of ours, in the words of its era.

use std::sync::LazyLock;

use covenant_model::VERSION;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::ToolCall;
use crate::era::{Era, MODERN, NEWEST_LEGACY};
use crate::headers::encoded;
use crate::upstream::wire::Letter;

#[derive(Serialize)]
struct Message<P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    method: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<P>,
}

/// Who we say we are.
#[derive(Serialize, Clone, Copy)]
struct Client {
    name: &'static str,
    version: &'static str,
}

const CLIENT: Client = Client { name: "covenant", version: VERSION };

/// What we can be asked for: nothing yet.
#[derive(Serialize, Clone, Copy)]
struct Capabilities {}

/// What a request says of itself.
#[derive(Serialize, Default)]
struct Meta<'a> {
    #[serde(rename = "progressToken", skip_serializing_if = "Option::is_none")]
    progress_token: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    traceparent: Option<&'a str>,
    #[serde(rename = "io.modelcontextprotocol/protocolVersion", skip_serializing_if = "Option::is_none")]
    version: Option<&'static str>,
    #[serde(rename = "io.modelcontextprotocol/clientCapabilities", skip_serializing_if = "Option::is_none")]
    capabilities: Option<Capabilities>,
    #[serde(rename = "io.modelcontextprotocol/clientInfo", skip_serializing_if = "Option::is_none")]
    client: Option<Client>,
}

impl Meta<'_> {
    fn of(era: Era) -> Self {
        match era {
            Era::Legacy => Self::default(),
            Era::Modern => Self {
                version: Some(MODERN),
                capabilities: Some(Capabilities {}),
                client: Some(CLIENT),
                ..Self::default()
            },
        }
    }

    fn is_empty(&self) -> bool {
        self.progress_token.is_none() && self.traceparent.is_none() && self.version.is_none()
    }
}

#[derive(Serialize)]
struct Initialize {
    #[serde(rename = "protocolVersion")]
    version: &'static str,
    capabilities: Capabilities,
    #[serde(rename = "clientInfo")]
    client: Client,
}

#[derive(Serialize, Default)]
struct Simple<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notifications: Option<&'a RawValue>,
    #[serde(rename = "requestId", skip_serializing_if = "Option::is_none")]
    request_id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(rename = "_meta", skip_serializing_if = "Meta::is_empty")]
    meta: Meta<'a>,
}

#[derive(Serialize)]
struct Call<'a> {
    name: &'a str,
    arguments: &'a Map<String, Value>,
    #[serde(rename = "_meta", skip_serializing_if = "Meta::is_empty")]
    meta: Meta<'a>,
}

fn letter(id: Option<u64>, method: &'static str, params: Option<impl Serialize>) -> Letter {
    let mut body = Vec::with_capacity(256);
    // Texts, numbers and maps of them can always be written.
    let _ = serde_json::to_writer(&mut body, &Message { jsonrpc: "2.0", id, method, params });
    Letter { id, method, name: None, arguments: Vec::new(), body }
}

pub(super) fn initialize(id: u64) -> Letter {
    let params = Initialize { version: NEWEST_LEGACY, capabilities: Capabilities {}, client: CLIENT };
    letter(Some(id), "initialize", Some(params))
}

pub(super) fn initialized() -> Letter {
    letter(None, "notifications/initialized", None::<()>)
}

pub(super) fn discover(id: u64) -> Letter {
    letter(Some(id), "server/discover", Some(Simple { meta: Meta::of(Era::Modern), ..Simple::default() }))
}

pub(super) fn list_tools(id: u64, era: Era, cursor: Option<&RawValue>) -> Letter {
    letter(Some(id), "tools/list", Some(Simple { cursor, meta: Meta::of(era), ..Simple::default() }))
}

/// Wants to hear when the tools change.
pub(super) fn listen(id: u64) -> Letter {
    static WANTED: LazyLock<Option<Box<RawValue>>> =
        LazyLock::new(|| RawValue::from_string(r#"{"toolsListChanged":true}"#.to_owned()).ok());
    let params =
        Simple { notifications: WANTED.as_deref(), meta: Meta::of(Era::Modern), ..Simple::default() };
    letter(Some(id), "subscriptions/listen", Some(params))
}

/// Takes the request with that id back.
pub(super) fn cancelled(era: Era, request: u64, reason: &str) -> Letter {
    let params =
        Simple { request_id: Some(request), reason: Some(reason), meta: Meta::of(era), ..Simple::default() };
    letter(None, "notifications/cancelled", Some(params))
}

/// Calls a tool. Nothing of what the caller says of itself is in it but the trace.
pub(super) fn call(id: u64, era: Era, call: &ToolCall<'_>) -> Letter {
    let traceparent = call.context.traceparent();
    let meta = Meta {
        // Also where nobody listens: who gets further may take longer than who is silent.
        progress_token: Some(id),
        traceparent: traceparent.as_deref(),
        ..Meta::of(era)
    };
    let params = Call { name: call.tool, arguments: call.arguments, meta };
    let mut letter = letter(Some(id), "tools/call", Some(params));
    letter.name = Some(call.tool.to_owned());
    if era == Era::Modern {
        let text = |argument: &covenant_gate::registry::HeaderArgument| {
            let text = argument.text(call.arguments)?;
            Some((argument.header.clone(), encoded(&text).into_owned()))
        };
        letter.arguments = call.headers.iter().filter_map(text).collect();
    }
    letter
}
