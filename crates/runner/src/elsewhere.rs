//! The launcher on systems that are not Linux: no sandbox, and it says so; what stays in the program's process group ends
//! with it, with the host and with the order to end.

use std::io;
use std::process::Stdio;

use rustix::process::{Pid, Signal, WaitOptions, kill_process_group};

use crate::channel::{Channel, wait_for};
use crate::control::{Assignment, MARK, Refusal, Wish, Word};
use crate::ending::{Ending, Status, Usage};
use crate::report::{Promise, Report};
use crate::spawn;

/// Why no promise is kept in full.
const WHY: &str = "the sandbox needs Linux";

/// Takes the order from standard input and stays until the program and its group are gone.
#[cfg(not(target_os = "linux"))]
pub(crate) fn launch() -> io::Result<()> {
    let mut host = Channel::new(rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?);
    let nowhere = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nowhere)?;
    rustix::process::setsid().ok();
    attend(&mut host)
}

/// Starts what the host says, and ends it.
fn attend(host: &mut Channel) -> io::Result<()> {
    use std::os::fd::AsFd as _;
    use std::os::unix::process::CommandExt as _;
    let Some(Assignment { run, order }) = host.hear::<Assignment>()? else { return Ok(()) };
    let report = report(order.sandbox.is_some());
    if order.sandbox.as_ref().is_some_and(|sandbox| sandbox.required) {
        return host.say(&Word::Refused(Refusal::Required(report)), &[]);
    }
    let mut next = || host.descriptor().ok_or_else(|| io::Error::other("the order came without streams"));
    let mut command = spawn::command(&order.program, &order.arguments, &order.environment);
    command.env(MARK, run).current_dir(&order.directory).process_group(0);
    command.stdin(Stdio::from(next()?)).stdout(Stdio::from(next()?)).stderr(Stdio::from(next()?));
    // Closes when the program and whoever inherited it are gone.
    let (alive, held) = io::pipe()?;
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return host.say(&Word::Refused(Refusal::Program(error.to_string())), &[]),
    };
    drop(command);
    let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return Ok(()) };
    host.say(&Word::Ready { pid: pid.as_raw_nonzero().get(), report, door: false, proxy: false }, &[])?;
    let waiter = std::thread::spawn(move || {
        let status = status(pid);
        drop(held);
        status
    });
    loop {
        let [wished, ended] = wait_for([host.as_fd(), alive.as_fd()], None)?;
        if ended || (wished && host.receive()? == 0) {
            break;
        }
        while let Some(Wish::Signal(number)) = host.heard()? {
            if let Some(signal) = Signal::from_named_raw(number) {
                kill_process_group(pid, signal).ok();
            }
        }
    }
    kill_process_group(pid, Signal::KILL).ok();
    let status = waiter.join().unwrap_or(Status::Unknown);
    // A host that is gone need not hear it.
    host.say(&Word::Ended(Ending { status, over: None, usage: Usage::default() }), &[]).ok();
    Ok(())
}

fn status(pid: Pid) -> Status {
    match rustix::io::retry_on_intr(|| rustix::process::waitpid(Some(pid), WaitOptions::empty())) {
        Ok(Some((_, status))) => match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Status::Exited(code),
            (None, Some(signal)) => Status::Killed(signal),
            (None, None) => Status::Unknown,
        },
        _ => Status::Unknown,
    }
}

fn report(wanted: bool) -> Report {
    let mut report = Report::default();
    report.keeps_partly(
        Promise::Lifetime,
        &["process group"],
        "what leaves its process group is not found again",
    );
    for promise in Promise::ALL.into_iter().filter(|&promise| promise != Promise::Lifetime) {
        report.lacks(promise, if wanted { WHY } else { "no sandbox was asked for" });
    }
    report
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::fd::AsFd as _;

    use super::*;
    use crate::order::{Order, Sandbox};

    fn order(script: &str, required: bool) -> Assignment {
        let sandbox = Sandbox { required, ..Sandbox::new("/tmp".into()) };
        let order = Order {
            name: "test".to_owned(),
            program: "/bin/sh".into(),
            arguments: vec!["-c".to_owned(), script.to_owned()],
            environment: Vec::new(),
            directory: "/".into(),
            sandbox: Some(sandbox),
        };
        Assignment { run: "run_test".to_owned(), order }
    }

    fn start(assignment: &Assignment) -> (Channel, io::PipeReader, std::thread::JoinHandle<()>) {
        let (host, mut launcher) = Channel::pair().unwrap();
        let (reader, writer) = io::pipe().unwrap();
        let nowhere = std::fs::File::open("/dev/null").unwrap();
        host.say(assignment, &[nowhere.as_fd(), writer.as_fd(), writer.as_fd()]).unwrap();
        (host, reader, std::thread::spawn(move || attend(&mut launcher).unwrap()))
    }

    #[test]
    fn without_a_sandbox_a_program_runs_and_the_report_says_what_is_missing() {
        let (mut host, mut output, launcher) = start(&order("echo $COVENANT_RUN; exit 3", false));
        let Some(Word::Ready { report, .. }) = host.hear().unwrap() else { panic!("not ready") };
        assert_eq!(report.gaps().count(), Promise::ALL.len());
        let Some(Word::Ended(ending)) = host.hear().unwrap() else { panic!("not ended") };
        assert_eq!(ending.status, Status::Exited(3));
        let mut text = String::new();
        launcher.join().unwrap();
        output.read_to_string(&mut text).unwrap();
        assert_eq!(text, "run_test\n");
    }

    #[test]
    fn what_requires_a_sandbox_is_refused() {
        let (mut host, _, launcher) = start(&order("exit 0", true));
        assert!(matches!(host.hear().unwrap(), Some(Word::Refused(Refusal::Required(_)))));
        launcher.join().unwrap();
    }

    #[test]
    fn a_host_that_goes_takes_the_program_with_it() {
        let (mut host, mut output, launcher) = start(&order("sleep 1000 & sleep 1000", false));
        assert!(matches!(host.hear().unwrap(), Some(Word::Ready { .. })));
        drop(host);
        launcher.join().unwrap();
        // Ends when the last process that holds it does.
        assert_eq!(output.read(&mut [0; 1]).unwrap(), 0);
    }
}
