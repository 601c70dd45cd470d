//! What opens a start: nothing that has to be decided, a verdict on every candidate, or the older confirmation; and nobody is
//! let through by a word on work that was not there when they looked.

use std::collections::BTreeSet;

use covenant_model::id::{CheckId, WarningId};

use crate::input::Invalid;
use crate::warning::Verdict;

/// What is known when somebody wants to start.
#[derive(Debug, Clone, Copy)]
pub struct Start<'s> {
    /// Their newest look.
    pub check: &'s CheckId,
    /// What it warned of.
    pub warning: Option<&'s WarningId>,
    /// The candidates that had to be decided about then.
    pub then: &'s [&'s str],
    /// Those that have to be now.
    pub now: &'s [&'s str],
    /// What they say.
    pub said: Said<'s>,
}

/// What a start says of overlap.
#[derive(Debug, Clone, Copy, Default)]
pub struct Said<'s> {
    /// The look it is about.
    pub check_id: Option<&'s CheckId>,
    /// The warning it is about.
    pub warning_id: Option<&'s WarningId>,
    /// What its agent makes of each candidate.
    pub verdicts: Option<&'s [Verdict]>,
    /// Why it should start all the same.
    pub reason: Option<&'s str>,
}

/// What is decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// It starts, so.
    Start(Opening),
    /// It does not, because of that.
    Blocked(Why),
}

/// By what a start is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// Nothing had to be decided.
    Clear,
    /// All that had to be decided about is over by now.
    Lapsed,
    /// Each candidate was judged; whether one was found to be the same work.
    Judged {
        /// It was, and there is a reason to start all the same.
        duplicate: bool,
    },
    /// The older form: the warning was confirmed with a reason.
    Confirmed,
}

/// Why a start is blocked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// Nothing was said of the candidates.
    Unjudged,
    /// There are candidates that were not there when they looked.
    New,
    /// The verdict is on another look than the newest.
    OtherCheck,
    /// The warning is not the newest one.
    OtherWarning,
    /// Nothing was said of these.
    Missing(Vec<String>),
    /// It is the same work, or was confirmed, without a reason.
    NoReason,
}

/// Whether work may start. A verdict that names what is no candidate, or one twice, is an error and not a decision.
pub fn rule(start: &Start<'_>) -> Result<Ruling, Invalid> {
    if let Some(verdicts) = start.said.verdicts {
        sound(start, verdicts)?;
    }
    if start.now.is_empty() {
        return Ok(Ruling::Start(if start.then.is_empty() { Opening::Clear } else { Opening::Lapsed }));
    }
    if start.now.iter().any(|id| !start.then.contains(id)) {
        return Ok(Ruling::Blocked(Why::New));
    }
    Ok(match start.said.verdicts {
        Some(verdicts) => judged(start, verdicts),
        None => confirmed(start),
    })
}

fn judged(start: &Start<'_>, verdicts: &[Verdict]) -> Ruling {
    if start.said.check_id != Some(start.check) {
        return Ruling::Blocked(Why::OtherCheck);
    }
    let verdict = |id: &str| verdicts.iter().find(|verdict| verdict.candidate_id == id);
    let missing: Vec<String> =
        start.now.iter().filter(|id| verdict(id).is_none()).map(|id| (*id).to_owned()).collect();
    if !missing.is_empty() {
        return Ruling::Blocked(Why::Missing(missing));
    }
    let duplicate = start.now.iter().any(|id| verdict(id).is_some_and(|verdict| verdict.same_scope));
    if duplicate && start.said.reason.is_none() {
        return Ruling::Blocked(Why::NoReason);
    }
    Ruling::Start(Opening::Judged { duplicate })
}

fn confirmed(start: &Start<'_>) -> Ruling {
    match start.said.warning_id {
        None => Ruling::Blocked(Why::Unjudged),
        Some(id) if start.warning != Some(id) => Ruling::Blocked(Why::OtherWarning),
        Some(_) if start.said.reason.is_none() => Ruling::Blocked(Why::NoReason),
        Some(_) => Ruling::Start(Opening::Confirmed),
    }
}

fn sound(start: &Start<'_>, verdicts: &[Verdict]) -> Result<(), Invalid> {
    let mut seen = BTreeSet::new();
    for (at, verdict) in verdicts.iter().enumerate() {
        let id = verdict.candidate_id.as_str();
        let field = || format!("scope_verdict[{at}].candidate_id");
        if !start.then.contains(&id) && !start.now.contains(&id) {
            return Err(Invalid::new(
                field(),
                "names what is no candidate: judge those that the newest check gave",
            ));
        }
        if !seen.insert(id) {
            return Err(Invalid::new(field(), "names a candidate twice: judge each once"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdicts(of: &[(&str, bool)]) -> Vec<Verdict> {
        let verdict = |(id, same): &(&str, bool)| Verdict {
            candidate_id: (*id).to_owned(),
            same_scope: *same,
            reason: String::new(),
        };
        of.iter().map(verdict).collect()
    }

    #[test]
    fn what_opens_a_start_and_what_does_not() {
        use Opening::{Clear, Confirmed, Judged, Lapsed};
        let (check, other) = (CheckId::from_random([1; 10]), CheckId::from_random([2; 10]));
        let (warning, stale) = (WarningId::from_random([1; 10]), WarningId::from_random([2; 10]));
        let (no, yes, both) =
            (verdicts(&[("a", false)]), verdicts(&[("a", true)]), verdicts(&[("a", false), ("b", false)]));
        let go = Ruling::Start;
        let none = Said::default();
        let with = |verdicts, check_id, reason| Said { check_id, verdicts: Some(verdicts), reason, ..none };
        let older = |warning_id, reason| Said { warning_id: Some(warning_id), reason, ..none };
        let table: Vec<(&[&str], &[&str], Said<'_>, Ruling)> = vec![
            (&[], &[], none, go(Clear)),
            (&["a"], &[], none, go(Lapsed)),
            (&["a"], &[], with(&no, Some(&check), None), go(Lapsed)),
            (&["a"], &["a"], none, Ruling::Blocked(Why::Unjudged)),
            (&[], &["a"], none, Ruling::Blocked(Why::New)),
            (&["a"], &["a", "b"], with(&both, Some(&check), Some("x")), Ruling::Blocked(Why::New)),
            (&["a"], &["a"], with(&no, Some(&check), None), go(Judged { duplicate: false })),
            (&["a"], &["a"], with(&no, None, None), Ruling::Blocked(Why::OtherCheck)),
            (&["a"], &["a"], with(&no, Some(&other), None), Ruling::Blocked(Why::OtherCheck)),
            (&["a"], &["a"], with(&yes, Some(&check), None), Ruling::Blocked(Why::NoReason)),
            (&["a"], &["a"], with(&yes, Some(&check), Some("x")), go(Judged { duplicate: true })),
            (
                &["a", "b"],
                &["a", "b"],
                with(&no, Some(&check), None),
                Ruling::Blocked(Why::Missing(vec!["b".into()])),
            ),
            (&["a", "b"], &["a"], with(&no, Some(&check), None), go(Judged { duplicate: false })),
            (&["a", "b"], &["b"], with(&both, Some(&check), None), go(Judged { duplicate: false })),
            (&["a"], &["a"], with(&[], Some(&check), None), Ruling::Blocked(Why::Missing(vec!["a".into()]))),
            (&["a"], &["a"], older(&warning, Some("x")), go(Confirmed)),
            (&["a"], &["a"], older(&warning, None), Ruling::Blocked(Why::NoReason)),
            (&["a"], &["a"], older(&stale, Some("x")), Ruling::Blocked(Why::OtherWarning)),
        ];
        for (row, (then, now, said, ruling)) in table.into_iter().enumerate() {
            let start = Start { check: &check, warning: Some(&warning), then, now, said };
            assert_eq!(rule(&start), Ok(ruling), "row {row}");
        }
    }

    #[test]
    fn a_verdict_on_what_is_no_candidate_or_twice_on_one_is_an_error() {
        let check = CheckId::from_random([1; 10]);
        for bad in [verdicts(&[("c", false)]), verdicts(&[("a", false), ("a", true)])] {
            let said = Said { check_id: Some(&check), verdicts: Some(&bad), ..Said::default() };
            let start = Start { check: &check, warning: None, then: &["a"], now: &["a"], said };
            let field = rule(&start).unwrap_err().field;
            assert!(field.starts_with("scope_verdict["), "{field}");
        }
    }
}
