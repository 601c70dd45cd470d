//! Which system calls a sandboxed program may make: the filter over them, made anew for each run.
//!
//! The filter is a list of refusals with a lid: [`table`] names what is refused outright, [`arguments`] what is allowed
//! only with some arguments, everything else up to the newest call we know is allowed, and everything above is answered
//! as a kernel without it would. The lid is what makes a list of refusals sound: without it, the second set of numbers
//! that some x86 kernels have (x32, from `0x4000_0000`), and every call of a kernel newer than this text, would go round
//! the list. Calls by the numbers of another architecture end the process.
//!
//! Refusals are `EPERM` where a program asks for a privilege, and `ENOSYS` where it has another way to go on: languages
//! and libraries try the newest call first and take that answer as the sign to try the older one.

use std::collections::BTreeMap;

use crate::order::Network;

mod arguments;
mod assemble;
mod numbers;
mod rule;
mod table;
#[cfg(test)]
mod tests;

use rule::{Answer, Rule, Word};

/// What the filter depends on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Calls {
    /// Where the program may connect to.
    pub(crate) network: Network,
    /// Whether it may open Unix sockets by name. Pairs of them, between its own processes, are always allowed.
    ///
    /// A name reaches whoever listens there: allow it only where the program sees no names but its own.
    pub(crate) unix_sockets: bool,
    /// Whether it may be connected to: where its network is not its own, by nobody.
    pub(crate) listen: bool,
}

/// There is no filter for this processor.
#[derive(Debug, thiserror::Error)]
#[error(
    "the system calls of this processor ({}) are not known, so none can be refused: use x86_64 or aarch64",
    std::env::consts::ARCH
)]
pub(crate) struct Unsupported;

/// `AUDIT_ARCH_…`: the table of system calls that this program was compiled for.
#[cfg(all(target_arch = "x86_64", target_pointer_width = "64"))]
const ARCHITECTURE: Option<u32> = Some(0xC000_003E);
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
const ARCHITECTURE: Option<u32> = Some(0xC000_00B7);
#[cfg(not(any(
    all(target_arch = "x86_64", target_pointer_width = "64"),
    all(target_arch = "aarch64", target_endian = "little")
)))]
const ARCHITECTURE: Option<u32> = None;

/// The filter, in the form the kernel takes.
pub(crate) fn program(calls: Calls) -> Result<Vec<libc::sock_filter>, Unsupported> {
    let architecture = ARCHITECTURE.ok_or(Unsupported)?;
    Ok(assemble::assemble(&whole(architecture, &by_number(calls))))
}

/// Every rule, by the number of its call.
fn by_number(calls: Calls) -> BTreeMap<u32, Rule> {
    let refused = table::TABLE.iter().chain(table::ONLY_HERE);
    let refused = refused.flat_map(|group| group.calls.iter().map(|call| (call.number, group.answer.into())));
    refused.chain(arguments::rules(calls)).collect()
}

/// The architecture is asked first: numbers mean nothing before that is known.
fn whole(architecture: u32, rules: &BTreeMap<u32, Rule>) -> Rule {
    Word::Architecture.equals(architecture).then(search(&ranges(rules)), Answer::Kill)
}

/// The numbers from 0, as ranges of the same rule, each by its beginning. The last one is the lid.
fn ranges(rules: &BTreeMap<u32, Rule>) -> Vec<(u32, Rule)> {
    let allowed = Rule::from(Answer::Allow);
    let mut ranges = vec![];
    for number in 0..=table::NEWEST {
        let rule = rules.get(&number).unwrap_or(&allowed);
        if ranges.last().is_none_or(|(_, last)| last != rule) {
            ranges.push((number, rule.clone()));
        }
    }
    ranges.push((table::NEWEST + 1, Answer::NO_CALL.into()));
    ranges
}

/// Halving: a call that is always allowed is known as such after some seven steps. (Since Linux 5.11 the kernel takes
/// none for these: it finds out once that nothing but the number is looked at.)
fn search(ranges: &[(u32, Rule)]) -> Rule {
    let (below, above) = ranges.split_at(ranges.len() / 2);
    match (below, above) {
        ([], [(_, only)]) => only.clone(),
        (_, [(first, _), ..]) => Word::Number.at_least(*first).then(search(above), search(below)),
        (_, []) => Answer::NO_CALL.into(),
    }
}

/// Makes this process believe that the kernel lacks one call.
#[cfg(test)]
pub(super) fn without_call(call: libc::c_long) -> std::io::Result<()> {
    let rule = Word::Number.equals(table::number(call)).then(Answer::NO_CALL, Answer::Allow);
    super::sys::filter_calls(&assemble::assemble(&rule))
}
