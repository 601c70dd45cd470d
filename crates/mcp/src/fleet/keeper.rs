//! What supervises one server: starts it, sees its end, starts it again, and leaves it alone when it fails too often.
//!
//! A keeper is one task that goes from state to state; what it is told comes as [`Order`]s, and what it does is seen in
//! the server's `Moment`. Health means that lists answer: a server is ready when its tools were listed.

mod attempt;
mod tend;

use std::sync::Arc;
use std::time::Duration;

use covenant_gate::random;
use covenant_model::audit::Kind;
use covenant_model::server::{ServerState, Start};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout};

use super::backoff::{After, Backoff};
use super::line::Line;
use super::server::{Moment, Order, Server};

/// How long a new server waits for the one before it to end.
const HANDOVER: Duration = Duration::from_secs(2);

/// What a keeper does next.
pub(super) enum Next {
    /// Nothing, until it is told to.
    Rest(ServerState, Option<Arc<str>>),
    /// Starts it.
    Try,
    /// Waits before it tries again.
    Pause(Duration, Arc<str>),
    /// Looks after it.
    Tend(Arc<Line>, watch::Receiver<u64>),
    /// Nothing any more.
    End,
}

/// Supervises one server.
pub(super) struct Keeper {
    server: Arc<Server>,
    orders: mpsc::Receiver<Order>,
    backoff: Backoff,
    quarantined: bool,
    /// When it was tried last.
    tried: Option<Instant>,
    /// It is needed for more than to learn what it has.
    needed: bool,
}

impl Keeper {
    pub(super) fn new(server: Arc<Server>, orders: mpsc::Receiver<Order>) -> Self {
        let needed = server.plan.start == Start::Eager;
        Self { server, orders, backoff: Backoff::default(), quarantined: false, tried: None, needed }
    }

    /// Does it, until the server is not wanted any more. The one before it ends first.
    pub(super) async fn keep(mut self, first: Next, before: Option<Arc<Server>>) {
        if let Some(before) = before {
            let _ = timeout(HANDOVER, before.open.none()).await;
        }
        let mut next = first;
        loop {
            next = match next {
                Next::Rest(state, error) => self.rest(state, error).await,
                Next::Try => self.attempt().await,
                Next::Pause(span, error) => self.pause(span, error).await,
                Next::Tend(line, changed) => self.tend(line, changed).await,
                Next::End => break,
            };
        }
        self.server.berths.end();
        self.now(|moment| {
            (moment.state, moment.trying, moment.line) = (ServerState::Stopped, false, None);
        });
    }

    /// Changes what others see of it.
    fn now(&self, change: impl FnOnce(&mut Moment)) {
        self.server.moment.send_modify(change);
    }

    fn record(&self, kind: Kind, what: &str) {
        self.server.shared.records.add(kind, &self.server.name, what);
    }

    async fn rest(&mut self, state: ServerState, error: Option<Arc<str>>) -> Next {
        self.needed = false;
        if state == ServerState::Disabled {
            self.server.shared.catalogue.clear(&self.server);
        }
        self.now(|moment| {
            (moment.state, moment.trying, moment.line) = (state, false, None);
            moment.error = error;
        });
        loop {
            match self.told().await {
                Some(Order::Wake) if state != ServerState::Disabled => return self.begin(None),
                Some(Order::Connect(taken) | Order::Restart(taken)) => {
                    self.forgive();
                    return self.begin(Some(taken));
                }
                Some(Order::Disconnect(taken)) => return self.away(taken),
                Some(Order::Failed(reason)) if state == ServerState::Stopped => {
                    if let Some(next) = self.counted(&reason) {
                        return next;
                    }
                }
                Some(Order::Wake | Order::Failed(_)) => {}
                None => return Next::End,
            }
        }
    }

    /// The next order; nothing when the server is not wanted any more.
    async fn told(&mut self) -> Option<Order> {
        tokio::select! {
            biased;
            () = self.server.gone.cancelled() => None,
            order = self.orders.recv() => order,
        }
    }

    /// Says that it is being started, before whoever ordered that looks.
    fn begin(&mut self, taken: Option<oneshot::Sender<()>>) -> Next {
        self.needed = true;
        self.tries();
        if let Some(taken) = taken {
            let _ = taken.send(());
        }
        Next::Try
    }

    /// Says that it is being started.
    fn tries(&self) {
        let state = if self.tried.is_some() { ServerState::Restarting } else { ServerState::Starting };
        self.now(|moment| (moment.state, moment.trying, moment.line) = (state, true, None));
    }

    /// Says that it stays away.
    fn away(&self, taken: oneshot::Sender<()>) -> Next {
        self.server.berths.end();
        self.server.shared.catalogue.clear(&self.server);
        self.now(|moment| {
            (moment.state, moment.trying, moment.line) = (ServerState::Disabled, false, None);
        });
        let _ = taken.send(());
        Next::Rest(ServerState::Disabled, None)
    }

    /// A person asked: what was is forgotten. Most likely the server is another one since.
    fn forgive(&mut self) {
        self.server.forget_era();
        self.backoff.forgive();
        self.quarantined = false;
    }

    async fn pause(&mut self, span: Duration, error: Arc<str>) -> Next {
        self.now(|moment| {
            (moment.state, moment.trying, moment.line) = (ServerState::Restarting, false, None);
            moment.error = Some(error);
        });
        let over = tokio::time::sleep(span);
        tokio::pin!(over);
        loop {
            let order = tokio::select! {
                order = self.told() => order,
                () = &mut over => return Next::Try,
            };
            return match order {
                Some(Order::Wake) => self.begin(None),
                Some(Order::Connect(taken) | Order::Restart(taken)) => {
                    self.forgive();
                    self.begin(Some(taken))
                }
                Some(Order::Disconnect(taken)) => self.away(taken),
                Some(Order::Failed(reason)) => match self.counted(&reason) {
                    Some(next) => next,
                    None => continue,
                },
                None => Next::End,
            };
        }
    }

    /// A connection of one caller's own could not be made. That counts as any other failure: where it is one too many,
    /// the server is left alone. Otherwise nothing follows.
    fn counted(&mut self, reason: &Arc<str>) -> Option<Next> {
        let after = self.backoff.failed(Instant::now(), None, 0);
        self.now(|moment| moment.error = Some(Arc::clone(reason)));
        (after == After::Quarantine).then(|| {
            self.quarantine(reason);
            self.now(|moment| {
                (moment.state, moment.trying, moment.line) = (ServerState::Quarantined, false, None);
            });
            Next::Rest(ServerState::Quarantined, Some(Arc::clone(reason)))
        })
    }

    /// Says once that it is left alone.
    fn quarantine(&mut self, reason: &str) {
        if !std::mem::replace(&mut self.quarantined, true) {
            let told = format!("it failed too often; the last time it {reason}");
            self.record(Kind::ServerQuarantined, &told);
        }
    }

    /// It failed: tried again, now or later, or left alone.
    fn failed(&mut self, reason: &str, up_since: Option<Instant>) -> Next {
        let reason: Arc<str> = reason.into();
        self.record(Kind::ServerFailed, &reason);
        let chance = random::bytes::<1>().map_or(0, |[byte]| byte);
        let after = if self.quarantined {
            After::Quarantine
        } else {
            self.backoff.failed(Instant::now(), up_since, chance)
        };
        // Who waits for this attempt must see its end and what follows as one.
        let (state, trying) = match after {
            After::Again(Duration::ZERO) => (ServerState::Restarting, true),
            After::Again(_) => (ServerState::Restarting, false),
            After::Quarantine => (ServerState::Quarantined, false),
        };
        self.now(|moment| {
            moment.attempts += 1;
            (moment.state, moment.trying, moment.line) = (state, trying, None);
            moment.error = Some(Arc::clone(&reason));
        });
        match after {
            After::Again(Duration::ZERO) => Next::Try,
            After::Again(span) => Next::Pause(span, reason),
            After::Quarantine => {
                self.quarantine(&reason);
                Next::Rest(ServerState::Quarantined, Some(reason))
            }
        }
    }
}
