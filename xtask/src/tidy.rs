//! The rules of the house that no compiler knows. Each rule is a function from the tree to its breaches.

use crate::tree::{self, Source};

mod catalogue;
mod code;
mod cuts;
mod edges;
mod homes;
mod invariants;
mod text;

/// Something that is not as the house wants it, or a remark about something that soon will not be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Breach {
    /// Fails the run.
    Wrong(String),
    /// Is printed.
    Remark(String),
}

/// A rule and the name that ARCHITECTURE.md calls it by.
type Rule = (&'static str, fn(&[Source]) -> Vec<Breach>);

/// Every rule.
const RULES: &[Rule] = &[
    ("beginnings", text::beginnings),
    ("leftovers", text::leftovers),
    ("lengths", text::lengths),
    ("machine-paths", text::machine_paths),
    ("homes", homes::homes),
    ("purity", homes::purity),
    ("cuts", cuts::cuts),
    ("edges", edges::edges),
    ("dependencies", edges::dependencies),
    ("lints", edges::lints),
    ("refusals", catalogue::refusals),
    ("codes", catalogue::codes),
    ("invariants", invariants::invariants),
];

/// Applies every rule; the answer is one line, the failure all breaches.
pub(crate) fn run() -> Result<String, String> {
    let sources = tree::sources("")?;
    let mut wrong = Vec::new();
    for (name, rule) in RULES {
        for breach in rule(&sources) {
            match breach {
                Breach::Wrong(what) => wrong.push(format!("  {name}: {what}")),
                Breach::Remark(what) => println!("tidy: {name}: {what}"),
            }
        }
    }
    if wrong.is_empty() {
        Ok(format!("tidy: {} rules hold over {} files", RULES.len(), sources.len()))
    } else {
        Err(format!("{} things are not tidy:\n{}", wrong.len(), wrong.join("\n")))
    }
}

/// Whether there is a rule of that name.
fn is_rule(name: &str) -> bool {
    RULES.iter().any(|(known, _)| *known == name)
}
