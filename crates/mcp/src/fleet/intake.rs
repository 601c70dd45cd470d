//! What is taken of a server's list: which tools are offered, what they are called, and why some are refused.

use std::collections::HashMap;
use std::sync::Arc;

use covenant_gate::Prepared;
use covenant_gate::registry::{NotRegistered, header_arguments};
use covenant_model::server::{RefusedTool, built_in, exposed, offered};
use covenant_model::tool::ToolName;
use serde_json::Value;
use serde_json::value::RawValue;

use super::server::Server;
use super::tool::ExternalTool;
use crate::members::Members;
use crate::upstream::scrub::Scrub;

/// The most bytes of one tool's definition.
const MOST_BYTES: usize = 256 * 1024;

/// The most bytes that the patterns of all its tools take, compiled. Those of further tools are left to the server.
const PATTERNS: usize = 8 * 1024 * 1024;

/// The most characters of a tool's name that are repeated to people.
const SHOWN: usize = 200;

/// The most characters of why it is refused.
const REASON: usize = 1000;

/// One tool that is offered.
#[derive(Clone)]
pub(super) struct Taken {
    pub(super) tool: Arc<ExternalTool>,
    pub(super) prepared: Prepared,
}

/// What is taken of a list, in its order.
#[derive(Default)]
pub(super) struct Intake {
    pub(super) tools: Vec<Taken>,
    pub(super) refused: Vec<RefusedTool>,
}

impl Intake {
    /// Takes a list. What is as it was before is not made anew.
    pub(super) fn of(server: &Arc<Server>, list: &[Box<RawValue>], before: &[Taken]) -> Self {
        let before: HashMap<&str, &Taken> = before.iter().map(|taken| (&*taken.tool.own, taken)).collect();
        let (mut names, scrub) = (HashMap::new(), &server.shared.scrub);
        let mut offers = Vec::new();
        for raw in list {
            let read = match Read::of(raw, server) {
                Ok(Some(read)) => read,
                Ok(None) => continue,
                Err(refused) => {
                    offers.push(Err(refused));
                    continue;
                }
            };
            if let Some(other) = names.get(&read.name) {
                let reason = format!("another of its tools, `{other}`, is called `{}` too", read.name);
                offers.push(Err(refusal(scrub, &read.own, &reason)));
                continue;
            }
            names.insert(read.name.clone(), shown(scrub, &read.own));
            let same = before.get(&*read.own).filter(|taken| taken.tool.json.get() == read.json).copied();
            offers.push(Ok((read, same)));
        }
        let stays = offers.iter().flatten().filter_map(|(_, same)| Some(same.as_ref()?.prepared.patterns()));
        let mut room = PATTERNS.saturating_sub(stays.sum());
        let mut intake = Self::default();
        for offer in offers {
            let taken = offer.and_then(|(read, same)| match same {
                Some(taken) => Ok(taken.clone()),
                None => read.prepare(server, &mut room),
            });
            match taken {
                Ok(taken) => intake.tools.push(taken),
                Err(refused) => intake.refused.push(refused),
            }
        }
        intake
    }
}

/// A tool that was read.
struct Read {
    own: String,
    name: ToolName,
    json: String,
}

impl Read {
    /// Reads one; nothing where it is not offered.
    fn of(raw: &RawValue, server: &Server) -> Result<Option<Self>, RefusedTool> {
        let refused = |own: &str, reason: &str| refusal(&server.shared.scrub, own, reason);
        let members: Members<'_> = match serde_json::from_str(raw.get()) {
            Ok(members) => members,
            Err(error) => return Err(refused("?", &format!("its definition is not an object: {error}"))),
        };
        let own: Option<String> = members.get("name").and_then(|name| serde_json::from_str(name.get()).ok());
        let Some(own) = own.filter(|own| !own.is_empty()) else {
            return Err(refused("?", "it has no name"));
        };
        let plan = &server.plan;
        if !offered(&plan.include, &plan.exclude, &own) {
            return Ok(None);
        }
        if raw.get().len() > MOST_BYTES {
            let reason =
                format!("its definition has {} bytes, and {MOST_BYTES} are the most", raw.get().len());
            return Err(refused(&own, &reason));
        }
        let schema = members.get("inputSchema").map(RawValue::get);
        if schema.is_some_and(|schema| !schema.starts_with('{')) {
            return Err(refused(&own, "its inputSchema is not an object"));
        }
        // A name is called, granted and recorded as it is, and a long one is cut: nothing could be taken out of it.
        if server.shared.scrub.finds(&own) {
            return Err(refused(&own, "its name holds a secret: the server must call it something else"));
        }
        let name = exposed(&plan.prefix, &own);
        let json = written(&members, &name);
        Ok(Some(Self { own, name, json }))
    }

    fn prepare(self, server: &Arc<Server>, room: &mut usize) -> Result<Taken, RefusedTool> {
        let scrub = &server.shared.scrub;
        let refused = |reason: String| refusal(scrub, &self.own, &reason);
        let json: Arc<RawValue> =
            RawValue::from_string(self.json).map_err(|error| refused(error.to_string()))?.into();
        let value: Value = serde_json::from_str(json.get()).map_err(|error| refused(error.to_string()))?;
        let hint = |hint: &str| value.pointer(&format!("/annotations/{hint}")) == Some(&Value::Bool(true));
        let schema = value.get("inputSchema").unwrap_or(&Value::Null);
        let tool = Arc::new(ExternalTool {
            server: Arc::clone(server),
            own: self.own.clone(),
            name: self.name,
            headers: header_arguments(schema),
            json,
            repeatable: hint("readOnlyHint") || hint("idempotentHint"),
        });
        let prepared = Prepared::within(Arc::clone(&tool) as _, *room).map_err(|error| match error {
            NotRegistered::Schema { reason, .. } => {
                refused(format!("its input schema cannot be used: {reason}"))
            }
            NotRegistered::Taken(name) => refused(built_in(name.as_str())),
        })?;
        *room = room.saturating_sub(prepared.patterns());
        Ok(Taken { tool, prepared })
    }
}

/// Why that tool is not offered.
pub(super) fn refusal(scrub: &Scrub, own: &str, reason: &str) -> RefusedTool {
    RefusedTool { tool: shown(scrub, own), reason: scrub.shown(reason, REASON) }
}

fn shown(scrub: &Scrub, own: &str) -> String {
    scrub.quoted(own, SHOWN)
}

/// The same with another name, in one line, and with a schema where there was none. Of members that are there twice the
/// last one counts.
fn written(members: &Members<'_>, name: &ToolName) -> String {
    let mut json = format!(r#"{{"name":"{name}""#);
    if members.get("inputSchema").is_none() {
        json.push_str(r#","inputSchema":{"type":"object"}"#);
    }
    for (at, (member, value)) in members.0.iter().enumerate() {
        let again = members.0.iter().skip(at + 1).any(|(later, _)| later == member);
        if member != "name" && !again {
            json.push(',');
            json.push_str(&Value::from(member.as_str()).to_string());
            json.push(':');
            json.push_str(value.get());
        }
    }
    json.push('}');
    // A line end can only stand between the parts of a JSON text.
    json.replace(['\n', '\r'], " ")
}
