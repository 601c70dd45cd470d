//! The sessions of the handshake's era: bound to whoever opened them, kept across restarts, ended when idle.
//!
//! The database says which there are; this table holds those that were used since the daemon started.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use covenant_gate::{CallError, Caller, Fault, Gate, random};
use covenant_mcp::server::Session;
use covenant_model::principal::{Kind, Principal};
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
    /// Held while a session is opened, restored or ended: none comes back while it goes.
    changing: tokio::sync::Mutex<()>,
}

/// One session.
pub(crate) struct Slot {
    pub(crate) session: Arc<Session>,
    key: Key,
    principal: Principal,
    /// The run of an agent that opened it. Another run of the same agent may act for somebody else.
    run: Option<Caller>,
    /// When it was last used, in milliseconds.
    used: AtomicU64,
    /// Up to when that is written down.
    written: AtomicU64,
    /// How many streams are open on it and requests under way: it is not idle while there is one.
    held: AtomicUsize,
    /// Ends the stream its client listens on.
    stream: Mutex<CancellationToken>,
    /// It is over, and so is every stream on it.
    over: CancellationToken,
}

/// Something that goes on in a session.
pub(crate) struct Held(Arc<Slot>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.held.fetch_sub(1, Ordering::AcqRel);
    }
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
    _held: Option<Held>,
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
    }
}

impl Slot {
    fn new(
        key: Key,
        (principal, run): (Principal, Option<Caller>),
        session: Arc<Session>,
        used: Timestamp,
        written: Timestamp,
    ) -> Arc<Self> {
        Arc::new(Self {
            session,
            key,
            principal,
            run,
            used: AtomicU64::new(used.millis()),
            written: AtomicU64::new(written.millis()),
            held: AtomicUsize::new(0),
            stream: Mutex::default(),
            over: CancellationToken::new(),
        })
    }

    fn is_idle(&self, since: Timestamp) -> bool {
        self.used.load(Ordering::Relaxed) < since.millis() && self.held.load(Ordering::Acquire) == 0
    }

    /// Not idle as long as what it gives is there.
    pub(crate) fn held(self: &Arc<Self>) -> Held {
        self.held.fetch_add(1, Ordering::AcqRel);
        Held(self.clone())
    }

    /// It, if it is that caller's and not over; it is used now.
    fn used_by(self: &Arc<Self>, caller: &Caller, now: Timestamp, limits: Limits) -> Option<Arc<Self>> {
        let theirs = self.principal == *caller.principal()
            && self.run.as_ref().is_none_or(|run| run.is(caller))
            && !self.is_idle(now.minus(limits.idle));
        theirs.then(|| {
            self.used.fetch_max(now.millis(), Ordering::Relaxed);
            self.clone()
        })
    }

    /// Ends the stream its client listened on, for another: each message goes to one of them.
    pub(crate) fn take_over(&self) -> CancellationToken {
        let newer = self.over.child_token();
        std::mem::replace(&mut *self.stream.lock(), newer.clone()).cancel();
        newer
    }

    /// It is over: whoever listens on it, and whatever it has under way.
    fn end(&self) {
        self.over.cancel();
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
        Self {
            store,
            table: RwLock::default(),
            listening: Arc::default(),
            most_streams,
            kept: AtomicU64::new(0),
            changing: tokio::sync::Mutex::default(),
        }
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
        caller: &Caller,
        now: Timestamp,
        limits: Limits,
    ) -> Result<(String, Arc<Slot>), Fault> {
        let principal = caller.principal();
        let id = URL_SAFE_NO_PAD.encode(random::bytes::<32>()?);
        let Some(key) = key(&id) else { return Err(Fault::new("no session id could be made", "its shape")) };
        let record = SessionRecord {
            id: key,
            principal: principal.clone(),
            state: session.kept(),
            opened_at: now,
            used_at: now,
        };
        // Nobody can push everyone else out.
        let per_principal = PER_PRINCIPAL.min(limits.in_all.div_ceil(2));
        // The sweep ends what is idle: the database alone may take one for it that was just used.
        let mut bounds =
            SessionBounds { in_all: limits.in_all, per_principal, idle_since: Timestamp::from_millis(0) };
        let _alone = self.changing.lock().await;
        if usize::try_from(self.count()).is_ok_and(|kept| kept >= per_principal) {
            // Some may have to go, the longest idle: what is only known here must be known there first.
            self.write_down(now).await?;
            bounds.idle_since = now.minus(limits.idle);
        }
        let gone = self.store.add_session(record, bounds).await?;
        self.changed_by(1, gone.len());
        let run = caller.dispatch().map(|_| caller.clone());
        let slot = Slot::new(key, (principal.clone(), run), session, now, now);
        let mut table = self.table.write();
        let ended: Vec<_> = gone.iter().filter_map(|key| table.remove(key)).collect();
        table.insert(key, Arc::clone(&slot));
        drop(table);
        for slot in &ended {
            slot.end();
        }
        Ok((id, slot))
    }

    /// Ends the session of a run with the run.
    pub(crate) async fn close_with_its_run(&self, slot: &Slot) {
        let Some(run) = &slot.run else { return };
        tokio::select! {
            () = run.over() => {}
            () = slot.over.cancelled() => return,
        }
        if let Err(fault) = self.close(slot).await {
            tracing::warn!(target: "mcp", cause = fault.cause(), "the session of a run could not be ended: {fault}");
        }
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
    ) -> Result<Option<Arc<Slot>>, CallError> {
        gate.admit(caller)?;
        let _alone = self.changing.lock().await;
        if let Some(slot) = self.table.read().get(&key) {
            return Ok(slot.used_by(caller, now, limits));
        }
        let Some(record) = self.store.session(key).await? else { return Ok(None) };
        if record.principal.kind() == Kind::Agent {
            // That of a run which an earlier daemon left, or another one has.
            return Ok(None);
        }
        let Some(session) = Session::restored(gate.clone(), &record.state) else { return Ok(None) };
        let slot = Slot::new(key, (record.principal, None), session, record.used_at, record.used_at);
        let slot = self.table.write().entry(key).or_insert(slot).clone();
        Ok(slot.used_by(caller, now, limits))
    }

    /// Writes down what a session knows, after that changed.
    pub(crate) async fn keep(&self, slot: &Slot) -> Result<(), Fault> {
        self.store.set_session_state(slot.key, slot.session.kept()).await.map(drop)
    }

    /// Ends a session; `false` if someone else has just done so.
    pub(crate) async fn close(&self, slot: &Slot) -> Result<bool, Fault> {
        let _alone = self.changing.lock().await;
        if slot.over.is_cancelled() {
            // Whoever asked before us ended it. To ask a busy database again would hold up everyone else.
            return Ok(false);
        }
        let removed = self.store.remove_session(slot.key).await?;
        self.changed_by(0, usize::from(removed));
        self.table.write().remove(&slot.key);
        slot.end();
        Ok(removed)
    }

    /// Ends every session of a principal that is no longer one.
    pub(crate) async fn close_all_of(&self, principal: &Principal) -> Result<(), Fault> {
        let _alone = self.changing.lock().await;
        let gone = self.store.remove_sessions_of(principal).await?;
        self.changed_by(0, gone.len());
        let ended: Vec<_> = {
            let mut table = self.table.write();
            table.extract_if(|_, slot| slot.principal == *principal).collect()
        };
        for (_, slot) in ended {
            slot.end();
        }
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
        let (principal, listening) = (caller.principal().clone(), self.listening.clone());
        Some(Place { principal, listening, _held: slot.map(Slot::held) })
    }

    /// Writes down when sessions were last used. Those in which something goes on are being used.
    pub(crate) async fn write_down(&self, now: Timestamp) -> Result<(), Fault> {
        let newer: Vec<_> = {
            let table = self.table.read();
            for slot in table.values().filter(|slot| slot.held.load(Ordering::Acquire) > 0) {
                slot.used.fetch_max(now.millis(), Ordering::Relaxed);
            }
            let used = table.values().map(|slot| (slot, slot.used.load(Ordering::Relaxed)));
            let newer = used.filter(|(slot, used)| slot.written.load(Ordering::Relaxed) < *used);
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
        self.write_down(now).await?;
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
