//! The keeper of one child: the task that talks to its launcher from the first word to the last, and sees to it that
//! nothing is left: no process, no zombie, no record.

use std::net::TcpListener;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, sleep_until, timeout};

use crate::child::Doors;
use crate::control::{Wish, Word};
use crate::ending::{Ending, Status, Usage};
use crate::launch::StartError;
use crate::ledger::{Ledger, LedgerError, Record};
use crate::report::Report;
use crate::sweep;
use crate::trace::Trace;
use crate::wire::Wire;

/// How long standard error may stay open after the end: only somebody outside the run can hold it then.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// The end of a run that nobody saw.
pub(crate) const UNSEEN: Ending = Ending {
    status: Status::Unknown,
    over: None,
    usage: Usage { user_ms: 0, system_ms: 0, peak_memory_kb: 0 },
};

/// What the owner of a child may ask for. To ask for nothing any more, by dropping the other end, is to ask for the end.
#[derive(Debug)]
pub(crate) enum Ask {
    /// Send the program this signal.
    Signal(i32),
    /// End everything.
    End,
}

/// What a launcher has to be given.
#[derive(Debug)]
pub(crate) struct Orders {
    /// The line that says what to start.
    pub(crate) assignment: Vec<u8>,
    /// What becomes the program's standard input, output and error.
    pub(crate) streams: [OwnedFd; 3],
    /// The program, for sentences about it.
    pub(crate) program: PathBuf,
}

/// How long a launcher may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// Until the program runs.
    pub(crate) start: Duration,
    /// To end everything, which it tries for 20 s, and then itself.
    pub(crate) end: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { start: Duration::from_secs(30), end: Duration::from_secs(30) }
    }
}

/// What a launcher said of a program that runs.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) report: Report,
    pub(crate) doors: Doors,
}

/// What one child needs to be kept.
#[derive(Debug)]
pub(crate) struct Keeper {
    pub(crate) launcher: tokio::process::Child,
    pub(crate) wire: Wire,
    pub(crate) ended: watch::Sender<Option<Ending>>,
    pub(crate) drain: JoinHandle<()>,
    pub(crate) record: Record,
    pub(crate) ledger: Option<Arc<Ledger>>,
    pub(crate) patience: Patience,
}

impl Keeper {
    /// Everything, from the order to the end. Whether the program runs is said as soon as it is known.
    pub(crate) async fn keep(
        mut self,
        orders: Orders,
        ready: oneshot::Sender<Result<Started, StartError>>,
        mut asks: mpsc::UnboundedReceiver<Ask>,
    ) {
        let patience = self.patience.start;
        let begun = tokio::select! {
            begun = timeout(patience, self.begin(orders)) => begun.unwrap_or(Err(StartError::Late(patience))),
            // Whoever wanted it no longer waits. Nobody can ask for anything else yet.
            _ = asks.recv() => Err(StartError::Gone),
        };
        match begun {
            Ok(started) => {
                // Who no longer waits has dropped the other end of `asks` too.
                ready.send(Ok(started)).ok();
                let ending = self.watch(&mut asks).await;
                self.settle(ending).await;
            }
            Err(error) => {
                let nothing_ran = error.is_refusal().then_some(UNSEEN);
                ready.send(Err(error)).ok();
                self.wire.hang_up();
                let ending = if nothing_ran.is_some() { nothing_ran } else { self.watch(&mut asks).await };
                self.settle(ending).await;
            }
        }
    }

    /// Has the program started.
    async fn begin(&mut self, orders: Orders) -> Result<Started, StartError> {
        self.write_down().await?;
        let streams = orders.streams.each_ref().map(|stream| stream.as_fd());
        self.wire.say(&orders.assignment, &streams).await.map_err(|_| StartError::Gone)?;
        // The program's ends must be the program's alone, or ours would never see theirs closed.
        drop(orders.streams);
        match self.wire.hear().await {
            Ok(Some(Word::Ready { pid, report, door, proxy })) => {
                self.record.program = self.record.launcher.and_then(|launcher| Trace::below(launcher, pid));
                self.write_down().await?;
                Ok(Started {
                    report,
                    doors: Doors { door: self.listener(door)?, proxy: self.listener(proxy)? },
                })
            }
            Ok(Some(Word::Refused(refusal))) => Err(StartError::refused(refusal, orders.program)),
            Ok(Some(Word::Ended(_))) => Err(StartError::Answer("an end without a beginning".into())),
            Ok(None) => Err(StartError::Gone),
            Err(error) => Err(StartError::Answer(error.to_string())),
        }
    }

    fn listener(&mut self, comes: bool) -> Result<Option<TcpListener>, StartError> {
        if !comes {
            return Ok(None);
        }
        let missing = || StartError::Answer("a listener did not come along".into());
        let listener = TcpListener::from(self.wire.descriptor().ok_or_else(missing)?);
        listener.set_nonblocking(true).map_err(|error| StartError::Answer(error.to_string()))?;
        Ok(Some(listener))
    }

    /// Passes on what is asked for until the launcher says how it ended; none if it never does.
    async fn watch(&mut self, asks: &mut mpsc::UnboundedReceiver<Ask>) -> Option<Ending> {
        let mut deadline = None;
        loop {
            tokio::select! {
                biased;
                word = self.wire.hear() => match word {
                    Ok(Some(Word::Ended(ending))) => return Some(ending),
                    Ok(Some(_)) => {}
                    Ok(None) | Err(_) => return None,
                },
                // Its end of the socket may live on in a process that it started.
                _ = self.launcher.wait() => return self.last_word(),
                ask = asks.recv(), if deadline.is_none() => match ask {
                    // A launcher that cannot take the wish will not take the end of the socket either, and is killed.
                    Some(Ask::Signal(signal)) => self.wire.wish(&Wish::Signal(signal)).unwrap_or_default(),
                    Some(Ask::End) | None => {
                        self.wire.hang_up();
                        deadline = Some(Instant::now() + self.patience.end);
                    }
                },
                () = passing(deadline) => {
                    self.launcher.start_kill().ok();
                    return None;
                }
            }
        }
    }

    fn last_word(&mut self) -> Option<Ending> {
        let ended = |word| if let Word::Ended(ending) = word { Some(ending) } else { None };
        self.wire.last_words().into_iter().find_map(ended)
    }

    /// Sees to it that nothing is left, and only then says how it ended.
    async fn settle(mut self, ending: Option<Ending>) {
        if timeout(self.patience.end, self.launcher.wait()).await.is_err() {
            self.launcher.start_kill().ok();
            timeout(self.patience.end, self.launcher.wait()).await.ok();
        }
        if ending.is_none() {
            let record = self.record.clone();
            spawn_blocking(move || sweep::end(&[record])).await.ok();
        }
        if timeout(LAST_WORDS, &mut self.drain).await.is_err() {
            self.drain.abort();
        }
        if let Err(error) = self.on_ledger(|ledger, record| ledger.remove(&record.run)).await {
            tracing::warn!(target: "covenant", "{error}");
        }
        self.ended.send_replace(Some(ending.unwrap_or(UNSEEN)));
    }

    /// Puts the child on record, as far as it is known.
    async fn write_down(&self) -> Result<(), LedgerError> {
        self.on_ledger(Ledger::write).await
    }

    async fn on_ledger(
        &self,
        work: impl FnOnce(&Ledger, &Record) -> Result<(), LedgerError> + Send + 'static,
    ) -> Result<(), LedgerError> {
        let Some(ledger) = self.ledger.clone() else { return Ok(()) };
        let record = self.record.clone();
        // It fails only when the runtime goes down, and then the record is for the next host.
        spawn_blocking(move || work(&ledger, &record)).await.unwrap_or(Ok(()))
    }
}

/// Comes back when that time has come; never if there is none.
async fn passing(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
