//! The child that evaluates one script: this program once more, in a sandbox, with one pipe in and one out. It computes, and
//! asks the daemon for everything else.

use std::io::{BufRead as _, BufReader, Read as _, StdinLock, StdoutLock, Write as _};
use std::process::ExitCode;

use covenant_starlark::{Entry, Host, Limits, parse};
use serde_json::{Map, Value};

use super::functions::FUNCTIONS;
use super::words::{self, Answer, LONGEST, Order, PRINTED, Said};

/// The hidden command that makes this program such a child.
pub const WORD: &str = "evaluate";

/// What a script is told whose daemon has ended.
const GONE: &str = "the daemon is gone";

/// Calls within calls.
const DEPTH: u32 = 64;

/// Whether this process was started as one.
pub fn is_wanted() -> bool {
    let mut arguments = std::env::args_os().skip(1);
    arguments.next().is_some_and(|first| first == WORD) && arguments.next().is_none()
}

/// Evaluates what standard input says, and tells the result on standard output.
pub fn run() -> ExitCode {
    let (input, output) = (BufReader::new(std::io::stdin().lock()), std::io::stdout().lock());
    let mut pipe = Pipe { input, output, printed: 0 };
    let Some(order) = pipe.hear::<Order>() else {
        let _ = writeln!(
            std::io::stderr(),
            "error: `{WORD}` is for covenant itself; to try a script: covenant scripts check FILE"
        );
        return ExitCode::from(2);
    };
    let last = match evaluate(&order, &mut pipe) {
        Ok(value) => Said::Done(value),
        Err(error) => Said::Failed(error.to_string()),
    };
    let told = match pipe.say(&last) {
        Err(Unsaid::TooLong) => {
            let mib = LONGEST >> 20;
            pipe.say(&Said::Failed(format!("{}:1:1: what it returns has more than {mib} MiB", order.file)))
        }
        told => told,
    };
    if told.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn evaluate(order: &Order, pipe: &mut Pipe) -> Result<Value, covenant_starlark::Error> {
    let limits = Limits { steps: order.steps, bytes: order.bytes, depth: DEPTH };
    let entry = match &order.function {
        Some(name) => Entry::Function { name, arguments: &order.arguments },
        None => Entry::Default,
    };
    parse(&order.file, &order.text)?.run(pipe, limits, entry)
}

/// The way to the daemon.
struct Pipe {
    input: BufReader<StdinLock<'static>>,
    output: StdoutLock<'static>,
    /// How many bytes were printed.
    printed: usize,
}

/// Why something was not said.
enum Unsaid {
    TooLong,
    Gone,
}

impl Pipe {
    fn hear<T: serde::de::DeserializeOwned>(&mut self) -> Option<T> {
        let mut line = Vec::new();
        let most = u64::try_from(LONGEST).unwrap_or(u64::MAX).saturating_add(1);
        self.input.by_ref().take(most).read_until(b'\n', &mut line).ok()?;
        serde_json::from_slice(&line).ok()
    }

    fn say(&mut self, said: &Said) -> Result<(), Unsaid> {
        let line = words::line(said).ok_or(Unsaid::TooLong)?;
        self.output.write_all(&line).and_then(|()| self.output.flush()).map_err(|_| Unsaid::Gone)
    }
}

impl Host for Pipe {
    fn functions(&self) -> &[&'static str] {
        FUNCTIONS
    }

    fn call(
        &mut self,
        function: &str,
        positional: Vec<Value>,
        named: Map<String, Value>,
    ) -> Result<Value, String> {
        match self.say(&Said::Call { function: function.to_owned(), positional, named }) {
            Ok(()) => {}
            Err(Unsaid::TooLong) => {
                return Err(format!("{function}: the arguments have more than {} MiB", LONGEST >> 20));
            }
            Err(Unsaid::Gone) => return Err(GONE.to_owned()),
        }
        match self.hear::<Answer>() {
            Some(Answer::Value(value)) => Ok(value),
            Some(Answer::Error(reason)) => Err(reason),
            None => Err(GONE.to_owned()),
        }
    }

    fn print(&mut self, text: &str) {
        let before = self.printed;
        self.printed = before.saturating_add(text.len());
        let said = match (before <= PRINTED, self.printed <= PRINTED) {
            (_, true) => text,
            (true, false) => "(what is printed from here on is not passed on)",
            (false, false) => return,
        };
        // Where nobody takes it, the next call says so.
        let _ = self.say(&Said::Print(said.to_owned()));
    }
}
