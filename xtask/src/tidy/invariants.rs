//! ARCHITECTURE.md states at most fifteen invariants, and what it says holds each of them does exist.

use super::Breach::{self, Wrong};
use super::is_rule;
use crate::tree::Source;

const PAGE: &str = "ARCHITECTURE.md";
const MOST: usize = 15;

/// Every row of the table under "## Invariants" names its enforcer: `tidy: RULE`, `test: NAME`, `lint: NAME` or
/// `type: NAME` in backquotes, or the word "wish".
pub(super) fn invariants(sources: &[Source]) -> Vec<Breach> {
    let Some(page) = sources.iter().find(|source| source.path == PAGE) else {
        return vec![Wrong(format!("{PAGE} is gone"))];
    };
    let rows: Vec<_> = rows(&page.text).collect();
    let mut found = Vec::new();
    if rows.is_empty() || rows.len() > MOST {
        found.push(Wrong(format!(
            "{PAGE} states {} invariants; between 1 and {MOST} are kept in mind",
            rows.len()
        )));
    }
    for (sentence, enforcers) in rows {
        let named: Vec<_> = enforcers.split('`').skip(1).step_by(2).collect();
        if named.is_empty() && !enforcers.contains("wish") {
            found.push(Wrong(format!("{PAGE}: nothing holds \"{sentence}\"")));
        }
        for enforcer in named {
            if let Err(reason) = exists(enforcer, sources) {
                found.push(Wrong(format!("{PAGE}: \"{sentence}\": {reason}")));
            }
        }
    }
    found
}

/// The rows of the table, as sentence and enforcers.
fn rows(page: &str) -> impl Iterator<Item = (&str, &str)> {
    let section = page.split_once("\n## Invariants").map(|(_, rest)| rest).unwrap_or_default();
    let section = section.split_once("\n## ").map_or(section, |(section, _)| section);
    section.lines().filter_map(|line| {
        let mut cells = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim);
        let (number, sentence, enforcers) = (cells.next()?, cells.next()?, cells.next()?);
        number.parse::<u32>().is_ok().then_some((sentence, enforcers))
    })
}

fn exists(enforcer: &str, sources: &[Source]) -> Result<(), String> {
    let (kind, name) = enforcer.split_once(": ").ok_or_else(|| format!("`{enforcer}` is no `kind: name`"))?;
    let said_in = |extension: &str, text: &str| {
        sources.iter().any(|source| source.ends(extension) && source.text.contains(text))
    };
    let there = match kind {
        "tidy" => is_rule(name),
        "test" => said_in("rs", &format!("fn {name}(")),
        "lint" => sources
            .iter()
            .any(|s| matches!(s.path.as_str(), "Cargo.toml" | "clippy.toml") && s.text.contains(name)),
        "type" => said_in("rs", &format!("pub struct {name}")) || said_in("rs", &format!("pub enum {name}")),
        _ => return Err(format!("`{enforcer}`: an enforcer is a tidy rule, a test, a lint or a type")),
    };
    if there { Ok(()) } else { Err(format!("there is no {kind} `{name}`")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaches(row: &str) -> usize {
        let text =
            format!("# x\n\n## Invariants\n\n| # | always | held by |\n|---|---|---|\n{row}\n\n## Next\n");
        let page = Source { path: PAGE.into(), text };
        let code = Source { path: "a.rs".into(), text: "#[test]\nfn no_grant_no_call() {}".into() };
        invariants(&[page, code]).len()
    }

    #[test]
    fn an_enforcer_must_be_named_and_must_exist() {
        assert_eq!(breaches("| 1 | No grant, no call. | `test: no_grant_no_call` |"), 0);
        assert_eq!(breaches("| 1 | Words stay at home. | `tidy: homes` |"), 0);
        assert_eq!(breaches("| 1 | Peace on earth. | wish |"), 0);
        assert_eq!(breaches("| 1 | No grant, no call. | `test: gone` |"), 1);
        assert_eq!(breaches("| 1 | No grant, no call. | everyone knows |"), 1);
        assert_eq!(breaches("| 1 | No grant, no call. | `prayer: x` |"), 1);
    }

    #[test]
    fn no_invariants_or_too_many_are_found() {
        assert_eq!(breaches(""), 1);
        let many: Vec<_> = (1..=16).map(|n| format!("| {n} | x. | wish |")).collect();
        assert_eq!(breaches(&many.join("\n")), 1);
    }
}
