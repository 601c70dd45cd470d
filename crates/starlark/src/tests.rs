//! Programs with what they give: the language, its errors, its border, and those that mean harm.

mod border;
mod errors;
mod functions;
mod harm;
mod json;
mod properties;
mod statements;
mod strings;
mod values;

use crate::meter::Meter;
use crate::{Entry, Error, Host, Limits, parse};
use serde_json::{Map, Value, json};

/// A host that remembers what it was asked and what was printed.
#[derive(Default)]
struct Desk {
    printed: Vec<String>,
    calls: Vec<(String, Vec<Value>, Map<String, Value>)>,
}

impl Host for Desk {
    fn functions(&self) -> &[&'static str] {
        &["http.get", "http.post", "secrets.get", "a.b.c", "plain"]
    }

    fn call(
        &mut self,
        function: &str,
        positional: Vec<Value>,
        named: Map<String, Value>,
    ) -> Result<Value, String> {
        self.calls.push((function.to_owned(), positional.clone(), named));
        match function {
            "secrets.get" => Err("the secret is not there".to_owned()),
            _ => Ok(json!({"status": 200, "body": positional})),
        }
    }

    fn print(&mut self, text: &str) {
        self.printed.push(text.to_owned());
    }
}

const LIMITS: Limits = Limits { steps: 3_000_000, bytes: 16 * 1024 * 1024, depth: 50 };

fn run(text: &str) -> Result<Value, Error> {
    parse("test.star", text)?.run(&mut Desk::default(), LIMITS, Entry::Default)
}

/// Each expression has that value, as JSON.
fn give(table: &[(&str, Value)]) {
    for (expression, wanted) in table {
        let given = run(&format!("result = {expression}"));
        assert_eq!(given.as_ref(), Ok(wanted), "{expression}");
    }
}

/// Each expression and its `repr`.
fn show(table: &[(&str, &str)]) {
    for (expression, wanted) in table {
        let given = run(&format!("result = repr({expression})"));
        assert_eq!(given, Ok(json!(wanted)), "{expression}");
    }
}

/// Each program fails with that message at that line and column.
fn fail(table: &[(&str, u32, u32, &str)]) {
    for (program, line, column, message) in table {
        let error = run(program).expect_err(program);
        assert_eq!(
            (error.line, error.column, error.message.as_str()),
            (*line, *column, *message),
            "{program}"
        );
    }
}

/// Runs within limits and holds the account against them: nothing more was ever held, and nothing is left.
fn account(text: &str, limits: Limits) -> Result<Value, Error> {
    let meter = Meter::new(limits);
    let result = parse("test.star", text)?.metered(&mut Desk::default(), &meter, Entry::Default);
    assert!(meter.peak() <= limits.bytes, "{} bytes were held: {text}", meter.peak());
    assert_eq!(meter.held(), 0, "bytes are left: {text}");
    result
}
