//! How a run that did not go well is told: which limit, signal or deadline it was, and what to do about it.

use covenant_runner::ending::{Limit, Status};
use covenant_runner::launch::StartError;

use super::play::{EndedBy, Played};
use super::run::Run;
use super::{hint, order};
use crate::exit::{Exit, Failure};

/// What is said of a run; nothing where all went well.
pub(super) fn failure(run: &Run, played: &Played) -> Option<Failure> {
    let name = name(run);
    let failed = |message: String, help: &str| Some(Failure::failed(message, help));
    match (played.ended_by, played.ending.over, played.ending.status) {
        (EndedBy::Signal, ..) => failed(format!("{name} was ended by a signal to this command"), ""),
        (EndedBy::Deadline, ..) => {
            let span = run.timeout.map(|span| format!(" after {} s", span.as_secs())).unwrap_or_default();
            failed(format!("{name} was still running{span}, and was ended"), "give it longer with --timeout")
        }
        (_, Some(limit), _) => Some(over(run, &name, limit)),
        (_, None, status) if status.is_success() => None,
        (_, None, Status::Exited(code)) => Some(Failure::failed(
            format!("{name} ended with exit code {code}"),
            hint::of(run, &played.errors),
        )),
        (_, None, Status::Killed(31)) => failed(
            format!("{name} made a system call that the sandbox does not allow (SIGSYS)"),
            "docs/sandbox.md says which calls are refused",
        ),
        (_, None, Status::Killed(25)) => failed(
            format!("{name} wrote a file larger than {} MiB (SIGXFSZ)", run.disk_mb),
            "let it write more with --disk-mb",
        ),
        (_, None, status @ Status::Killed(_)) => {
            Some(Failure::failed(format!("{name} was ended by {status}"), hint::of(run, &played.errors)))
        }
        (_, None, Status::Unknown) => failed(
            format!("nobody saw how {name} ended: what watched it was killed"),
            "this machine may be short of memory; try it again",
        ),
    }
}

/// A limit that ended it.
fn over(run: &Run, name: &str, limit: Limit) -> Failure {
    let (most, option) = match limit {
        Limit::Memory => (format!("{} MiB", run.memory_mb), "--memory-mb"),
        Limit::Processes => (run.pids.to_string(), "--pids"),
        Limit::Scratch => (format!("{} MiB", run.disk_mb), "--disk-mb"),
    };
    let message = format!("{name} {} ({most}): it and all it started were ended", limit.told());
    Failure::failed(message, format!("give it more with {option}"))
}

/// What is said where nothing ran.
pub(super) fn refusal(run: &Run, error: &StartError) -> Failure {
    let message = format!("{} was not started: {error}", name(run));
    match error {
        StartError::Required(_) => Failure::new(
            Exit::Refused,
            message,
            "see what can be done about it: covenant doctor; or let it run without --required and \
             `[sandbox] required`",
        ),
        StartError::Path { .. } => Failure::usage(message, "name what is there, and only what it needs"),
        StartError::Program { .. } => Failure::usage(
            message,
            "if it is there out here, name what it needs with --read, such as its interpreter's directory; as root, it \
             runs as nobody, who needs the right to execute it",
        ),
        StartError::Order(_) => Failure::usage(message, "correct that, and try again"),
        _ => Failure::failed(message, "see what this host can do: covenant sandbox check"),
    }
}

fn name(run: &Run) -> String {
    run.program.first().map(|typed| order::name(typed)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use covenant_runner::ending::{Ending, Usage};
    use covenant_runner::report::{Promise, Report};

    use super::*;
    use crate::args::{Command, CommandLine};
    use crate::cmd::sandbox::Sandbox;

    fn run(line: &[&str]) -> Run {
        let line = [&["covenant", "sandbox", "run"], line].concat();
        match CommandLine::try_parse_from(line).unwrap().command {
            Some(Command::Sandbox(Sandbox::Run(run))) => run,
            other => panic!("{other:?}"),
        }
    }

    fn told(line: &[&str], ended_by: EndedBy, over: Option<Limit>, status: Status) -> Option<String> {
        let played = Played {
            run: "run_x".to_owned(),
            ending: Ending { status, over, usage: Usage::default() },
            ended_by,
            report: Report::default(),
            output: super::super::play::Kept::default(),
            output_lost: None,
            errors: String::new(),
            refused: Vec::new(),
        };
        failure(&run(line), &played).map(|failure| {
            assert_eq!(failure.exit(), Exit::Failed);
            failure.sentence()
        })
    }

    #[test]
    fn each_way_to_end_has_its_sentence() {
        let by = EndedBy::Itself;
        assert_eq!(told(&["x"], by, None, Status::Exited(0)), None);
        for (line, by, over, status, sentence) in [
            (
                &["--memory-mb", "64", "/x/node"][..],
                EndedBy::Limit,
                Some(Limit::Memory),
                Status::Killed(9),
                "node used more memory than it may (64 MiB): it and all it started were ended; give it more with --memory-mb",
            ),
            (
                &["x"],
                EndedBy::Limit,
                Some(Limit::Processes),
                Status::Killed(9),
                "x started more processes than it may (256): it and all it started were ended; give it more with --pids",
            ),
            (
                &["--timeout", "2m", "x"],
                EndedBy::Deadline,
                None,
                Status::Killed(9),
                "x was still running after 120 s, and was ended; give it longer with --timeout",
            ),
            (&["x"], by, None, Status::Exited(7), "x ended with exit code 7"),
            (&["x"], by, None, Status::Killed(11), "x was ended by signal 11 (SIGSEGV)"),
            (&["x"], EndedBy::Signal, None, Status::Killed(15), "x was ended by a signal to this command"),
        ] {
            assert_eq!(told(line, by, over, status).as_deref(), Some(sentence));
        }
    }

    #[test]
    fn a_sandbox_that_must_be_whole_and_is_not_is_a_refusal_that_names_the_gaps() {
        let mut report = Report::default();
        report.lacks(Promise::Network, "no network namespace");
        let failure = refusal(&run(&["--required", "x"]), &StartError::Required(report));
        assert_eq!(failure.exit(), Exit::Refused);
        assert!(failure.message().contains("network (no network namespace)"), "{failure:?}");
    }
}
