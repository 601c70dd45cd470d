//! The sessions of the handshake's era: bound to whoever opened them, kept across restarts, ended when idle.
//!
//! The database says which there are; this table holds those that were used since the daemon started.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use covenant_gate::{Caller, Fault, Gate, random};
use covenant_mcp::server::Session;
use covenant_model::principal::Principal;
use covenant_model::session::{SessionBounds, SessionRecord};
use covenant_model::time::Timestamp;
use covenant_store::Store;
use parking_lot::{Mutex, RwLock};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

/// How many sessions one principal may have.
const PER_PRINCIPAL: usize = 1000;

/// How often what is idle is ended, and what was used is written down.
const SWEEP: Duration = Duration::from_mins(1);

/// The hash a session is known by.
pub(crate) type Key = [u8; 32];

/// All sessions, and all who listen.
pub(crate) struct Sessions {
    store: Arc<Store>,
    table: RwLock<HashMap<Key, Arc<Slot>>>,
    listening: Arc<Mutex<HashMap<Principal, usize>>>,
    /// How many streams one principal may have open: those it listens on, and connections that became MCP.
    most_streams: usize,
    /// How many the database has, as far as was seen.
    kept: AtomicU64,
}

/// One session.
pub(crate) struct Slot {
    pub(crate) session: Arc<Session>,
    key: Key,
    principal: Principal,
    /// When it was last used, in milliseconds.
    used: AtomicU64,
    /// Up to when that is written down.
    written: AtomicU64,
    /// How many streams are open on it: it is not idle while there is one.
    streams: AtomicUsize,
    /// Ends the stream its client listens on.
    stream: Mutex<CancellationToken>,
}

/// Where a session is.
pub(crate) enum Known {
    /// Here, or nowhere.
    Here(Option<Arc<Slot>>),
    /// If anywhere, in the database.
    Elsewhere(Key),
}

/// How long and how many.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) idle: Duration,
    pub(crate) in_all: usize,
}

/// A place among those who listen; dropped, it is free.
pub(crate) struct Place {
    principal: Principal,
    listening: Arc<Mutex<HashMap<Principal, usize>>>,
    slot: Option<Arc<Slot>>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut listening = self.listening.lock();
        if let Some(count) = listening.get_mut(&self.principal) {
            *count -= 1;
            if *count == 0 {
                listening.remove(&self.principal);
            }
        }
        if let Some(slot) = &self.slot {
            slot.streams.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl Slot {
    fn new(
        key: Key,
        principal: Principal,
        session: Arc<Session>,
        used: Timestamp,
        written: Timestamp,
    ) -> Arc<Self> {
        Arc::new(Self {
            session,
            key,
            principal,
            used: AtomicU64::new(used.millis()),
            written: AtomicU64::new(written.millis()),
            streams: AtomicUsize::new(0),
            stream: Mutex::default(),
        })
    }

    fn is_idle(&self, since: Timestamp) -> bool {
        self.used.load(Ordering::Relaxed) < since.millis() && self.streams.load(Ordering::Acquire) == 0
    }

    /// It, if it is that caller's and not over; it is used now.
    fn used_by(self: &Arc<Self>, caller: &Caller, now: Timestamp, limits: Limits) -> Option<Arc<Self>> {
        let theirs = self.principal == *caller.principal() && !self.is_idle(now.minus(limits.idle));
        theirs.then(|| {
            self.used.fetch_max(now.millis(), Ordering::Relaxed);
            self.clone()
        })
    }

    /// Ends the stream its client listened on, for another: each message goes to one of them.
    pub(crate) fn take_over(&self) -> CancellationToken {
        let newer = CancellationToken::new();
        std::mem::replace(&mut *self.stream.lock(), newer.clone()).cancel();
        newer
    }

    /// It is over: whoever listens on it, and whatever it has under way.
    fn end(&self) {
        self.stream.lock().cancel();
        self.session.abandon();
    }
}

/// The key of an id; only what could be one of ours has one.
fn key(id: &str) -> Option<Key> {
    let sound = id.len() == 43 && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    sound.then(|| Sha256::digest(id.as_bytes()).into())
}

impl Sessions {
    pub(crate) fn new(store: Arc<Store>, most_streams: usize) -> Self {
        let (table, listening, kept) = (RwLock::default(), Arc::default(), AtomicU64::new(0));
        Self { store, table, listening, most_streams, kept }
    }

    /// How many there are, as of the last time that one was opened or ended, or we swept.
    pub(crate) fn count(&self) -> u64 {
        self.kept.load(Ordering::Relaxed)
    }

    fn changed_by(&self, more: u64, fewer: usize) {
        let fewer = u64::try_from(fewer).unwrap_or(u64::MAX);
        let _ = self.kept.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |kept| {
            Some((kept + more).saturating_sub(fewer))
        });
    }

    /// Keeps a session that has just begun; the id its client shows from now on.
    pub(crate) async fn open(
        &self,
        session: Arc<Session>,
        principal: &Principal,
        now: Timestamp,
        limits: Limits,
    ) -> Result<String, Fault> {
        let id = URL_SAFE_NO_PAD.encode(random::bytes::<32>()?);
        let Some(key) = key(&id) else { return Err(Fault::new("no session id could be made", "its shape")) };
        let record = SessionRecord {
            id: key,
            principal: principal.clone(),
            state: session.kept(),
            opened_at: now,
            used_at: now,
        };
        let bounds = SessionBounds {
            in_all: limits.in_all,
            per_principal: PER_PRINCIPAL,
            idle_since: now.minus(limits.idle),
        };
        // Those that go are the longest idle: one that was, and is used again, must not be taken for it.
        self.write_down(SWEEP).await?;
        let gone = self.store.add_session(record, bounds).await?;
        self.changed_by(1, gone.len());
        let slot = Slot::new(key, principal.clone(), session, now, now);
        let mut table = self.table.write();
        let ended: Vec<_> = gone.iter().filter_map(|key| table.remove(key)).collect();
        table.insert(key, slot);
        drop(table);
        for slot in &ended {
            slot.end();
        }
        Ok(id)
    }

    /// The caller's session of that id, if it is known here. One that is unknown, over, or another's is none, all alike.
    pub(crate) fn known(&self, id: &str, caller: &Caller, now: Timestamp, limits: Limits) -> Known {
        let Some(key) = key(id) else { return Known::Here(None) };
        match self.table.read().get(&key) {
            Some(slot) => Known::Here(slot.used_by(caller, now, limits)),
            None => Known::Elsewhere(key),
        }
    }

    /// A session from before the daemon started, or of another daemon. Asking the database is counted like a request.
    pub(crate) async fn restore(
        &self,
        key: Key,
        gate: &Arc<Gate>,
        caller: &Caller,
        now: Timestamp,
        limits: Limits,
    ) -> Result<Option<Arc<Slot>>, Fault> {
        if gate.admit(caller).is_err() {
            return Ok(None);
        }
        let Some(record) = self.store.session(key).await? else { return Ok(None) };
        let Some(session) = Session::restored(gate.clone(), &record.state) else { return Ok(None) };
        let slot = Slot::new(key, record.principal, session, record.used_at, record.used_at);
        let slot = self.table.write().entry(key).or_insert(slot).clone();
        Ok(slot.used_by(caller, now, limits))
    }

    /// Writes down what a session knows, after that changed.
    pub(crate) async fn keep(&self, slot: &Slot) -> Result<(), Fault> {
        self.store.set_session_state(slot.key, slot.session.kept()).await.map(drop)
    }

    /// Ends a session.
    pub(crate) async fn close(&self, slot: &Slot) -> Result<(), Fault> {
        let removed = self.store.remove_session(slot.key).await?;
        self.changed_by(0, usize::from(removed));
        self.table.write().remove(&slot.key);
        slot.end();
        Ok(())
    }

    /// A place among those who listen, if the caller has not too many.
    pub(crate) fn place(&self, caller: &Caller, slot: Option<&Arc<Slot>>) -> Option<Place> {
        let mut listening = self.listening.lock();
        let count = listening.entry(caller.principal().clone()).or_default();
        if *count >= self.most_streams {
            return None;
        }
        *count += 1;
        if let Some(slot) = slot {
            slot.streams.fetch_add(1, Ordering::AcqRel);
        }
        let (principal, listening) = (caller.principal().clone(), self.listening.clone());
        Some(Place { principal, listening, slot: slot.cloned() })
    }

    /// Writes down when sessions were last used, of those where that is behind by so much.
    pub(crate) async fn write_down(&self, behind: Duration) -> Result<(), Fault> {
        let behind = u64::try_from(behind.as_millis()).unwrap_or(u64::MAX);
        let newer: Vec<_> = {
            let table = self.table.read();
            let used = table.values().map(|slot| (slot, slot.used.load(Ordering::Relaxed)));
            let newer = used.filter(|(slot, used)| slot.written.load(Ordering::Relaxed) + behind < *used);
            newer.map(|(slot, used)| (slot.clone(), used)).collect()
        };
        if newer.is_empty() {
            return Ok(());
        }
        let rows = newer.iter().map(|(slot, used)| (slot.key, Timestamp::from_millis(*used))).collect();
        self.store.touch_sessions(rows).await?;
        for (slot, used) in newer {
            slot.written.fetch_max(used, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Ends what is idle, and writes down what was used.
    pub(crate) async fn sweep(&self, now: Timestamp, limits: Limits) -> Result<(), Fault> {
        let since = now.minus(limits.idle);
        for slot in self.table.read().values() {
            if slot.streams.load(Ordering::Acquire) > 0 {
                slot.used.fetch_max(now.millis(), Ordering::Relaxed);
            }
        }
        self.write_down(Duration::ZERO).await?;
        self.store.expire_sessions(since).await?;
        self.kept.store(self.store.count_sessions().await?, Ordering::Relaxed);
        let mut ended = Vec::new();
        self.table.write().retain(|_, slot| {
            let idle = slot.is_idle(since);
            if idle {
                ended.push(slot.clone());
            }
            !idle
        });
        for slot in &ended {
            slot.end();
        }
        Ok(())
    }
}

/// Sweeps until the daemon stops.
pub(crate) async fn follow(daemon: Arc<crate::daemon::Daemon>) {
    while !daemon.stop.closing.is_cancelled() {
        if let Err(fault) = daemon.sessions.sweep(daemon.clock.now(), super::limits(&daemon)).await {
            tracing::warn!(target: "mcp", cause = fault.cause(), "idle sessions could not be ended: {fault}");
        }
        tokio::select! {
            () = daemon.stop.closing.cancelled() => {}
            () = tokio::time::sleep(SWEEP) => {}
        }
    }
}
