//! What the daemon and the child that evaluates a script say to each other: one JSON value per line.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The longest line either of them writes.
pub(super) const LONGEST: usize = 16 << 20;

/// How much of what a script prints is passed on.
pub(super) const PRINTED: usize = 64 << 10;

/// What the child is to do: the first line it reads.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    /// The name of the script's file.
    pub(super) file: String,
    /// Its text.
    pub(super) text: String,
    /// The function that is wanted, and its arguments; without it the script's own result.
    pub(super) function: Option<String>,
    pub(super) arguments: Vec<Value>,
    /// Steps of the interpreter.
    pub(super) steps: u64,
    /// Bytes of its values.
    pub(super) bytes: usize,
}

/// What the child says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Said {
    /// The script calls one of our functions; an answer is awaited.
    Call { function: String, positional: Vec<Value>, named: Map<String, Value> },
    /// It prints.
    Print(String),
    /// It is done.
    Done(Value),
    /// It failed: a sentence with file, line and column.
    Failed(String),
}

/// What it is answered.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Answer {
    /// The value of the call.
    Value(Value),
    /// Why there is none: the script fails at that line.
    Error(String),
}

/// What is said as one line, its end included; nothing where it would be too long.
pub(super) fn line(said: &impl Serialize) -> Option<Vec<u8>> {
    let mut line = Bounded(Vec::new());
    serde_json::to_writer(&mut line, said).ok()?;
    line.0.push(b'\n');
    Some(line.0)
}

/// Takes bytes as long as there is room: what is too long is not built first.
struct Bounded(Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len().saturating_add(bytes.len()) > LONGEST {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_json_and_has_an_end() {
        let said = Said::Failed("a\nb".to_owned());
        assert_eq!(line(&said).unwrap(), b"{\"failed\":\"a\\nb\"}\n");
        assert_eq!(line(&Answer::Value(Value::Null)).unwrap(), b"{\"value\":null}\n");
    }

    #[test]
    fn a_line_that_is_too_long_is_none() {
        let fits = "x".repeat(LONGEST - "{\"print\":\"\"}".len());
        assert_eq!(line(&Said::Print(fits.clone())).unwrap().len(), LONGEST + 1);
        assert_eq!(line(&Said::Print(format!("{fits}x"))), None);
        assert_eq!(
            line(&Said::Print("\u{1}".repeat(LONGEST / 2))),
            None,
            "as it is written, not as it is held"
        );
    }
}
