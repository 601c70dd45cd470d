//! The client's side: its lines are taken while it reads what it is told, and its answers are written in the order they
//! come. When it goes, what it waits for is waited for, and the session is ended.

use std::collections::HashMap;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::{AbortHandle, JoinHandle};
use tokio::time::{sleep, timeout};

use super::MESSAGE;
use super::exchange::{Desk, Heard};
use super::room::Load;
use crate::bridge::ExitReason;
use crate::connection::output::{Broken, Output};
use crate::era::Era;
use crate::framing::{Filled, Line, Lines};
use crate::message::Id;
use crate::reply::RpcError;

/// With more than that on its way to the client, nothing more is taken from either side.
const HIGH: usize = 1024 * 1024;

/// How many messages that want no answer may wait for the origin. More are dropped: they are hints.
const ASIDES: usize = 256;

/// How long answers are waited for once the client has closed its side.
const FAREWELL: Duration = Duration::from_secs(10);

/// How long the origin may take to hear that the client is gone.
const GOODBYE: Duration = Duration::from_secs(2);

/// A request under way.
pub(super) struct Flight {
    pub(super) task: AbortHandle,
    pub(super) era: Era,
    pub(super) lasting: bool,
}

/// The client's side.
pub(super) struct Front<R, W> {
    input: R,
    output: W,
    pub(super) desk: Arc<Desk>,
    heard: Receiver<Heard>,
    from_client: Lines,
    pub(super) to_client: Output,
    pub(super) flights: HashMap<Id, Flight>,
    pub(super) asides: Sender<Load>,
    teller: JoinHandle<()>,
    closed: bool,
}

impl<R, W> Front<R, W>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    pub(super) fn new(input: R, output: W, desk: Arc<Desk>, heard: Receiver<Heard>) -> Self {
        let (asides, waiting) = channel(ASIDES);
        let teller = tokio::spawn(tell(Arc::clone(&desk), waiting));
        Self {
            input,
            output,
            desk,
            heard,
            from_client: Lines::new(MESSAGE),
            to_client: Output::new(Duration::MAX),
            flights: HashMap::new(),
            asides,
            teller,
            closed: false,
        }
    }

    /// Serves the client until it goes.
    pub(super) async fn run(mut self) -> ExitReason {
        let reason = self.serve().await;
        for flight in self.flights.values() {
            flight.task.abort();
        }
        let Self { desk, asides, teller, .. } = self;
        drop(asides);
        let goodbye = async {
            // What was said last is told first: that a request is taken back, an answer to the origin.
            drop(teller.await);
            if let Some(open) = desk.sessions.close().await {
                desk.road.end(&open).await;
            }
        };
        drop(timeout(GOODBYE, goodbye).await);
        reason
    }

    async fn serve(&mut self) -> ExitReason {
        let mut farewell = pin!(None);
        loop {
            let Self { input, output, heard, from_client, to_client, .. } = self;
            let roomy = to_client.len() <= HIGH;
            let unsent = !to_client.is_done();
            tokio::select! {
                biased;
                sent = poll_fn(|cx| to_client.poll_send(cx, Pin::new(&mut *output))), if unsent => match sent {
                    Err(Broken::Failed(error)) if !is_closed(&error) => return ExitReason::Failed(error),
                    Err(_) => return ExitReason::OutputClosed,
                    Ok(()) => {}
                },
                Some(heard) = heard.recv(), if roomy => self.deliver(heard),
                filled = poll_fn(|cx| from_client.poll_fill(cx, Pin::new(&mut *input))), if roomy && !self.closed => {
                    self.closed = !matches!(filled, Ok(Filled::More));
                    self.read();
                    if self.closed {
                        farewell.set(Some(sleep(FAREWELL)));
                    }
                }
                () = over(farewell.as_mut()) => return ExitReason::Abandoned,
            }
            let owed = self.flights.values().any(|flight| !flight.lasting);
            if self.closed && !owed && self.heard.is_empty() && self.to_client.is_done() {
                return ExitReason::InputClosed;
            }
        }
    }

    /// Takes the lines that are there.
    fn read(&mut self) {
        loop {
            let line = match self.from_client.take() {
                Some(Line::Whole(line)) => line.to_vec(),
                Some(Line::TooLong) => {
                    let limit = format_args!("a message may have at most {MESSAGE} bytes");
                    self.refuse(None, &RpcError::invalid_request(limit));
                    continue;
                }
                None => break,
            };
            self.take(&line);
        }
        if self.closed
            && let Some(Line::Whole(line)) = self.from_client.rest()
        {
            let line = line.to_vec();
            self.take(&line);
        }
    }

    fn deliver(&mut self, heard: Heard) {
        let load = match heard {
            Heard::Said(load) => load,
            // Of a request that was taken back nothing is said.
            Heard::Answer(id, load) => match self.flights.remove(&id) {
                Some(_) => load,
                None => return,
            },
        };
        self.to_client.line(|out| out.extend_from_slice(&load.bytes));
    }
}

/// Tells the origin, one after the other, what wants no answer. Without a session there is nobody to tell.
async fn tell(desk: Arc<Desk>, mut waiting: Receiver<Load>) {
    while let Some(load) = waiting.recv().await {
        if let Some(open) = desk.sessions.open().await {
            desk.aside(&open, load.bytes.clone()).await;
        }
    }
}

/// When the time after the client's goodbye is over; never before it.
async fn over(farewell: Pin<&mut Option<tokio::time::Sleep>>) {
    match farewell.as_pin_mut() {
        Some(sleep) => sleep.await,
        None => std::future::pending().await,
    }
}

/// Whether that means only that nobody reads any more.
fn is_closed(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
}
