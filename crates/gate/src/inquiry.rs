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
#[expect(clippy::struct_excessive_bools, reason = "each is one capability of the protocol")]
pub struct Kinds {
    /// Its person, by a form that it shows.
    pub form: bool,
    /// Its person, by a page that it sends them to.
    pub url: bool,
    /// Its model.
    pub sampling: bool,
    /// Its directories.
    pub roots: bool,
}

impl Kinds {
    /// Reads a client's capabilities: a member that is an object is one it has. Of the ways to its person it may name
    /// some; where it names none, it is the form.
    pub fn of(capabilities: &Map<String, Value>) -> Self {
        let member = |kind: Kind| capabilities.get(kind.capability()).and_then(Value::as_object);
        let person = member(Kind::Elicitation);
        let way = |name: &str| person.and_then(|ways| ways.get(name)).is_some_and(Value::is_object);
        let url = way("url");
        Self {
            form: way("form") || (person.is_some() && !url),
            url,
            sampling: member(Kind::Sampling).is_some(),
            roots: member(Kind::Roots).is_some(),
        }
    }

    /// Whether it can be asked that.
    pub fn can(self, inquiry: &Inquiry) -> bool {
        match inquiry.kind {
            Kind::Elicitation if inquiry.params.get("mode").is_some_and(|mode| mode == "url") => self.url,
            Kind::Elicitation => self.form,
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
    /// Sends it something whose answer nobody waits for, if it gets there.
    fn tell(&self, inquiry: &Inquiry);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_names_the_ways_to_its_person_or_means_the_form() {
        for (capabilities, form, url) in [
            (json!({}), false, false),
            (json!({"elicitation": true}), false, false),
            (json!({"elicitation": {}}), true, false),
            (json!({"elicitation": {"form": {}}}), true, false),
            (json!({"elicitation": {"url": {}}}), false, true),
            (json!({"elicitation": {"form": {}, "url": {}}}), true, true),
            (json!({"elicitation": {"url": true}}), true, false),
        ] {
            let kinds = Kinds::of(capabilities.as_object().unwrap());
            assert_eq!((kinds.form, kinds.url), (form, url), "{capabilities}");
            assert_eq!(kinds.can(&Inquiry::elicit(json!({"message": "?"}))), form);
            assert_eq!(kinds.can(&Inquiry::elicit(json!({"message": "?", "mode": "url"}))), url);
        }
    }
}
