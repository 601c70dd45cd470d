//! Servers that are programs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::upstream::scrub::known;
use crate::upstream::tests::program;

/// Starts those scripts, one after another.
struct Scripts {
    scripts: Vec<&'static str>,
    started: AtomicUsize,
}

impl Programs for Scripts {
    fn start<'a>(
        &'a self,
        _: &'a str,
        _: &'a Program,
        _: LogLine,
    ) -> Later<'a, Result<Box<dyn RunningProgram>, String>> {
        let turn = self.started.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            match self.scripts.get(turn) {
                Some(script) => Ok(program(script).await),
                None => Err("there is no `nothing` on PATH".to_owned()),
            }
        })
    }
}

/// Dials, and says which phases passed and how often a program was started.
async fn started(
    scripts: &[&'static str],
    within: Duration,
) -> (Result<Link, NotDialed>, Vec<&'static str>, usize) {
    let program =
        Program { command: "x".to_owned(), args: Vec::new(), env: BTreeMap::new(), cwd: None, sandbox: None };
    let plan = Plan { start_timeout: within, ..plan(Reach::Program(program)) };
    let programs = Scripts { scripts: scripts.to_vec(), started: AtomicUsize::new(0) };
    let couriers = Leading(Stage::new(|_| Err(String::new())));
    let dial_it = Dial {
        plan: &plan,
        era: plan.era,
        programs: &programs,
        couriers: &couriers,
        log: Arc::new(|_| {}),
        limit: 1 << 20,
        scrub: known::scrub().clone(),
    };
    let mut phases = Vec::new();
    let link = dial(dial_it, &mut |phase, _| phases.push(phase)).await;
    (link, phases, programs.started.load(Ordering::SeqCst))
}

const LONG: Duration = Duration::from_mins(1);

#[tokio::test]
async fn a_program_is_started_and_greeted() {
    let (link, phases, started) = started(&["legacy()\nstay()"], LONG).await;
    let link = link.unwrap();
    assert_eq!((link.era(), link.transport()), (EraChoice::Legacy, "stdio"));
    assert_eq!((phases.as_slice(), started), (&[START, HANDSHAKE][..], 1));
    link.close().await;
}

#[tokio::test]
async fn a_program_that_ends_at_a_question_of_the_other_era_is_started_again() {
    let dies = "request = hear()\nassert request['method'] == 'initialize'\n";
    let (link, phases, started) = started(&[dies, "assert hear()['method'] == 'initialize'"], LONG).await;
    let not = link.err().unwrap();
    assert_eq!((not.phase, started), (HANDSHAKE, 2), "and not a third time: {}", not.reason);
    assert_eq!(phases, [START]);
    let (link, phases, started) = self::started(&[dies, "legacy()\nstay()"], LONG).await;
    assert_eq!(link.unwrap().era(), EraChoice::Legacy);
    assert_eq!((phases.as_slice(), started), (&[START, HANDSHAKE][..], 2));
}

#[tokio::test]
async fn a_program_that_does_not_start_is_told_by_its_phase() {
    let (link, phases, _) = started(&[], LONG).await;
    let not = link.err().unwrap();
    assert_eq!(
        (not.phase, not.reason.as_str()),
        (START, "could not be started: there is no `nothing` on PATH")
    );
    assert!(phases.is_empty());
}

#[tokio::test]
async fn a_program_that_says_nothing_is_given_up_in_time() {
    let (link, _, _) = started(&["stay()"], Duration::from_millis(500)).await;
    let not = link.err().unwrap();
    let told = "did not answer `initialize` within 0.5 s (`start_timeout_secs`)";
    assert_eq!((not.phase, not.reason.as_str()), (HANDSHAKE, told));
}
