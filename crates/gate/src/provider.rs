//! What besides tools can be offered to MCP clients: resources, prompts and completions. Ports, as `Tool` is one.
//!
//! A provider answers in the protocol's own JSON. The gate decides who may see and read what
//! (`tool.resource.<server>`, `tool.prompt.<server>__<name>`), redacts what comes back and records it.

use std::future::Future;
use std::pin::Pin;

use serde_json::{Map, Value};

use crate::context::Context;
use crate::inquiry::Unanswered;

/// An answer of a provider: the members of a result, or a sentence saying why there is none.
pub type Provided<'a> = Pin<Box<dyn Future<Output = Result<Map<String, Value>, NotProvided>> + Send + 'a>>;

/// Why a provider gave no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NotProvided {
    /// There is no such resource or prompt.
    #[error("{0}")]
    NotFound(String),
    /// It is there and could not be had.
    #[error("{0}")]
    Failed(String),
    /// It needs an answer of the client first.
    #[error("an answer of the client is needed first")]
    Unanswered(Unanswered),
}

impl From<Unanswered> for NotProvided {
    fn from(unanswered: Unanswered) -> Self {
        Self::Unanswered(unanswered)
    }
}

/// A source of resources, named as capabilities name it.
pub trait Resources: Send + Sync + 'static {
    /// The name in `tool.resource.<name>`.
    fn name(&self) -> &str;
    /// The `resources` members of its list.
    fn list(&self) -> Vec<Value>;
    /// The `resourceTemplates` members of its list.
    fn templates(&self) -> Vec<Value>;
    /// Whether that URI is one of its own.
    fn serves(&self, uri: &str) -> bool;
    /// Whether it tells when one of them changes, with [`crate::Gate::resource_updated`].
    fn tells_updates(&self) -> bool {
        false
    }
    /// Reads one: the members of a `resources/read` result.
    fn read<'a>(&'a self, uri: &'a str, context: &'a Context) -> Provided<'a>;
}

/// A source of prompts.
pub trait Prompts: Send + Sync + 'static {
    /// The `prompts` members of its list; each one's `name` stands in `tool.prompt.<name>`.
    fn list(&self) -> Vec<Value>;
    /// Gets one: the members of a `prompts/get` result.
    fn get<'a>(
        &'a self,
        name: &'a str,
        arguments: &'a Map<String, Value>,
        context: &'a Context,
    ) -> Provided<'a>;
}

/// A source of completions for arguments of prompts and resource templates.
pub trait Completions: Send + Sync + 'static {
    /// Completes: the members of a `completion/complete` result, for its whole `params`.
    fn complete<'a>(&'a self, params: &'a Map<String, Value>, context: &'a Context) -> Provided<'a>;
}
