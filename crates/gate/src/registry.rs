//! What can be called, by name: an immutable snapshot, swapped whole. Looking up is private to the gate.

mod headers;
pub(crate) mod schema;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use covenant_model::tool::{ToolName, ToolSpec};
use jsonschema::Validator;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use crate::answering::Answering;
use crate::limit::Bucket;
use crate::meter::{Calls, Kind};
use crate::tool::Tool;

pub use headers::{HeaderArgument, of as header_arguments};

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
    /// How many bytes the patterns of a schema of somebody else take in it, at most.
    patterns: usize,
    /// Whether somebody else wrote its schema.
    pub(crate) foreign: bool,
    pub(crate) required: Vec<String>,
    /// What everyone but the operator must hold besides.
    pub(crate) dispatch: Option<String>,
    /// What is looked up and noted, and decides nothing.
    pub(crate) optional: Vec<String>,
    pub(crate) agent_id: String,
    /// How it answers where a call of it comes to nothing, if it does so itself.
    pub(crate) answering: Option<Arc<dyn Answering>>,
    pub(crate) definition: [u8; 32],
    pub(crate) limit: Duration,
    pub(crate) bucket: Bucket,
    pub(crate) headers: Box<[HeaderArgument]>,
    pub(crate) kind: Kind,
    /// Set once it is known whether an older tool of that name has counted already.
    calls: OnceLock<Arc<Calls>>,
}

/// A tool whose schema is compiled, ready to be taken. Compiling takes time; taking does not.
#[derive(Clone)]
pub struct Prepared(Arc<Entry>);

impl Prepared {
    /// Compiles a tool's schema. A `$ref` to elsewhere is refused, not fetched.
    pub fn new(tool: Arc<dyn Tool>) -> Result<Self, NotRegistered> {
        Self::within(tool, usize::MAX)
    }

    /// The same, with so many bytes for the patterns of a schema that somebody else wrote. Those for which there is no
    /// room are not checked here.
    pub fn within(tool: Arc<dyn Tool>, room: usize) -> Result<Self, NotRegistered> {
        Entry::of(tool, room).map(|entry| Self(Arc::new(entry)))
    }

    /// How much of such room it took, at most.
    pub fn patterns(&self) -> usize {
        self.0.patterns
    }

    /// What it will be called by.
    pub fn name(&self) -> &ToolName {
        &self.0.spec.name
    }

    /// Whether both are one and the same.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Entry {
    fn of(tool: Arc<dyn Tool>, room: usize) -> Result<Self, NotRegistered> {
        let spec = tool.spec();
        let bad = |reason: String| NotRegistered::Schema { name: spec.name.clone(), reason };
        let foreign = tool.kind() == "external";
        let (validator, patterns) = if foreign {
            schema::compile_foreign(&spec.input_schema, room).map_err(bad)?
        } else {
            (schema::compile(&spec.input_schema).map_err(bad)?, 0)
        };
        let json = match tool.listed() {
            Some(json) => json,
            None => serde_json::value::to_raw_value(&spec).map_err(|error| bad(error.to_string()))?.into(),
        };
        Ok(Self {
            required: tool.required(),
            dispatch: tool.dispatch(),
            optional: tool.optional(),
            agent_id: tool.agent_id(),
            answering: tool.answering(),
            definition: Sha256::digest(json.get().as_bytes()).into(),
            limit: tool.limit(),
            json,
            validator,
            patterns,
            foreign,
            bucket: Bucket::default(),
            headers: headers::of(&spec.input_schema),
            kind: Kind::of_tool(tool.kind()),
            calls: OnceLock::new(),
            spec,
            tool,
        })
    }

    /// How often it was called.
    pub(crate) fn calls(&self) -> &Arc<Calls> {
        self.calls.get_or_init(Arc::default)
    }
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

    /// Who answers for tools of that name, although there is none.
    pub(crate) fn answering(&self, name: &str) -> Option<Arc<dyn Answering>> {
        let mut all = self.entries.values().filter_map(|entry| entry.answering.as_ref());
        all.find(|answering| answering.is_for(name)).cloned()
    }

    /// Adds a tool; its schema is compiled now, and never again. A `$ref` to elsewhere is refused, not fetched.
    pub fn register(&mut self, tool: Arc<dyn Tool>) -> Result<(), NotRegistered> {
        self.take(Prepared::new(tool)?)
    }

    /// Adds a tool that was prepared.
    pub fn take(&mut self, prepared: Prepared) -> Result<(), NotRegistered> {
        let name = prepared.name().clone();
        if self.entries.contains_key(&name) {
            return Err(NotRegistered::Taken(name));
        }
        self.entries.insert(name, prepared.0);
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
    pub(crate) fn count_on_from(&self, older: &Self) {
        for (name, entry) in &self.entries {
            if let Some(before) = older.entries.get(name).filter(|before| !Arc::ptr_eq(before, entry)) {
                // One that was there before and comes back has its own already.
                let _ = entry.calls.set(Arc::clone(before.calls()));
            }
        }
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.values()
    }
}
