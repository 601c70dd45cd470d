//! What can be called, by name: an immutable snapshot, swapped whole. Looking up is private to the gate.

mod headers;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use covenant_model::tool::{ToolName, ToolSpec};
use jsonschema::Validator;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use crate::limit::Bucket;
use crate::meter::{Calls, Kind};
use crate::tool::Tool;

pub use headers::HeaderArgument;

/// All tools, in the order of their names.
#[derive(Default)]
pub struct ToolRegistry {
    entries: BTreeMap<ToolName, Arc<Entry>>,
}

/// A tool and everything that is worked out once when it is registered.
pub(crate) struct Entry {
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) spec: ToolSpec,
    pub(crate) json: Arc<RawValue>,
    pub(crate) validator: Validator,
    pub(crate) required: Vec<String>,
    pub(crate) agent_id: String,
    pub(crate) definition: [u8; 32],
    pub(crate) limit: Duration,
    pub(crate) bucket: Bucket,
    pub(crate) headers: Box<[HeaderArgument]>,
    pub(crate) kind: Kind,
    pub(crate) calls: Arc<Calls>,
}

/// Why a tool was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotRegistered {
    /// Another tool has that name.
    #[error("two tools are called `{0}`: rename one")]
    Taken(ToolName),
    /// Its schema is not one.
    #[error("the input schema of `{name}` cannot be used: {reason}")]
    Schema {
        /// Which tool.
        name: ToolName,
        /// Why.
        reason: String,
    },
}

impl ToolRegistry {
    /// The same without those tools. What stays is shared, not made again.
    pub fn without(&self, names: &BTreeSet<ToolName>) -> Self {
        let stays = self.entries.iter().filter(|(name, _)| !names.contains(*name));
        Self { entries: stays.map(|(name, entry)| (name.clone(), Arc::clone(entry))).collect() }
    }

    /// Adds a tool; its schema is compiled now, and never again. A `$ref` to elsewhere is refused, not fetched.
    pub fn register(&mut self, tool: Arc<dyn Tool>) -> Result<(), NotRegistered> {
        let spec = tool.spec();
        let bad = |reason: String| NotRegistered::Schema { name: spec.name.clone(), reason };
        let validator = jsonschema::draft202012::options()
            .should_validate_formats(false)
            .build(&spec.input_schema)
            .map_err(|error| bad(error.to_string()))?;
        let json = serde_json::value::to_raw_value(&spec).map_err(|error| bad(error.to_string()))?;
        if self.entries.contains_key(&spec.name) {
            return Err(NotRegistered::Taken(spec.name));
        }
        let entry = Entry {
            required: tool.required(),
            agent_id: tool.agent_id(),
            definition: Sha256::digest(json.get().as_bytes()).into(),
            limit: tool.limit(),
            json: json.into(),
            validator,
            bucket: Bucket::default(),
            headers: headers::of(&spec.input_schema),
            kind: Kind::of_tool(tool.kind()),
            calls: Arc::default(),
            spec: spec.clone(),
            tool,
        };
        self.entries.insert(spec.name, Arc::new(entry));
        Ok(())
    }

    /// The whole catalogue, in the order of names.
    pub fn list_specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.entries.values().map(|entry| &entry.spec)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Arc<Entry>> {
        let name: ToolName = name.parse().ok()?;
        self.entries.get(&name)
    }

    /// Goes on with the counters of tools of the same name.
    pub(crate) fn count_on_from(&mut self, older: &Self) {
        for (name, entry) in &mut self.entries {
            if let (Some(entry), Some(before)) = (Arc::get_mut(entry), older.entries.get(name)) {
                entry.calls = Arc::clone(&before.calls);
            }
        }
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.values()
    }
}
