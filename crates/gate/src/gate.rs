//! The gate itself: what it holds, how it is opened, and what can be swapped while it runs.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};
use std::time::Instant;

use arc_swap::{ArcSwap, ArcSwapOption};
use covenant_model::audit::{Decision, Event, Kind};
use covenant_model::id::ApprovalId;
use covenant_model::principal::Principal;
use covenant_model::redact::Redactor;
use covenant_model::token::TokenHash;
use covenant_model::tool::ToolName;
use ed25519_dalek::{SigningKey, VerifyingKey};
use parking_lot::RwLock;
use tokio::sync::{broadcast, watch};

use crate::arrivals::Arrivals;
use crate::audit::AuditLog;
use crate::authenticate::TokenTable;
use crate::capability::GrantSet;
use crate::clock::Clock;
use crate::config::Config;
use crate::limit::Bucket;
use crate::meter::Meter;
use crate::observe::Spans;
use crate::ports::{Badge, GateStore, TokenRecord};
use crate::provider::{Completions, Prompts, Resources};
use crate::random;
use crate::refusal::Fault;
use crate::registry::{NotRegistered, Prepared, ToolRegistry};
use crate::seal::Seal;
use crate::signin::Visitors;

/// How many updates of resources a slow listener may fall behind before it takes it that everything changed.
const UPDATES: usize = 256;

/// What a gate is made of.
pub struct Parts {
    /// What can be called.
    pub tools: ToolRegistry,
    /// Where tokens, grants and pending calls are kept.
    pub store: Arc<dyn GateStore>,
    /// Where everything it decides is written.
    pub audit: AuditLog,
    /// What removes secrets.
    pub redactor: Redactor,
    /// What new grants are signed with.
    pub key: SigningKey,
    /// Further keys whose grants count.
    pub trusted: Vec<VerifyingKey>,
    /// The operator's own token.
    pub operator: TokenHash,
    /// The uid that is the operator on our socket.
    pub operator_uid: u32,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Its settings.
    pub config: Config,
    /// Sources of resources.
    pub resources: Vec<Arc<dyn Resources>>,
    /// Sources of prompts.
    pub prompts: Vec<Arc<dyn Prompts>>,
    /// The source of completions.
    pub completions: Option<Arc<dyn Completions>>,
}

/// Everything that can be called, and everything that stands before it.
pub struct Gate {
    pub(crate) tools: ArcSwap<ToolRegistry>,
    pub(crate) store: Arc<dyn GateStore>,
    pub(crate) tokens: ArcSwap<TokenTable>,
    /// The tokens of runs, which are nowhere else.
    pub(crate) runs: RwLock<TokenTable>,
    pub(crate) grants: ArcSwap<GrantSet>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) key: SigningKey,
    pub(crate) operator_uid: u32,
    pub(crate) opened: Instant,
    pub(crate) strangers: Bucket,
    /// Those who are signed in, and those who would be.
    pub(crate) visitors: Visitors,
    pub(crate) resources: Vec<Arc<dyn Resources>>,
    pub(crate) prompts: Vec<Arc<dyn Prompts>>,
    pub(crate) completions: Option<Arc<dyn Completions>>,
    pub(crate) meter: Meter,
    pub(crate) spans: ArcSwapOption<Arc<dyn Spans>>,
    pub(crate) arrivals: ArcSwapOption<Weak<dyn Arrivals>>,
    trusted: Vec<VerifyingKey>,
    operator: TokenHash,
    audit: AuditLog,
    redactor: ArcSwap<Redactor>,
    config: ArcSwap<Config>,
    changes: watch::Sender<u64>,
    pub(crate) decided: watch::Sender<u64>,
    pub(crate) verdicts: broadcast::Sender<ApprovalId>,
    /// Itself, for calls that are made within calls.
    pub(crate) own: Weak<Self>,
    updates: broadcast::Sender<Arc<str>>,
    pub(crate) seal: Seal,
    /// Held from reading the store until the set is swapped: an older set must not come last.
    loading: tokio::sync::Mutex<()>,
    /// Held from reading the tools until they are swapped.
    exchanging: parking_lot::Mutex<()>,
}

impl Gate {
    /// Opens the gate on what the store holds.
    pub async fn open(parts: Parts) -> Result<Arc<Self>, Fault> {
        // No arguments digest to this key: theirs are of JSON.
        let seal = Seal::new(parts.audit.digest(b"the key that seals what clients carry"))?;
        let mut trusted = parts.trusted;
        trusted.push(parts.key.verifying_key());
        let gate = Arc::new_cyclic(|own| Self {
            tools: ArcSwap::from_pointee(parts.tools),
            store: parts.store,
            tokens: ArcSwap::default(),
            runs: RwLock::default(),
            grants: ArcSwap::default(),
            clock: parts.clock,
            key: parts.key,
            operator_uid: parts.operator_uid,
            opened: Instant::now(),
            strangers: Bucket::default(),
            visitors: Visitors::default(),
            resources: parts.resources,
            prompts: parts.prompts,
            completions: parts.completions,
            meter: Meter::default(),
            spans: ArcSwapOption::empty(),
            arrivals: ArcSwapOption::empty(),
            trusted,
            operator: parts.operator,
            audit: parts.audit,
            redactor: ArcSwap::from_pointee(parts.redactor),
            config: ArcSwap::from_pointee(parts.config),
            changes: watch::Sender::new(0),
            decided: watch::Sender::new(0),
            verdicts: broadcast::Sender::new(UPDATES),
            own: own.clone(),
            updates: broadcast::Sender::new(UPDATES),
            seal,
            loading: tokio::sync::Mutex::default(),
            exchanging: parking_lot::Mutex::default(),
        });
        gate.load_tokens().await?;
        gate.load_grants().await?;
        Ok(gate)
    }

    /// Takes the tokens from the store.
    pub(crate) async fn load_tokens(&self) -> Result<(), Fault> {
        let _alone = self.loading.lock().await;
        let mut records = self.store.tokens().await?;
        records.push(TokenRecord {
            id: covenant_model::id::TokenId::from_random(random::bytes()?),
            hash: self.operator,
            principal: Principal::operator(),
            label: "operator".to_owned(),
            badge: Badge::default(),
            created_at: self.clock.now(),
            revoked_at: None,
        });
        let table = TokenTable::of(&records, &self.tokens.load());
        self.tokens.store(Arc::new(table));
        Ok(())
    }

    /// Takes the grants from the store. One whose signature is not ours, or that expired, does not enter.
    pub(crate) async fn load_grants(&self) -> Result<(), Fault> {
        let _alone = self.loading.lock().await;
        let now = self.clock.now();
        let signed = self.store.grants().await?;
        let spent = self.store.spent_grants().await?;
        let (sound, forged): (Vec<_>, Vec<_>) =
            signed.into_iter().partition(|signed| signed.is_signed_by(&self.trusted));
        for signed in &forged {
            tracing::error!(grant.id = %signed.grant.id, "a stored grant has no valid signature and is ignored");
        }
        let valid = sound.into_iter().map(|signed| signed.grant).filter(|grant| !grant.expired(now));
        let set = GrantSet::of(valid, &spent);
        self.grants.store(Arc::new(set));
        self.announce();
        Ok(())
    }

    /// Reads tokens and grants again: others may have changed what a shared database holds.
    pub async fn refresh(&self) -> Result<(), Fault> {
        self.load_tokens().await?;
        self.load_grants().await
    }

    /// Returns when the next grant has expired by then, and has told who listens: lists are shorter now.
    pub async fn next_lapse(&self) {
        let now = self.clock.now();
        let ends = self.grants.load_full();
        let next = ends.all().filter_map(|held| held.grant.expires_at).filter(|end| *end > now).min();
        match next {
            Some(end) => tokio::time::sleep(end.since(now)).await,
            None => std::future::pending().await,
        }
        self.announce();
    }

    /// Says that what can be seen may have changed: faces compare what each of their clients sees.
    pub fn announce(&self) {
        self.changes.send_modify(|revision| *revision = revision.wrapping_add(1));
    }

    /// Changes whenever tools or grants do.
    pub fn changed(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Says that a resource has changed, to whoever follows it and may read it.
    pub fn resource_updated(&self, uri: &str) {
        // Nobody follows: nobody is told.
        let _ = self.updates.send(uri.into());
    }

    /// The URIs of resources that change from now on. Who lags must take it that all have.
    pub fn updates(&self) -> broadcast::Receiver<Arc<str>> {
        self.updates.subscribe()
    }

    /// Replaces the tools; calls that run finish on those they started with.
    pub fn set_tools(&self, tools: ToolRegistry) {
        let _alone = self.exchanging.lock();
        tools.count_on_from(&self.tools.load());
        self.tools.store(Arc::new(tools));
        self.announce();
    }

    /// Takes the tools with those names out and puts others in, all at once; what is left alone stays as it is. They come
    /// prepared, so that nobody waits while schemas are compiled. Those that could not be taken come back, in the order
    /// they were given, each with why.
    pub fn exchange_tools(
        &self,
        out: &BTreeSet<ToolName>,
        tools: Vec<Prepared>,
    ) -> Vec<(ToolName, NotRegistered)> {
        let _alone = self.exchanging.lock();
        let before = self.tools.load_full();
        let mut next = before.without(out);
        let mut refused = Vec::new();
        for tool in tools {
            let name = tool.name().clone();
            if let Err(reason) = next.take(tool) {
                refused.push((name, reason));
            }
        }
        next.count_on_from(&before);
        self.tools.store(Arc::new(next));
        self.announce();
        refused
    }

    /// How many tools there are.
    pub fn tool_count(&self) -> usize {
        self.tools.load().len()
    }

    /// What removes secrets now.
    pub fn redactor(&self) -> Arc<Redactor> {
        self.redactor.load_full()
    }

    /// Replaces what removes secrets.
    pub fn set_redactor(&self, redactor: Redactor) {
        self.redactor.store(Arc::new(redactor));
    }

    /// The settings in force.
    pub fn config(&self) -> arc_swap::Guard<Arc<Config>> {
        self.config.load()
    }

    /// Replaces the settings.
    pub fn set_config(&self, config: Config) {
        self.config.store(Arc::new(config));
    }

    /// The log.
    pub fn audit(&self) -> &AuditLog {
        &self.audit
    }

    /// Why calls are not served now; nothing where they are.
    pub fn health(&self) -> Vec<String> {
        self.audit.health().err().into_iter().collect()
    }

    /// Writes a row of the daemon's own.
    pub async fn record_own(&self, kind: Kind, reason: Option<&str>) -> Result<(), Fault> {
        let mut event = Event::new("daemon", "daemon", kind, Decision::Done);
        event.reason = reason;
        self.audit.append(std::slice::from_ref(&event), &self.redactor()).await.map(drop)
    }

    /// Writes a row of the daemon's own about something in its care, such as `server:files`.
    pub async fn record_about(
        &self,
        kind: Kind,
        about: &str,
        decision: Decision,
        reason: &str,
    ) -> Result<(), Fault> {
        let mut event = Event::new("daemon", about, kind, decision);
        event.reason = Some(reason);
        self.audit.append(std::slice::from_ref(&event), &self.redactor()).await.map(drop)
    }
}
