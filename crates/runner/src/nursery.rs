//! The nursery: where children are started, each with a launcher beside it that ends whatever the child leaves.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::{mpsc, oneshot, watch};

use crate::child::Child;
use crate::drain::drain;
use crate::fit::assignment;
use crate::keeper::{Keeper, Orders, Patience};
use crate::launch::{self, StartError};
use crate::launcher;
use crate::ledger::{Ledger, LedgerError, Record, Swept};
use crate::order::Order;
use crate::pipes::{Input, Output};
use crate::sweep::sweep;
use crate::tail::Tail;
use crate::trace::{self, Trace};
use crate::wire::Wire;

/// Takes the secrets out of one line of standard error.
pub type Scrub = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Hears every line of standard error, once its secrets are taken out and as far as it is shown. It must not wait.
pub type Hear = Arc<dyn Fn(&str) + Send + Sync>;

/// What is done with each line of standard error.
#[derive(Clone)]
pub struct Errors {
    /// Takes its secrets out.
    pub scrub: Scrub,
    /// Who hears it. Then the log is not the only one to have it, and has it among the details.
    pub hear: Option<Hear>,
    /// Whether the log has it as plainly as if nobody else heard it.
    pub aloud: bool,
}

/// The program that stands beside every child and watches it: ours, started again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    /// By absolute path.
    pub program: PathBuf,
    /// What makes it a launcher.
    pub arguments: Vec<String>,
}

impl Launcher {
    /// The program that runs now; on Linux whatever has happened to its file since.
    pub fn own() -> Self {
        #[cfg(target_os = "linux")]
        let program = PathBuf::from("/proc/self/exe");
        #[cfg(not(target_os = "linux"))]
        let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("covenant"));
        Self { program, arguments: vec![launcher::WORD.to_owned()] }
    }
}

/// Starts children. A clone starts them in the same nursery.
#[derive(Debug, Clone)]
pub struct Nursery {
    launcher: Arc<Launcher>,
    ledger: Option<Arc<Ledger>>,
    patience: Patience,
}

impl Nursery {
    /// A nursery without a ledger: if this process and a launcher are both killed, nobody looks for what the child left.
    pub fn new(launcher: Launcher) -> Self {
        Self { launcher: Arc::new(launcher), ledger: None, patience: Patience::default() }
    }

    /// A nursery whose children are recorded in that directory, which is made if it is not there (mode 0700). What an
    /// earlier host recorded there and could not end itself is ended now, which may take seconds.
    pub fn with_ledger(launcher: Launcher, directory: &Path) -> Result<(Self, Swept), LedgerError> {
        let ledger = Ledger::open(directory)?;
        let swept = sweep(&ledger)?;
        Ok((Self { ledger: Some(Arc::new(ledger)), ..Self::new(launcher) }, swept))
    }

    /// Starts a program, and comes back when it runs. Who gives up waiting gives up the program.
    ///
    /// Needs a Tokio runtime that lives as long as the child does.
    pub async fn start(&self, order: Order, scrub: Scrub) -> Result<Child, StartError> {
        self.start_heard(order, Errors { scrub, hear: None, aloud: false }).await
    }

    /// The same, with a word on what is done with its standard error.
    pub async fn start_heard(&self, mut order: Order, errors: Errors) -> Result<Child, StartError> {
        let run = new_run()?;
        #[cfg(target_os = "linux")]
        if let Some(sandbox) = &mut order.sandbox {
            let wanted = std::mem::take(&mut sandbox.scratch);
            sandbox.scratch = crate::linux::scratch::parent(wanted);
        }
        let assignment = assignment(&run, &order)?;
        let pipes = Pipes::new().map_err(short)?;
        let (wire, socket) = Wire::pair().map_err(short)?;
        let launcher = launch::start(&self.launcher, &run, socket)?;
        let tail = Arc::new(Tail::default());
        let drain =
            tokio::spawn(drain(pipes.errors, Arc::clone(&tail), errors, order.name.clone(), run.clone()));
        let (asks, asked) = mpsc::unbounded_channel();
        let (end, ended) = watch::channel(None);
        let (ready, readied) = oneshot::channel();
        let record = record(&run, &order, launcher.id());
        let (ledger, patience) = (self.ledger.clone(), self.patience);
        let keeper = Keeper { launcher, wire, ended: end, drain, record, ledger, patience };
        let orders = Orders { assignment, streams: pipes.theirs, program: order.program };
        tokio::spawn(keeper.keep(orders, ready, asked));
        let started = readied.await.unwrap_or(Err(StartError::Gone))?;
        let (input, valve) = Input::new(pipes.input);
        let (input, output) = (Some(input), Some(Output(pipes.output)));
        Ok(Child {
            run,
            report: started.report,
            input,
            valve,
            output,
            doors: started.doors,
            tail,
            asks,
            ended,
        })
    }
}

/// The host's ends of the three pipes, and the program's.
struct Pipes {
    input: Sender,
    output: Receiver,
    errors: Receiver,
    theirs: [OwnedFd; 3],
}

impl Pipes {
    fn new() -> io::Result<Self> {
        let ((their_input, input), (output, their_output)) = (io::pipe()?, io::pipe()?);
        let (errors, their_errors) = io::pipe()?;
        Ok(Self {
            input: Sender::from_owned_fd(input.into())?,
            output: Receiver::from_owned_fd(output.into())?,
            errors: Receiver::from_owned_fd(errors.into())?,
            theirs: [their_input.into(), their_output.into(), their_errors.into()],
        })
    }
}

fn record(run: &str, order: &Order, launcher: Option<u32>) -> Record {
    let launcher = launcher.and_then(|pid| Trace::of(i32::try_from(pid).ok()?));
    let scratch = order.sandbox.as_ref().map(|sandbox| sandbox.scratch.join(run));
    let (run, name) = (run.to_owned(), order.name.clone());
    Record { run, name, boot: trace::boot(), host: Trace::own(), launcher, program: None, scratch }
}

/// A name for a run that no other has, had or will have.
fn new_run() -> Result<String, StartError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)
        .map_err(|error| StartError::Setup(format!("the system gave no random bytes: {error}")))?;
    Ok(format!("{:016x}", u64::from_be_bytes(bytes)))
}

/// What pipes and sockets fail for.
#[expect(clippy::needless_pass_by_value, reason = "what `map_err` passes")]
fn short(error: io::Error) -> StartError {
    StartError::Setup(format!("this process has no room for its pipes: {error}"))
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests;
