//! What a tool may ask of the client that called it while it runs: a person's answer, a model's text, its roots.
//!
//! A client of the handshake's era is asked at once and answers while the call runs. A stateless one is told what is
//! missing and repeats the call with the answers; the tool then runs anew and finds them. A tool is written once for
//! both: it asks before it acts, and hands an [`Unanswered`] back as its result.

use std::future::Future;
use std::pin::Pin;

use serde_json::{Map, Value, json};

/// What can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Something only a person knows.
    Elicitation,
    /// A text by the client's model.
    Sampling,
    /// The directories the client works in.
    Roots,
}

impl Kind {
    /// The client capability that says it can be asked.
    pub fn capability(self) -> &'static str {
        match self {
            Self::Elicitation => "elicitation",
            Self::Sampling => "sampling",
            Self::Roots => "roots",
        }
    }

    /// The protocol's method.
    pub fn method(self) -> &'static str {
        match self {
            Self::Elicitation => "elicitation/create",
            Self::Sampling => "sampling/createMessage",
            Self::Roots => "roots/list",
        }
    }
}

/// What a client said it can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Kinds {
    /// Its person.
    pub elicitation: bool,
    /// Its model.
    pub sampling: bool,
    /// Its directories.
    pub roots: bool,
}

impl Kinds {
    /// Reads a client's capabilities: a member that is an object is one it has.
    pub fn of(capabilities: &Map<String, Value>) -> Self {
        let has = |kind: Kind| capabilities.get(kind.capability()).is_some_and(Value::is_object);
        Self { elicitation: has(Kind::Elicitation), sampling: has(Kind::Sampling), roots: has(Kind::Roots) }
    }

    /// Whether that is among them.
    pub fn has(self, kind: Kind) -> bool {
        match kind {
            Kind::Elicitation => self.elicitation,
            Kind::Sampling => self.sampling,
            Kind::Roots => self.roots,
        }
    }
}

/// One question, in the protocol's words.
#[derive(Debug, Clone, PartialEq)]
pub struct Inquiry {
    pub(crate) kind: Kind,
    pub(crate) params: Value,
}

impl Inquiry {
    /// Asks the person: the `params` of `elicitation/create`.
    pub fn elicit(params: Value) -> Self {
        Self { kind: Kind::Elicitation, params }
    }

    /// Asks the client's model: the `params` of `sampling/createMessage`.
    pub fn sample(params: Value) -> Self {
        Self { kind: Kind::Sampling, params }
    }

    /// Asks for the client's roots.
    pub fn roots() -> Self {
        Self { kind: Kind::Roots, params: json!({}) }
    }

    /// What it asks for.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The `params` of the protocol's request.
    pub fn params(&self) -> &Value {
        &self.params
    }
}

/// An answer on its way: the result of the request, or a sentence that says why there is none.
pub type Asking<'a> = Pin<Box<dyn Future<Output = Result<Value, String>> + Send + 'a>>;

/// A client that answers while the call runs. Faces implement it; what arrives is redacted.
pub trait Client: Send + Sync {
    /// What it said it can be asked for.
    fn kinds(&self) -> Kinds;
    /// Asks it, and waits.
    fn ask<'a>(&'a self, inquiry: &'a Inquiry) -> Asking<'a>;
}

/// A call of a client that repeats it with answers: what it can be asked for, and what it brings back.
#[derive(Debug, Clone, Default)]
pub struct Round {
    /// What it said it can be asked for.
    pub kinds: Kinds,
    /// The answers, by the key they were asked under.
    pub responses: Map<String, Value>,
    /// What we gave it to bring back, as it came.
    pub state: Option<String>,
}

/// Why a question has no answer yet. A tool returns it as its result.
#[derive(Debug, Clone, PartialEq)]
pub struct Unanswered {
    pub(crate) why: Why,
    pub(crate) remember: Option<Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Why {
    /// The client did not say it can be asked for that.
    Unsupported(Kind),
    /// The client will repeat the call with the answer.
    Later,
    /// It was asked and did not answer.
    Failed(String),
}

impl Unanswered {
    pub(crate) fn because(why: Why) -> Self {
        Self { why, remember: None }
    }

    /// Keeps a value for the round in which the answer comes; the client carries it, and cannot read it.
    pub fn remembering(mut self, value: Value) -> Self {
        self.remember = Some(value);
        self
    }

    /// Whether the answer is still to come.
    pub fn comes_later(&self) -> bool {
        self.why == Why::Later
    }
}
