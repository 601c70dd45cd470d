//! One external server: its plan, how it is now, and the ways to reach it, list its tools and tell it what to do.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use covenant_gate::Gate;
use covenant_model::server::{EraChoice, Plan, ServerState};
use parking_lot::Mutex;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::berths::Berths;
use super::catalogue::Catalogue;
use super::kept::Kept;
use super::line::{Line, Spent};
use super::open::Open;
use super::peer::Dials;
use super::records::Records;
use super::ring::Ring;
use super::slots::Slots;
use crate::reply::METHOD_NOT_FOUND;
use crate::upstream::dial::HANDSHAKE;
use crate::upstream::link::LinkError;
use crate::upstream::ports::Notes;
use crate::upstream::scrub::Scrub;
use crate::upstream::wire::WireError;

/// How many orders may wait for a server's keeper.
const ORDERS: usize = 64;

/// How much later than a deadline that others keep we lose patience ourselves.
const GRACE: Duration = Duration::from_millis(500);

/// How long a server that is not wanted any more must be quiet: calls may be on their way to it.
pub(super) const LINGER: Duration = Duration::from_millis(300);

/// What all servers share.
pub(super) struct Shared {
    pub(super) gate: Arc<Gate>,
    pub(super) scrub: Scrub,
    pub(super) dials: Arc<dyn Dials>,
    pub(super) notes: Arc<dyn Notes>,
    pub(super) records: Arc<Records>,
    pub(super) catalogue: Arc<Catalogue>,
    pub(super) open: Arc<Open>,
    /// Everything stops.
    pub(super) halt: CancellationToken,
}

/// How a server is at a moment.
#[derive(Clone)]
pub(super) struct Moment {
    pub(super) state: ServerState,
    /// An attempt to start it is under way.
    pub(super) trying: bool,
    /// How many attempts have ended.
    pub(super) attempts: u64,
    /// What everybody shares, where it answers.
    pub(super) line: Option<Arc<Line>>,
    /// What went wrong last.
    pub(super) error: Option<Arc<str>>,
}

/// What a server's keeper is told.
pub(super) enum Order {
    /// A call needs it.
    Wake,
    /// Run.
    Connect(oneshot::Sender<()>),
    /// Stay away.
    Disconnect(oneshot::Sender<()>),
    /// End and run anew.
    Restart(oneshot::Sender<()>),
    /// A connection of one caller's own could not be made.
    Failed(Arc<str>),
}

/// One server under one plan.
pub(super) struct Server {
    /// No two are alike, not even of the same name.
    pub(super) id: u64,
    pub(super) name: Arc<str>,
    /// Since when it is wanted.
    pub(super) since: Instant,
    pub(super) plan: Plan,
    pub(super) shared: Arc<Shared>,
    pub(super) ring: Arc<Ring>,
    pub(super) slots: Slots,
    pub(super) berths: Berths,
    pub(super) open: Arc<Open>,
    pub(super) moment: watch::Sender<Moment>,
    pub(super) restarts: AtomicU32,
    /// It is not wanted any more, or another plan has taken its place.
    pub(super) gone: CancellationToken,
    /// The era it was found to speak.
    pub(super) era: Mutex<Option<EraChoice>>,
    pub(super) kept: Kept,
    orders: mpsc::Sender<Order>,
}

impl Server {
    /// A server, and the orders its keeper will get.
    pub(super) fn new(
        plan: Plan,
        shared: &Arc<Shared>,
        ring: Arc<Ring>,
    ) -> (Arc<Self>, mpsc::Receiver<Order>) {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let (orders, received) = mpsc::channel(ORDERS);
        let moment =
            Moment { state: ServerState::Starting, trying: true, attempts: 0, line: None, error: None };
        let server = Self {
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            name: plan.name.as_str().into(),
            since: Instant::now(),
            shared: Arc::clone(shared),
            ring,
            slots: Slots::new(plan.max_in_flight),
            berths: Berths::default(),
            open: Open::new(Some(&shared.open)),
            moment: watch::Sender::new(moment),
            restarts: AtomicU32::new(0),
            gone: shared.halt.child_token(),
            orders,
            era: Mutex::new(None),
            kept: Kept::default(),
            plan,
        };
        (Arc::new(server), received)
    }

    /// Reaches it anew; otherwise a clause that can follow its name.
    pub(super) async fn dial(&self) -> Result<Arc<Line>, String> {
        let (log, tail) = self.ring.begin();
        let remembered = *self.era.lock();
        let era = match self.plan.era {
            EraChoice::Auto => remembered.unwrap_or(EraChoice::Auto),
            forced => forced,
        };
        let within = self.plan.start_timeout;
        let mut passed = |_: &'static str, _: Duration| {};
        let dialed = self.shared.dials.dial(&self.plan, era, log, &mut passed);
        let reason = match timeout(within + GRACE, dialed).await {
            Ok(Ok(peer)) => {
                *self.era.lock() = Some(peer.era());
                return Ok(Line::new(peer, tail, self.open.one()));
            }
            Ok(Err(not)) if not.phase == HANDSHAKE => {
                // It may speak another era since, and why it failed says nothing of that: the next time it is asked.
                // One that ends when it is asked is greeted in the older way within the same attempt.
                self.forget_era();
                format!("failed in the handshake: it {}", not.reason)
            }
            Ok(Err(not)) => not.reason,
            Err(_) => format!("did not answer within {} s (`start_timeout_secs`)", within.as_secs_f64()),
        };
        settle().await;
        Err(format!("{reason}{}", tail.told()))
    }

    /// The next time it is asked which era it speaks.
    pub(super) fn forget_era(&self) {
        *self.era.lock() = None;
    }

    /// Asks it for its tools; otherwise a clause that can follow its name.
    pub(super) async fn list(&self, line: &Line) -> Result<Vec<Box<RawValue>>, String> {
        let within = self.plan.list_timeout;
        match timeout(within + GRACE, line.peer.tools(within)).await {
            Ok(Ok(list)) => Ok(list),
            Ok(Err(error @ LinkError::Wire(WireError::SessionLost))) => {
                line.spend(Spent::Session);
                Err(error.to_string())
            }
            // It has no tools at all.
            Ok(Err(LinkError::Rpc(failure))) if failure.code == i64::from(METHOD_NOT_FOUND) => Ok(Vec::new()),
            Err(_) | Ok(Err(LinkError::Total(_))) => {
                Err(format!("did not list its tools within {} s (`list_timeout_secs`)", within.as_secs_f64()))
            }
            Ok(Err(error)) => Err(format!("did not list its tools: it {error}{}", line.tail.told())),
        }
    }

    /// Says that a call needs it. One that waits already is enough.
    pub(super) fn wake(&self) {
        let _ = self.orders.try_send(Order::Wake);
    }

    /// Says that a connection of one caller's own could not be made. Where many wait to be heard, one more says nothing new.
    pub(super) fn failed(&self, reason: &str) {
        let _ = self.orders.try_send(Order::Failed(reason.into()));
    }

    /// Gives an order, and comes back when it is being followed.
    pub(super) async fn order(&self, order: impl FnOnce(oneshot::Sender<()>) -> Order + Send) {
        let (taken, heard) = oneshot::channel();
        if self.orders.send(order(taken)).await.is_ok() {
            let _ = heard.await;
        }
    }

    /// Comes back when no attempt to start it is under way.
    pub(super) async fn settled(&self) {
        let _ = self.moment.subscribe().wait_for(|moment| !moment.trying).await;
    }
}

/// Gives the last lines of a program that just ended the time to arrive.
pub(super) async fn settle() {
    tokio::time::sleep(Duration::from_millis(20)).await;
}
