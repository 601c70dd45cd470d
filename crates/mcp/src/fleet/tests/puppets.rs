//! Servers that do what they are told: each start, each call.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use covenant_model::server::{EraChoice, Plan};
use parking_lot::Mutex;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::fleet::peer::{Dials, Peer};
use crate::upstream::dial::{HANDSHAKE, NotDialed, Passed, START};
use crate::upstream::link::{LinkError, ToolCall};
use crate::upstream::ports::{Later, LogLine};
use crate::upstream::wire::{RpcFailure, WireError};

/// How a start goes.
#[derive(Clone)]
pub(super) enum Begin {
    Well,
    /// After that long.
    Late(Duration),
    Fails(&'static str),
    Hangs,
    /// Each of its lists takes that long.
    ListsLate(Duration),
}

/// How servers go on, by name; those that are not told go well and have the tool `echo`.
#[derive(Default)]
pub(super) struct Stage {
    begins: Mutex<HashMap<String, VecDeque<Begin>>>,
    lists: Mutex<HashMap<String, Value>>,
    puppets: Mutex<HashMap<String, Vec<Arc<Puppet>>>>,
    pub(super) dialed: Mutex<Vec<(String, EraChoice)>>,
}

/// One start of a server.
pub(super) struct Puppet {
    list: Mutex<Vec<Box<RawValue>>>,
    changes: watch::Sender<u64>,
    end: watch::Sender<Option<Arc<str>>>,
    log: LogLine,
    pub(super) lists: AtomicUsize,
    pub(super) calls: AtomicUsize,
    pub(super) closed: watch::Sender<bool>,
    takes: Duration,
    /// The next lists fail with that.
    refusals: Mutex<VecDeque<LinkError>>,
    forgot: watch::Sender<bool>,
    /// It is one behind a URL.
    web: bool,
}

pub(super) fn tool(name: &str) -> Value {
    json!({"name": name, "inputSchema": {"type": "object"}})
}

impl Stage {
    /// The next starts of that server; then the last of them again and again.
    pub(super) fn begins(&self, server: &str, begins: impl IntoIterator<Item = Begin>) {
        self.begins.lock().insert(server.to_owned(), begins.into_iter().collect());
    }

    /// The tools of that server, from its next start.
    pub(super) fn lists(&self, server: &str, tools: Value) {
        self.lists.lock().insert(server.to_owned(), tools);
    }

    /// Each start of that server that went well.
    pub(super) fn all(&self, server: &str) -> Vec<Arc<Puppet>> {
        self.puppets.lock().get(server).cloned().unwrap_or_default()
    }

    /// The latest.
    pub(super) fn puppet(&self, server: &str) -> Arc<Puppet> {
        self.all(server).pop().expect("it was started")
    }

    /// How often that server was tried.
    pub(super) fn tries(&self, server: &str) -> usize {
        self.dialed.lock().iter().filter(|(name, _)| name == server).count()
    }
}

fn raw(tools: &Value) -> Vec<Box<RawValue>> {
    tools.as_array().unwrap().iter().map(|tool| to_raw_value(tool).unwrap()).collect()
}

impl Dials for Stage {
    fn dial<'a>(
        &'a self,
        plan: &'a Plan,
        era: EraChoice,
        log: LogLine,
        passed: Passed<'a>,
    ) -> Later<'a, Result<Arc<dyn Peer>, NotDialed>> {
        Box::pin(async move {
            self.dialed.lock().push((plan.name.clone(), era));
            let begin = {
                let mut begins = self.begins.lock();
                let begins = begins.entry(plan.name.clone()).or_default();
                if begins.len() > 1 { begins.pop_front() } else { begins.front().cloned() }
            };
            let begin = begin.unwrap_or(Begin::Well);
            let takes = if let Begin::ListsLate(span) = begin { span } else { Duration::ZERO };
            match begin {
                Begin::Well | Begin::ListsLate(_) => {}
                Begin::Late(span) => tokio::time::sleep(span).await,
                Begin::Hangs => std::future::pending().await,
                Begin::Fails(phase) => {
                    log("cannot go on with hunter");
                    let reason = "ended with exit code 3".to_owned();
                    return Err(NotDialed { phase, reason });
                }
            }
            passed(START, Duration::from_millis(1));
            passed(HANDSHAKE, Duration::from_millis(1));
            let list = self.lists.lock().get(&plan.name).cloned().unwrap_or_else(|| json!([tool("echo")]));
            let puppet = Arc::new(Puppet {
                list: Mutex::new(raw(&list)),
                changes: watch::Sender::new(0),
                end: watch::Sender::new(None),
                log,
                lists: AtomicUsize::new(0),
                calls: AtomicUsize::new(0),
                closed: watch::Sender::new(false),
                takes,
                refusals: Mutex::default(),
                forgot: watch::Sender::new(false),
                web: matches!(plan.reach, covenant_model::server::Reach::Web(_)),
            });
            self.puppets.lock().entry(plan.name.clone()).or_default().push(Arc::clone(&puppet));
            Ok(puppet as Arc<dyn Peer>)
        })
    }
}

impl Puppet {
    /// It has other tools now, and says so.
    pub(super) fn changes(&self, tools: &Value) {
        *self.list.lock() = raw(tools);
        self.says_changed();
    }

    pub(super) fn says_changed(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }

    /// Its next lists fail.
    pub(super) fn refuses(&self, errors: impl IntoIterator<Item = LinkError>) {
        self.refusals.lock().extend(errors);
    }

    /// It does not know our session any more.
    pub(super) fn forgets(&self) {
        self.forgot.send_replace(true);
    }

    /// It writes a line and ends.
    pub(super) fn crashes(&self) {
        (self.log)("the last straw");
        self.end.send_replace(Some("ended with exit code 1".into()));
    }

    pub(super) async fn is_closed(&self) {
        self.closed.subscribe().wait_for(|closed| *closed).await.unwrap();
    }

    /// Comes back when so many calls have reached it.
    pub(super) async fn called(&self, times: usize) {
        while self.calls.load(Ordering::SeqCst) < times {
            tokio::task::yield_now().await;
        }
    }

    async fn answer(&self, call: ToolCall<'_>) -> Result<Box<RawValue>, LinkError> {
        let nth = self.calls.fetch_add(1, Ordering::SeqCst) + 1;
        let lost = |reason: Arc<str>| LinkError::Wire(WireError::Lost(reason));
        match call.tool {
            "hang" => tokio::select! {
                reason = self.lost() => Err(lost(reason)),
                () = tokio::time::sleep(call.idle.min(call.total)) => {
                    Err(if call.idle < call.total { LinkError::Idle(call.idle) } else { LinkError::Total(call.total) })
                }
            },
            "crash" | "crash_safely" => {
                self.crashes();
                Err(lost(self.lost().await))
            }
            "forget" => Err(LinkError::Wire(WireError::SessionLost)),
            "unreachable" => Err(LinkError::Wire(WireError::Failed {
                status: None,
                reason: "could not be reached".to_owned(),
            })),
            "tell" => {
                let message = format!("{}hunter2-hunter2", "x".repeat(3994));
                Err(LinkError::Rpc(RpcFailure { code: -1, message, data: None }))
            }
            "refuse" => {
                let message = "no such thing".to_owned();
                Err(LinkError::Rpc(RpcFailure { code: -32602, message, data: None }))
            }
            _ => Ok(to_raw_value(&json!({"content": [], "structuredContent": {"nth": nth}})).unwrap()),
        }
    }
}

impl Peer for Puppet {
    fn era(&self) -> EraChoice {
        EraChoice::Legacy
    }

    fn tools(&self, _: Duration) -> Later<'_, Result<Vec<Box<RawValue>>, LinkError>> {
        self.lists.fetch_add(1, Ordering::SeqCst);
        let list = self.refusals.lock().pop_front().map_or_else(|| Ok(self.list.lock().clone()), Err);
        Box::pin(async move {
            tokio::time::sleep(self.takes).await;
            list
        })
    }

    fn call<'a>(&'a self, call: ToolCall<'a>) -> Later<'a, Result<Box<RawValue>, LinkError>> {
        Box::pin(self.answer(call))
    }

    fn changed(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    fn lost(&self) -> Later<'_, Arc<str>> {
        let mut end = self.end.subscribe();
        Box::pin(async move { end.wait_for(Option::is_some).await.unwrap().clone().unwrap() })
    }

    fn forgotten(&self) -> Later<'_, ()> {
        let mut forgot = self.forgot.subscribe();
        Box::pin(async move { drop(forgot.wait_for(|forgot| *forgot).await) })
    }

    fn transport(&self) -> &'static str {
        if self.web { "http" } else { "stdio" }
    }

    fn close(&self) -> Later<'_, ()> {
        self.end.send_replace(Some("was stopped".into()));
        self.closed.send_replace(true);
        Box::pin(std::future::ready(()))
    }
}
