//! Starlark, read and run: a small interpreter that counts every step and every byte, and does nothing but compute.
//!
//! What a script can reach beyond itself are the functions its [`Host`] gives it; values pass that border as JSON.

mod builtins;
mod convert;
mod eval;
mod fault;
mod format;
mod json;
mod lexer;
mod meter;
mod number;
mod parser;
mod program;
mod resolve;
mod syntax;
#[cfg(test)]
mod tests;
mod value;

pub use program::{Entry, MAX_SOURCE, Program, parse};

use serde_json::{Map, Value};

/// How much one run may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Steps of the interpreter.
    pub steps: u64,
    /// Bytes that values may hold together.
    pub bytes: usize,
    /// Calls within calls.
    pub depth: u32,
}

/// What a script can reach beyond itself.
pub trait Host {
    /// The names of its functions, such as `http.get`; a dot makes the part before it a namespace.
    fn functions(&self) -> &[&'static str];
    /// Calls one of them; the error is a sentence that the script's author reads.
    fn call(
        &mut self,
        function: &str,
        positional: Vec<Value>,
        named: Map<String, Value>,
    ) -> Result<Value, String>;
    /// Takes what `print` prints.
    fn print(&mut self, text: &str);
}

/// What went wrong, and where: `line` counts from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct Error {
    /// The name of the script, as it was given.
    pub file: String,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
    /// What went wrong.
    pub message: String,
}
