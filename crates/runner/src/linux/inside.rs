//! The first process of a sandbox's namespaces: builds what the program sees, gives up everything, starts it, and reaps.
//!
//! It is process 1 in there. When it ends, by itself after the program or because the launcher did, the kernel ends every
//! other process of the namespace, whatever they have done to get away.

use std::io;
use std::os::fd::AsFd as _;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};

use crate::channel::{Channel, wait_for};
use crate::control::{Assignment, Refusal, Word};
use crate::ending::{Ending, Status, Usage};
use crate::linux::door::{self, Ways};
use crate::linux::fence::{Fence, Gaps};
use crate::linux::identity::{self, Identity};
use crate::linux::landlock::Ports;
use crate::linux::limits::Local;
use crate::linux::sources::{Sources, Use};
use crate::linux::view::{self, Owner, SCRATCH, Trouble};
use crate::linux::{Streams, assess, program, sys};
use crate::order::{Network, Sandbox};
use crate::report::Report;

/// What the launcher says once this process is who it should be and where it is counted.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Go {
    /// Who the program will be.
    pub(super) identity: Identity,
    /// What the launcher itself sees to.
    pub(super) report: Report,
}

/// What it was born with.
pub(super) struct Inside<'a> {
    pub(super) launcher: Channel,
    pub(super) assignment: &'a Assignment,
    pub(super) sandbox: &'a Sandbox,
    pub(super) sources: &'a Sources,
    pub(super) streams: Option<Streams>,
}

impl Inside<'_> {
    /// Everything this process does. It does not come back.
    pub(super) fn live(mut self) -> ! {
        let told = match self.go() {
            Ok(Some(go)) => match self.start(&go) {
                Ok(status) => self.launcher.say(&Word::Ended(ending(status)), &[]),
                Err(refusal) => self.launcher.say(&Word::Refused(refusal), &[]),
            },
            Ok(None) => Ok(()),
            Err(error) => self.launcher.say(&Word::Refused(Refusal::Setup(error.to_string())), &[]),
        };
        // If the launcher cannot be told, it is gone, and so are we.
        std::process::exit(i32::from(told.is_err()))
    }

    fn go(&mut self) -> io::Result<Option<Go>> {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        self.launcher.hear()
    }

    fn start(&mut self, go: &Go) -> Result<Status, Refusal> {
        self.look(go)?;
        let (ways, report) = self.settle(go).map_err(|error| Refusal::Setup(error.to_string()))?;
        if self.sandbox.required && !report.is_whole() {
            return Err(Refusal::Required(report));
        }
        let fence = self.fence(go.identity).map_err(|error| Refusal::Setup(error.to_string()))?;
        let program = self.begin(&ways, fence)?;
        let ready = Word::Ready {
            pid: program.as_raw_nonzero().get(),
            report,
            door: ways.door.is_some(),
            proxy: ways.proxy.is_some(),
        };
        // A launcher that cannot hear it is gone, and its end is ours.
        self.launcher.say(&ready, &ways.listeners()).ok();
        drop(ways);
        Ok(reap_until(program))
    }

    /// What it sees.
    fn look(&self, go: &Go) -> Result<(), Refusal> {
        // Where memory runs out, this should go before anything of the user's.
        std::fs::write("/proc/self/oom_score_adj", "500").ok();
        identity::last_of_its_kind();
        let (uid, gid) = go.identity.ids();
        let told = |error: io::Error| at("the file system could not be built", &error).to_string();
        view::enter(self.sources, self.sandbox, &Owner { uid, gid }).map_err(|trouble| match trouble {
            Trouble::Host(error) => Refusal::Namespaces(told(error)),
            Trouble::Order(error) => Refusal::Setup(told(error)),
        })
    }

    /// The network and the user, the first of which needs what the second gives up.
    fn settle(&self, go: &Go) -> io::Result<(Ways, Report)> {
        rustix::system::sethostname(b"sandbox")?;
        let ways = match self.sandbox.network {
            Network::Full => door::shared(self.sandbox),
            Network::Off | Network::OutboundHttpsOnly => door::within(self.sandbox),
        };
        let ways = ways.map_err(|error| at("the network could not be set up", &error))?;
        identity::assume(go.identity).map_err(|error| at("privileges could not be given up", &error))?;
        identity::hold_to_parent()?;
        let [gone] = wait_for([self.launcher.as_fd()], Some(Duration::ZERO))?;
        if gone {
            return Err(io::Error::other("the launcher is gone"));
        }
        Ok((ways, assess::namespaces(self.sandbox, go)))
    }

    fn fence(&self, identity: Identity) -> io::Result<Fence> {
        let mut write = self.sources.paths(&[Use::Write, Use::Device]);
        write.push(SCRATCH.into());
        // They are counted for this user namespace alone, its first process among them.
        let counted = identity.is_counted();
        let gaps = Gaps {
            read: vec!["/".into()],
            write,
            connect: Ports::All,
            bind: true,
            unix_sockets: true,
            local: Local { processes: counted.then(|| u64::from(self.sandbox.pids) + 1), file: None },
        };
        Fence::new(self.sandbox, gaps)
    }

    fn begin(&mut self, ways: &Ways, mut fence: Fence) -> Result<Pid, Refusal> {
        let Assignment { run, order } = self.assignment;
        let mut decided = ways.environment.clone();
        for name in ["HOME", "TMPDIR"] {
            decided.push((name.to_owned(), SCRATCH.to_owned()));
        }
        let environment = program::environment(order, run, decided);
        // Not kept here: the program may close its streams and stay, and that should be seen outside.
        let streams =
            self.streams.take().ok_or_else(|| Refusal::Setup("the program has no streams".to_owned()))?;
        let directory = SCRATCH.as_ref();
        let mut command = program::command(order, &environment, directory, streams);
        sys::before_exec(&mut command, move || fence.put_on());
        program::spawn(command, directory)
    }
}

/// Waits for every child, ours and those that lost their parents, until it is this one.
fn reap_until(first: Pid) -> Status {
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == first => return program::status(status),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return Status::Unknown,
        }
    }
}

fn ending(status: Status) -> Ending {
    Ending { status, over: None, usage: Usage::default() }
}

fn at(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}
