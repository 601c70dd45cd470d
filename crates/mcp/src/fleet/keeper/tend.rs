//! Looking after a server that answers: its end, its changes, what it is told, and its rest when nobody needs it.

use std::sync::Arc;
use std::time::Duration;

use covenant_model::audit::Kind;
use covenant_model::server::ServerState;
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio::time::Instant;

use super::{Keeper, Next};
use crate::fleet::line::{Line, Spent};
use crate::fleet::server::{LINGER, Order, Server, settle};
use crate::upstream::ports::Later;

/// How long changes of a list are gathered.
const GATHER: Duration = Duration::from_millis(200);

/// How far apart two questions for a list are: the longer, the more often each list was another one.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_mins(1);

type Listed = Later<'static, Result<Vec<Box<RawValue>>, String>>;

/// When a list is asked for again.
struct Refresh {
    changed: watch::Receiver<u64>,
    /// Nobody will tell of changes any more.
    deaf: bool,
    due: Option<Instant>,
    last: Instant,
    apart: Duration,
    under_way: Option<Listed>,
    /// How often in a row it could not be had.
    failures: u32,
}

impl Refresh {
    fn new(changed: watch::Receiver<u64>) -> Self {
        let (last, apart) = (Instant::now(), SHORTEST);
        Self { changed, deaf: false, due: None, last, apart, under_way: None, failures: 0 }
    }

    /// The list that came was another one: who changes all the time is asked less and less often.
    fn differed(&mut self) {
        self.apart = self.apart.saturating_mul(2).min(LONGEST);
    }

    /// The list could not be had, and what changed is still not known: asked for again, later each time. After how long.
    fn failed(&mut self) -> Duration {
        let wait = SHORTEST.saturating_mul(1 << self.failures.min(10)).min(LONGEST);
        self.failures = self.failures.saturating_add(1);
        self.due = Some(Instant::now() + wait);
        wait
    }

    /// When to ask, now that it says that its list changed.
    fn soonest(&mut self) -> Instant {
        let now = Instant::now();
        if now.duration_since(self.last) > LONGEST {
            self.apart = SHORTEST;
        }
        (now + GATHER).max(self.last + self.apart)
    }

    /// Comes back with the list whenever it was asked for again.
    async fn next(&mut self, server: &Arc<Server>, line: &Arc<Line>) -> Result<Vec<Box<RawValue>>, String> {
        loop {
            if let Some(listed) = &mut self.under_way {
                let list = listed.await;
                self.under_way = None;
                return list;
            }
            tokio::select! {
                changed = self.changed.changed(), if !self.deaf => match changed {
                    Ok(()) if self.due.is_none() => self.due = Some(self.soonest()),
                    Ok(()) => {}
                    Err(_) => self.deaf = true,
                },
                () = until(self.due) => {
                    (self.due, self.last) = (None, Instant::now());
                    let (server, line) = (Arc::clone(server), Arc::clone(line));
                    self.under_way = Some(Box::pin(async move { server.list(&line).await }));
                }
            }
        }
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

async fn quiet(line: &Line, span: Option<Duration>) {
    match span {
        Some(span) => line.quiet_for(span).await,
        None => std::future::pending().await,
    }
}

impl Keeper {
    pub(super) async fn tend(&mut self, line: Arc<Line>, changed: watch::Receiver<u64>) -> Next {
        self.now(|moment| {
            moment.attempts += 1;
            (moment.state, moment.trying, moment.error) = (ServerState::Ready, false, None);
            moment.line = Some(Arc::clone(&line));
        });
        if !self.needed && line.quiet_since().is_some() {
            // It was started to learn what it has.
            return self.stop(&line, "its tools are known, and nobody needs it yet");
        }
        let server = Arc::clone(&self.server);
        let mut refresh = Refresh::new(changed);
        loop {
            tokio::select! {
                biased;
                reason = line.peer.lost() => return self.lost(&line, &reason).await,
                order = self.told() => match order {
                    None => return self.leave(line).await,
                    Some(order) => if let Some(next) = self.follow(order, &line).await {
                        return next;
                    },
                },
                why = line.spent() => {
                    self.release(&line);
                    return match why.failure(line.since.elapsed()) {
                        None => self.begin(None),
                        Some(reason) => self.failed(&reason, Some(line.since)),
                    };
                }
                () = line.peer.forgotten(), if line.serves() => line.spend(Spent::Session),
                list = refresh.next(&server, &line) => match list {
                    Ok(list) => {
                        refresh.failures = 0;
                        if server.publish(list, line.peer.era()).await {
                            refresh.differed();
                        }
                        self.now(|moment| moment.error = None);
                    }
                    Err(reason) => {
                        let wait = refresh.failed().as_secs();
                        let rest = format!("what it listed before is offered, and it is asked again in {wait} s");
                        self.now(|moment| moment.error = Some(format!("{reason}; {rest}").into()));
                    }
                },
                () = quiet(&line, server.plan.idle_stop) => {
                    return self.stop(&line, "nobody has needed it for a while");
                }
            }
        }
    }

    /// Does what it is told; nothing follows where that changes nothing.
    async fn follow(&mut self, order: Order, line: &Arc<Line>) -> Option<Next> {
        match order {
            Order::Wake => None,
            Order::Failed(reason) => {
                let next = self.counted(&reason);
                if next.is_some() {
                    self.release(line);
                }
                next
            }
            Order::Connect(taken) => {
                let _ = taken.send(());
                None
            }
            Order::Disconnect(taken) => {
                self.record(Kind::ServerStopped, "by command");
                let next = self.away(taken);
                line.close().await;
                Some(next)
            }
            Order::Restart(taken) => {
                self.record(Kind::ServerStopped, "by command, to start anew");
                self.server.berths.end();
                self.forgive();
                let next = self.begin(Some(taken));
                line.close().await;
                Some(next)
            }
        }
    }

    /// It ended by itself.
    async fn lost(&mut self, line: &Arc<Line>, reason: &str) -> Next {
        self.now(|moment| {
            (moment.state, moment.trying, moment.line) = (ServerState::Restarting, true, None);
        });
        settle().await;
        self.release(line);
        self.failed(&format!("{reason}{}", line.tail.told()), Some(line.since))
    }

    /// Nobody needs it: it rests until somebody does.
    fn stop(&mut self, line: &Arc<Line>, why: &str) -> Next {
        self.now(|moment| {
            (moment.state, moment.trying, moment.line) = (ServerState::Stopped, false, None);
        });
        self.record(Kind::ServerStopped, why);
        self.release(line);
        Next::Rest(ServerState::Stopped, None)
    }

    /// Lets calls that are under way end, beside whatever is done next.
    fn release(&self, line: &Arc<Line>) {
        self.now(|moment| moment.line = None);
        let (most, halt) = (self.server.plan.call_total, self.server.shared.halt.clone());
        tokio::spawn(Arc::clone(line).let_go(most, halt));
    }

    /// It is not wanted any more. Calls that were on their way to it still find it.
    async fn leave(&mut self, line: Arc<Line>) -> Next {
        let (most, halt) = (self.server.plan.call_total, self.server.shared.halt.clone());
        let unused = async {
            tokio::time::sleep(LINGER).await;
            line.quiet_for(LINGER).await;
        };
        tokio::select! {
            () = unused => {}
            () = halt.cancelled() => {}
            _ = line.peer.lost() => {}
            () = tokio::time::sleep(most) => {}
        }
        self.now(|moment| moment.line = None);
        // Before it is let go: a daemon that stops closes the log when the last connection has closed.
        let halts = halt.is_cancelled();
        self.record(
            Kind::ServerStopped,
            if halts { "the daemon stops" } else { "it is not wanted any more" },
        );
        line.let_go(most, halt).await;
        Next::End
    }
}
