//! Which of the numbered requirements have a test that names them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use crate::{Outcome, tree};

mod list;
mod named;

use list::Requirement;

const LIST: &str = "docs/requirements.md";
const DONE: &str = "docs/requirements-done.txt";
const TESTS: &str = "tests/acceptance";

/// The most requirements one test may claim.
const MOST: usize = 5;

/// Prints the coverage; fails where the tests contradict the list, or a requirement of `check` has no test.
pub(crate) fn run(check: Option<&str>) -> Outcome {
    let requirements = list::parse(&tree::read(LIST)?)?;
    let covered = covered(&requirements)?;
    // A reader that has seen enough (`| head`) is no failure.
    let _ = std::io::stdout().write_all(report(&requirements, &covered).as_bytes());
    check.map_or(Ok(()), |ids| demand(&requirements, &covered, ids))
}

/// Fails where a requirement of a finished piece of work has no test.
pub(crate) fn done() -> Outcome {
    let requirements = list::parse(&tree::read(LIST)?)?;
    let covered = covered(&requirements)?;
    let done = tree::read(DONE)?;
    let lines: Vec<_> = done.lines().filter(|line| !line.starts_with('#')).collect();
    println!("requirements: {} of {} are named by a test", covered.len(), requirements.len());
    demand(&requirements, &covered, &lines.join(" "))
}

/// The requirements that tests name, each with the first such test.
fn covered(requirements: &BTreeMap<String, Requirement>) -> Result<BTreeMap<String, String>, String> {
    let (mut covered, mut wrong) = (BTreeMap::new(), Vec::new());
    for source in tree::sources(TESTS)? {
        for test in named::tests(&source) {
            let place = format!("{}: {}", source.path, test.name);
            if test.ids.len() > MOST {
                wrong.push(format!("{place} names {} requirements; at most {MOST}", test.ids.len()));
            }
            if !test.runs {
                wrong.push(format!("{place} names requirements and is no test"));
            }
            for id in test.ids {
                if !requirements.contains_key(&id) {
                    wrong.push(format!("{place} names {id}, which {LIST} does not have"));
                }
                covered.entry(id).or_insert_with(|| place.clone());
            }
        }
    }
    if wrong.is_empty() { Ok(covered) } else { Err(wrong.join("\n")) }
}

/// The table by prefix, and every requirement that still lacks a test.
fn report(requirements: &BTreeMap<String, Requirement>, covered: &BTreeMap<String, String>) -> String {
    let prefixes: BTreeSet<&str> =
        requirements.values().map(|requirement| requirement.prefix.as_str()).collect();
    let mut lines = vec![format!(
        "{:<10} {:>8} {:>12} {:>13} {:>6}",
        "prefix", "covered", "not covered", "not testable", "all"
    )];
    for prefix in prefixes {
        let own: Vec<_> =
            requirements.iter().filter(|(_, requirement)| requirement.prefix == prefix).collect();
        let with = own.iter().filter(|(id, _)| covered.contains_key(*id)).count();
        let without =
            own.iter().filter(|(id, r)| !covered.contains_key(*id) && r.untestable.is_some()).count();
        let open = own.len() - with - without;
        lines.push(format!("{prefix:<10} {with:>8} {open:>12} {without:>13} {:>6}", own.len()));
    }
    let is_open = |(id, requirement): &(&String, &Requirement)| {
        requirement.untestable.is_none() && !covered.contains_key(*id)
    };
    let mut open: Vec<_> = requirements.iter().filter(is_open).collect();
    open.sort_by_key(|(id, requirement)| (&requirement.prefix, id.len(), *id));
    lines.extend(open.into_iter().map(|(id, requirement)| format!("not covered: {id} {}", requirement.text)));
    lines.push(String::new());
    lines.join("\n")
}

fn demand(
    requirements: &BTreeMap<String, Requirement>,
    covered: &BTreeMap<String, String>,
    ids: &str,
) -> Outcome {
    let mut wrong = Vec::new();
    for id in list::expand(ids)? {
        match requirements.get(&id) {
            None => wrong.push(format!("{id} is not in {LIST}")),
            Some(requirement) if requirement.untestable.is_some() || covered.contains_key(&id) => {}
            Some(requirement) => wrong.push(format!("{id} has no test: {}", requirement.text)),
        }
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(format!("{} requirements lack a test:\n{}", wrong.len(), wrong.join("\n")))
    }
}
