//! Each outside technology is known by one folder, and the pure parts stay pure.

use super::Breach::{self, Wrong};
use super::code::code;
use crate::tree::Source;

/// A word, the one folder that may say it, and why.
type Home = (&'static str, &'static str, &'static str);

const HOMES: &[Home] = &[
    ("rusqlite", "crates/store", "only `store` knows a database driver"),
    ("sqlx", "crates/store", "only `store` knows a database driver"),
    ("reqwest", "crates/daemon", "only `daemon` calls out over HTTP"),
    ("axum", "crates/daemon", "only `daemon` serves HTTP"),
    ("clap", "crates/cli", "only `cli` reads the command line"),
    ("rmcp", "bench", "MCP is our own layer; rmcp is only measured against"),
    ("jsonschema", "crates/gate", "only `gate` validates arguments"),
    ("Command::new", "crates/runner", "only `runner` starts processes"),
    ("unsafe", "crates/runner/src/linux/sys.rs", "one file holds all of it"),
    ("unsafe_code", "crates/runner/src/linux/sys.rs", "one file holds all of it"),
    ("landlock", "crates/runner", "only `runner` confines programs"),
    ("libc", "crates/runner", "only `runner` talks to the kernel without `rustix`"),
];

/// JSON-RPC's codes and our own, which only the MCP face may write.
const CODES: std::ops::RangeInclusive<u32> = 31_000..=32_999;

/// Words of the product stay in their homes. Tests look at things from outside and may use anything.
pub(super) fn homes(sources: &[Source]) -> Vec<Breach> {
    let mut found = Vec::new();
    let product = |source: &&Source| source.ends("rs") && source.is_in("crates") && !is_test(&source.path);
    for source in sources.iter().filter(product) {
        let seen = code(&source.text);
        for (line, text) in (1..).zip(seen.lines()) {
            for (word, home, reason) in HOMES {
                if says(text, word) && !source.is_in(home) {
                    found.push(Wrong(format!("{}:{line} says `{word}`: {reason}", source.path)));
                }
            }
            if let Some(code) = codes_in(text).next().filter(|_| !source.is_in("crates/mcp")) {
                let reason = "only `mcp` knows JSON-RPC codes";
                found.push(Wrong(format!("{}:{line} says `{code}`: {reason}", source.path)));
            }
        }
    }
    found
}

/// Words that would make a pure folder impure.
const IMPURE: [&str; 9] = [
    "async fn",
    "async move",
    "tokio",
    "SystemTime",
    "Instant::now",
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
];

/// `model` has no async function, reads no clock and does no input or output.
pub(super) fn purity(sources: &[Source]) -> Vec<Breach> {
    let mut found = Vec::new();
    for source in sources.iter().filter(|source| source.ends("rs") && source.is_in("crates/model/src")) {
        for (line, text) in (1..).zip(code(&source.text).lines()) {
            for word in IMPURE.iter().filter(|word| text.contains(**word)) {
                found.push(Wrong(format!("{}:{line} says `{word}`: `model` is pure", source.path)));
            }
        }
    }
    found
}

/// The error codes written in a line of code, as documents write them: `-32602`.
pub(super) fn codes_in(line: &str) -> impl Iterator<Item = String> {
    let mut found = Vec::new();
    for (at, _) in line.match_indices('-') {
        let rest = line.get(at + 1..).unwrap_or_default();
        let digits: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '_').collect();
        if digits.replace('_', "").parse::<u32>().is_ok_and(|code| CODES.contains(&code)) {
            found.push(format!("-{}", digits.replace('_', "")));
        }
    }
    found.into_iter()
}

fn is_test(path: &str) -> bool {
    path.contains("/tests/") || path.ends_with("/tests.rs")
}

/// Whether a line says the word, and not as part of another.
fn says(line: &str, word: &str) -> bool {
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).unwrap_or_default();
        let after = line.get(at + word.len()..).unwrap_or_default();
        !inside(before.chars().next_back()) && !inside(after.chars().next()) && !before.ends_with("clap::")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaches(rule: fn(&[Source]) -> Vec<Breach>, path: &str, text: &str) -> usize {
        rule(&[Source { path: path.to_owned(), text: text.to_owned() }]).len()
    }

    #[test]
    fn a_database_driver_outside_its_home_is_found() {
        assert_eq!(breaches(homes, "crates/daemon/src/a.rs", "use rusqlite::Connection;"), 1);
        assert_eq!(breaches(homes, "crates/store/src/a.rs", "use rusqlite::Connection;"), 0);
        assert_eq!(breaches(homes, "crates/daemon/tests/it/a.rs", "use rusqlite::Connection;"), 0);
        assert_eq!(
            breaches(homes, "crates/daemon/src/a.rs", "// rusqlite\nlet my_rusqlite = \"rusqlite\";"),
            0
        );
    }

    #[test]
    fn a_process_started_outside_runner_is_found() {
        assert_eq!(breaches(homes, "crates/cli/src/a.rs", "Command::new(program)"), 1);
        assert_eq!(breaches(homes, "crates/runner/src/a.rs", "Command::new(program)"), 0);
    }

    #[test]
    fn a_json_rpc_code_outside_mcp_is_found_however_it_is_spelled() {
        assert_eq!(breaches(homes, "crates/daemon/src/a.rs", "const CODE: i32 = -32_602;"), 1);
        assert_eq!(breaches(homes, "crates/mcp/src/a.rs", "const CODE: i32 = -32602;"), 0);
        assert_eq!(breaches(homes, "crates/gate/src/a.rs", "let x = a - 4096;"), 0);
    }

    #[test]
    fn model_may_not_wait_or_look_at_the_clock() {
        assert_eq!(breaches(purity, "crates/model/src/a.rs", "pub async fn f() {}"), 1);
        assert_eq!(breaches(purity, "crates/model/src/a.rs", "let t = SystemTime::now();"), 1);
        assert_eq!(breaches(purity, "crates/gate/src/a.rs", "pub async fn f() {}"), 0);
    }
}
