//! What stops a run, on its way out: a message that gathers the places it passes.

use crate::Error;
use crate::syntax::Span;
use std::borrow::Cow;
use std::fmt::Write;

/// What every step of the interpreter gives: a value, or the fault that ends the run.
pub(crate) type Outcome<T> = Result<T, Fault>;

/// The most bytes of a message that leave the interpreter.
const MESSAGE: usize = 8 * 1024;

/// The most lines of a backtrace.
const TRACE: usize = 20;

/// A fault: what happened, where, and through which functions it came.
#[derive(Debug)]
pub(crate) struct Fault(Box<Story>);

/// What a fault has to tell.
#[derive(Debug)]
struct Story {
    message: String,
    /// The innermost place.
    at: Option<Span>,
    /// The place in the function that the fault is leaving.
    here: Option<Span>,
    /// The functions it left, innermost first.
    left: Vec<(String, u32)>,
}

impl Fault {
    /// A fault that does not yet know its place.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(Box::new(Story { message: message.into(), at: None, here: None, left: Vec::new() }))
    }

    /// A fault at a place.
    pub(crate) fn at(message: impl Into<String>, span: Span) -> Self {
        Self::new(message).passing(span)
    }

    /// Notes a place, unless a place further within is known.
    pub(crate) fn passing(mut self, span: Span) -> Self {
        self.0.at.get_or_insert(span);
        self.0.here.get_or_insert(span);
        self
    }

    /// Says which thing it is about.
    pub(crate) fn within(mut self, what: &str) -> Self {
        self.0.message = format!("{what}: {}", self.0.message);
        self
    }

    /// Notes that the fault leaves a function.
    pub(crate) fn leaving(mut self, function: &str) -> Self {
        let line = self.0.here.take().map_or(0, |span| span.line);
        if self.0.left.len() < TRACE {
            self.0.left.push((function.to_owned(), line));
        }
        self
    }

    /// The error that the caller of the interpreter sees.
    pub(crate) fn into_error(self, file: &str) -> Error {
        let at = self.0.at.unwrap_or(Span { line: 1, column: 1 });
        let mut message = whole(&self.0.message).into_owned();
        if self.0.left.len() + usize::from(self.0.here.is_some()) > 1 {
            for (name, line) in &self.0.left {
                let _ = write!(message, "\n  in function {name}, line {line}");
            }
            if let Some(span) = self.0.here {
                let _ = write!(message, "\n  at the top level, line {}", span.line);
            }
        }
        Error { file: file.to_owned(), line: at.line, column: at.column, message }
    }
}

/// The text if it is short enough for a message, else how long it is. Not its beginning: a part of a secret would not be
/// known as one.
pub(crate) fn whole(text: &str) -> Cow<'_, str> {
    if text.len() <= MESSAGE {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("a message of {} characters, which is too long to be shown", text.chars().count()))
}
