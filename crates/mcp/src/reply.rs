//! What a request is answered with: the one table from refusals to JSON-RPC errors, and the bytes of an answer.

use std::time::Duration;

use std::sync::{Arc, LazyLock};

use covenant_gate::{CallError, Redacted, Refusal};
use covenant_model::VERSION;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::era::Era;
use crate::message::Id;

/// Not JSON.
pub const PARSE_ERROR: i32 = -32700;
/// JSON, and no message of the protocol.
pub const INVALID_REQUEST: i32 = -32600;
/// Nothing we do.
pub const METHOD_NOT_FOUND: i32 = -32601;
/// Something we do, asked for wrongly: unknown tool, bad arguments.
pub const INVALID_PARAMS: i32 = -32602;
/// Something broke.
pub const INTERNAL_ERROR: i32 = -32603;
/// No such resource, in the legacy era; since 2026 that is [`INVALID_PARAMS`].
pub const RESOURCE_NOT_FOUND: i32 = -32002;
/// A revision of the protocol we do not speak.
pub const UNSUPPORTED_VERSION: i32 = -32022;
/// A header says something other than the body.
pub const HEADER_MISMATCH: i32 = -32020;
/// The request needs something of the client that it did not declare.
pub const MISSING_CAPABILITY: i32 = -32021;
/// The client's person must do something on a page first; in the legacy era, and only for clients that can send them there.
pub const URL_REQUIRED: i32 = -32042;
/// Too many requests.
pub const RATE_LIMITED: i32 = -32000;
/// No valid credential.
pub const UNAUTHENTICATED: i32 = -31000;
/// No grant covers the call.
pub const NOT_GRANTED: i32 = -31001;
/// Only the operator may do that.
pub const NOT_OPERATOR: i32 = -31002;
/// A person must decide first.
pub const PENDING_APPROVAL: i32 = -31003;
/// Too many calls wait for a person.
pub const APPROVALS_FULL: i32 = -31004;
/// The tool did not finish in time.
pub const TIMED_OUT: i32 = -31005;
/// The call was taken back, by someone other than the client that would read this.
pub const CANCELLED: i32 = -31006;
/// A person said no to this very call.
pub const APPROVAL_REJECTED: i32 = -31007;
/// Calls within calls went too deep.
pub const TOO_DEEP: i32 = -31008;
/// An agent has used what it may in an hour.
pub const OVER_BUDGET: i32 = -31009;
/// Too many intents wait for a place.
pub const QUEUE_FULL: i32 = -31010;

/// An error as JSON-RPC writes it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RpcError {
    /// What kind, for programs.
    pub code: i32,
    /// What happened and what to do, for people and models.
    pub message: String,
    /// Details, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl RpcError {
    /// An error without details.
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Not JSON.
    pub fn parse(reason: impl std::fmt::Display) -> Self {
        Self::new(PARSE_ERROR, format!("Parse error: {reason}"))
    }

    /// JSON, and no message of the protocol.
    pub fn invalid_request(reason: impl std::fmt::Display) -> Self {
        Self::new(INVALID_REQUEST, format!("Invalid request: {reason}"))
    }

    /// Nothing we do.
    pub fn method_not_found(method: &str) -> Self {
        Self::new(METHOD_NOT_FOUND, format!("Method not found: `{method}`"))
    }

    /// Something we do, asked for wrongly.
    pub fn invalid_params(reason: impl std::fmt::Display) -> Self {
        Self::new(INVALID_PARAMS, format!("Invalid params: {reason}"))
    }

    fn with(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }
}

/// Every refusal, as JSON-RPC says it. `docs/errors.md` has the same table for people.
impl From<Refusal> for RpcError {
    fn from(refusal: Refusal) -> Self {
        let message = refusal.to_string();
        match refusal {
            Refusal::Unauthenticated => Self::new(UNAUTHENTICATED, message),
            Refusal::RateLimited { wait } => {
                Self::new(RATE_LIMITED, message).with(json!({ "retry_after_ms": millis(wait) }))
            }
            Refusal::OverBudget { wait, .. } => {
                Self::new(OVER_BUDGET, message).with(json!({ "retry_after_ms": millis(wait) }))
            }
            Refusal::QueueFull { .. } => Self::new(QUEUE_FULL, message),
            Refusal::UnknownTool { .. } | Refusal::NotFound { .. } | Refusal::InvalidArguments { .. } => {
                Self::invalid_params(message)
            }
            Refusal::NotGranted { action, principal, .. } => {
                let command = format!("covenant capabilities grant {action} --to {principal}");
                Self::new(NOT_GRANTED, message).with(json!({ "action": action, "command": command }))
            }
            Refusal::NotInManifest { action, .. } => {
                Self::new(NOT_GRANTED, message).with(json!({ "action": action }))
            }
            Refusal::PendingApproval { id, page: None, .. } => {
                Self::new(PENDING_APPROVAL, message).with(json!({ "approval_id": id.to_string() }))
            }
            Refusal::PendingApproval { id, page: Some(url), .. } => {
                let id = id.to_string();
                let text = format!("{message}; this page says how to decide");
                let told = json!({ "mode": "url", "elicitationId": id, "url": url, "message": text });
                Self::new(URL_REQUIRED, message).with(json!({ "approval_id": id, "elicitations": [told] }))
            }
            Refusal::ApprovalsFull { .. } => Self::new(APPROVALS_FULL, message),
            Refusal::ApprovalRejected { id, .. } => {
                Self::new(APPROVAL_REJECTED, message).with(json!({ "approval_id": id.to_string() }))
            }
            Refusal::TooDeep { .. } => Self::new(TOO_DEEP, message),
            Refusal::TimedOut { .. } => Self::new(TIMED_OUT, message),
            Refusal::Cancelled { .. } => Self::new(CANCELLED, message),
            Refusal::ClientCannot { kind, .. } => Self::new(MISSING_CAPABILITY, message)
                .with(json!({ "requiredCapabilities": { kind.capability(): {} } })),
            Refusal::NotOperator { .. } | Refusal::NotAdmin { .. } => Self::new(NOT_OPERATOR, message),
        }
    }
}

fn millis(wait: Duration) -> u64 {
    u64::try_from(wait.as_micros().div_ceil(1000)).unwrap_or(u64::MAX)
}

impl From<CallError> for RpcError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Refused(refusal) => refusal.into(),
            CallError::Fault(fault) => {
                tracing::error!(target: "mcp", cause = fault.cause(), "a request failed inside");
                Self::new(INTERNAL_ERROR, fault.to_string())
            }
        }
    }
}

/// How long a client may keep a result of the modern era. Ours depend on who asks, so none may be shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// The protocol has no hint for this kind of result.
    Unsaid,
    /// For that long, for this caller only.
    PrivateMillis(u32),
}

/// What an answer says.
#[derive(Debug)]
pub enum Body {
    /// A result out of the gate: a JSON object.
    Result(Redacted, Cache),
    /// A result of our own: a JSON object.
    Own(String, Cache),
    /// A list of specs under that member.
    Tools(Vec<Arc<RawValue>>),
    /// An error.
    Error(RpcError),
    /// Nothing is sent: the client took its request back.
    Silent,
}

/// The answer to one request.
#[derive(Debug)]
pub struct Answer {
    /// Which request.
    pub id: Id,
    /// In whose words.
    pub era: Era,
    /// What it says.
    pub body: Body,
}

/// Who we say we are.
pub(crate) static SERVER: LazyLock<String> =
    LazyLock::new(|| format!(r#"{{"name":"covenant","title":"Covenant","version":"{VERSION}"}}"#));

static SERVER_META: LazyLock<String> =
    LazyLock::new(|| format!(r#"{{"io.modelcontextprotocol/serverInfo":{}}}"#, *SERVER));

impl Answer {
    /// Writes the message, without a line end; nothing if nothing is to be sent.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match &self.body {
            Body::Silent => {}
            Body::Error(error) => encode_error(Some(&self.id), error, out),
            Body::Result(result, cache) => self.encode_result(result.json().get(), *cache, out),
            Body::Own(text, cache) => self.encode_result(text, *cache, out),
            Body::Tools(tools) => self.encode_tools(tools, out),
        }
    }

    fn begin(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
        out.extend_from_slice(self.id.as_json().as_bytes());
        out.extend_from_slice(br#","result":"#);
    }

    fn encode_result(&self, object: &str, cache: Cache, out: &mut Vec<u8>) {
        self.begin(out);
        let from = out.len();
        match self.era {
            Era::Legacy => out.extend_from_slice(object.as_bytes()),
            Era::Modern => splice(object, cache, out),
        }
        one_line(out, from);
        out.push(b'}');
    }

    fn encode_tools(&self, tools: &[Arc<RawValue>], out: &mut Vec<u8>) {
        self.begin(out);
        out.push(b'{');
        if self.era == Era::Modern {
            members("{}", Cache::PrivateMillis(0), out);
        }
        out.extend_from_slice(br#""tools":["#);
        for (at, tool) in tools.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            out.extend_from_slice(tool.get().as_bytes());
        }
        out.extend_from_slice(b"]}}");
    }
}

/// Writes an error message, without a line end; `None` is an id that could not be read.
pub fn encode_error(id: Option<&Id>, error: &RpcError, out: &mut Vec<u8>) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    out.extend_from_slice(id.map_or("null", Id::as_json).as_bytes());
    out.extend_from_slice(br#","error":"#);
    let text = serde_json::to_string(error);
    out.extend_from_slice(
        text.as_deref().unwrap_or(r#"{"code":-32603,"message":"Internal error"}"#).as_bytes(),
    );
    out.push(b'}');
}

/// Writes an object with what the modern era adds to it, and does not parse it.
fn splice(object: &str, cache: Cache, out: &mut Vec<u8>) {
    out.push(b'{');
    members(object, cache, out);
    let rest = object.trim_start().strip_prefix('{').unwrap_or(object).trim_start();
    if rest.starts_with('}') && out.last() == Some(&b',') {
        out.pop();
    }
    out.extend_from_slice(rest.as_bytes());
}

/// Writes those members of a modern result that the object does not have itself, each followed by a comma.
fn members(object: &str, cache: Cache, out: &mut Vec<u8>) {
    let mut add = |member: &str, value: &str| {
        if !has(object, member) {
            out.extend_from_slice(format!(r#""{member}":{value},"#).as_bytes());
        }
    };
    add("resultType", r#""complete""#);
    add("_meta", &SERVER_META);
    if let Cache::PrivateMillis(millis) = cache {
        add("ttlMs", &millis.to_string());
        add("cacheScope", r#""private""#);
    }
}

/// Whether an object has that member at its top. Only an object that holds the text anywhere is looked into.
fn has(object: &str, member: &str) -> bool {
    memchr::memmem::find(object.as_bytes(), member.as_bytes()).is_some()
        && serde_json::from_str::<std::collections::BTreeMap<String, &RawValue>>(object)
            .is_ok_and(|members| members.contains_key(member))
}

/// A result that was written over several lines by someone else becomes one: line ends stand only between its parts.
pub(crate) fn one_line(out: &mut [u8], from: usize) {
    let written = out.get_mut(from..).unwrap_or_default();
    if memchr::memchr2(b'\n', b'\r', written).is_some() {
        for byte in written.iter_mut().filter(|byte| matches!(**byte, b'\n' | b'\r')) {
            *byte = b' ';
        }
    }
}

#[cfg(test)]
mod tests;
