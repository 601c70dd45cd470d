//! What is left of an earlier host, ended by its records and by the mark.

use std::fs::{self, Permissions};
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Child;

use tempfile::TempDir;

use super::*;
use crate::linux::alone::{part, shell, until};
use crate::linux::tree::mark::marked;
use crate::trace::Trace;

/// A ledger that nobody keeps.
fn ledger() -> (TempDir, Ledger) {
    let directory = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(&directory.path().join("runs")).unwrap();
    (directory, ledger)
}

/// The record of a run whose host is gone.
fn record(run: &str) -> Record {
    Record {
        run: run.into(),
        name: "test".into(),
        boot: trace::boot(),
        host: Trace::own().map(|own| Trace { start_time: own.start_time - 1, ..own }),
        launcher: None,
        program: None,
        scratch: None,
    }
}

/// A name that no other test has.
fn run(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}

fn sleeper(environment: &[(&str, &str)]) -> (Child, Trace) {
    let child = shell("exec sleep 60", environment);
    let trace = Trace::of(i32::try_from(child.id()).unwrap()).unwrap();
    (child, trace)
}

#[test]
fn what_is_on_record_is_ended_with_all_that_carries_its_mark() {
    let (_directory, ledger) = ledger();
    let run = run("swept");
    let (mut recorded, program) = sleeper(&[]);
    let script = "setsid sh -c 'sleep 60 & exec sleep 61' & echo started";
    let mut marking = shell(script, &[(MARK, &run)]);
    BufReader::new(marking.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    marking.wait().unwrap();
    until("both daemons run", || marked(std::slice::from_ref(&run)).len() == 2);
    ledger.write(&Record { program: Some(program), ..record(&run) }).unwrap();
    assert_eq!(sweep(&ledger).unwrap(), Swept { runs: 1, processes: 3 });
    recorded.wait().unwrap();
    assert!(marked(&[run]).is_empty());
    assert!(ledger.records().unwrap().is_empty());
    assert_eq!(sweep(&ledger).unwrap(), Swept::default());
}

#[test]
fn a_later_process_with_the_same_number_is_spared() {
    let (_directory, ledger) = ledger();
    let (mut other, trace) = sleeper(&[]);
    let earlier = Trace { start_time: trace.start_time - 1, ..trace };
    ledger.write(&Record { launcher: Some(earlier), ..record(&run("reused")) }).unwrap();
    let of_another_boot =
        Record { boot: Some("another".into()), program: Some(trace), ..record(&run("boot")) };
    ledger.write(&of_another_boot).unwrap();
    assert_eq!(sweep(&ledger).unwrap(), Swept { runs: 2, processes: 0 });
    assert!(trace.lives());
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn the_run_of_a_living_host_is_left_alone() {
    let (_directory, ledger) = ledger();
    let run = run("living");
    let (mut child, program) = sleeper(&[(MARK, &run)]);
    let kept = Record { host: Trace::own(), program: Some(program), ..record(&run) };
    ledger.write(&kept).unwrap();
    assert_eq!(sweep(&ledger).unwrap(), Swept::default());
    assert!(program.lives());
    let [(_, Ok(left))] = &ledger.records().unwrap()[..] else { panic!("its record stays") };
    assert_eq!(left, &kept);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn damaged_records_are_removed_and_harm_nobody() {
    let (directory, ledger) = ledger();
    let runs = directory.path().join("runs");
    for (name, content) in [("a.json", "{"), ("b.json", ""), ("c.new", "{\"run\":1}"), ("d", "\0\u{1}")] {
        fs::write(runs.join(name), content).unwrap();
    }
    fs::write(runs.join("huge.json"), vec![b' '; 1 << 20]).unwrap();
    fs::create_dir(runs.join("directory")).unwrap();
    ledger.write(&record("whole")).unwrap();
    assert_eq!(sweep(&ledger).unwrap().runs, 1);
    let left: Vec<_> = ledger.records().unwrap().into_iter().map(|(path, _)| path).collect();
    assert_eq!(left, [runs.join("directory")], "what is no file cannot be ours");
}

#[test]
fn scratch_directories_go_too_but_only_those_named_after_their_run() {
    let (directory, ledger) = ledger();
    let scratch = directory.path().join("scratch");
    let inner = scratch.join("run-1/locked/inner");
    fs::create_dir_all(&inner).unwrap();
    fs::create_dir(scratch.join("precious")).unwrap();
    std::os::unix::fs::symlink(scratch.join("precious"), inner.join("link")).unwrap();
    fs::write(scratch.join("precious/file"), "kept").unwrap();
    fs::set_permissions(inner.parent().unwrap(), Permissions::from_mode(0o0)).unwrap();
    ledger.write(&Record { scratch: Some(scratch.join("run-1")), ..record("run-1") }).unwrap();
    ledger.write(&Record { scratch: Some(scratch.join("precious")), ..record("run-2") }).unwrap();
    ledger.write(&Record { scratch: Some(scratch.join("run-3")), ..record("run-3") }).unwrap();
    assert_eq!(sweep(&ledger).unwrap().runs, 3);
    assert!(!scratch.join("run-1").exists());
    assert_eq!(fs::read_to_string(scratch.join("precious/file")).unwrap(), "kept");
}

#[test]
fn the_ledger_is_private_and_its_records_whole() {
    let (directory, ledger) = ledger();
    let runs = directory.path().join("runs");
    fs::set_permissions(&runs, Permissions::from_mode(0o755)).unwrap();
    let ledger = {
        drop(ledger);
        Ledger::open(&runs).unwrap()
    };
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&runs), 0o700);
    let mut kept = record("one");
    ledger.write(&kept).unwrap();
    kept.program = Trace::own();
    ledger.write(&kept).unwrap();
    let [(path, Ok(read))] = &ledger.records().unwrap()[..] else { panic!("one record, replaced") };
    assert_eq!((read, mode(path)), (&kept, 0o600));
    ledger.remove("one").unwrap();
    ledger.remove("one").unwrap();
    assert!(ledger.records().unwrap().is_empty());
    fs::remove_dir(&runs).unwrap();
    let error = ledger.write(&kept).unwrap_err().to_string();
    assert!(error.contains("one.json cannot be written"), "{error}");
}

#[test]
fn a_daemon_started_from_within_a_run_it_sweeps_spares_itself_and_all_above_it() {
    let name = "sweep::tests::a_daemon_started_from_within_a_run_it_sweeps_spares_itself_and_all_above_it";
    if let Some(directory) = part() {
        // The daemon's part: without the mark, below a shell that carries it.
        let ledger = Ledger::open(Path::new(&directory)).unwrap();
        assert_eq!(sweep(&ledger).unwrap(), Swept { runs: 1, processes: 1 });
        return;
    }
    let (directory, ledger) = ledger();
    let run = run("within");
    ledger.write(&record(&run)).unwrap();
    let environment = [
        (MARK, run.as_str()),
        ("COVENANT_TEST_PART", directory.path().join("runs").to_str().unwrap()),
        ("TEST", std::env::current_exe().unwrap().to_str().unwrap()),
        ("NAME", name),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let script =
        "sleep 50 & (env -u COVENANT_RUN \"$TEST\" --exact $NAME; echo subshell: $?); echo shell: $?";
    let environment: Vec<(&str, &str)> =
        environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let mut above = shell(script, &environment);
    let said: Vec<String> =
        BufReader::new(above.stdout.take().unwrap()).lines().map(Result::unwrap).collect();
    let said = said.join("\n");
    assert!(said.contains("1 passed") && said.ends_with("subshell: 0\nshell: 0"), "{said}");
    assert!(above.wait().unwrap().success());
    assert_eq!(marked(&[run]), []);
}
