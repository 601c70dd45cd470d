//! A call's own connection to a server that is not shared: made when its caller first calls, under the same supervision
//! as the shared one, and let go when its caller has left or been quiet for long.

use std::sync::Arc;
use std::time::Duration;

use covenant_gate::Context;
use covenant_model::audit::Kind;
use covenant_model::principal::Principal;
use covenant_model::server::{Isolation, ServerState};

use super::berths::{Berth, Whose};
use super::line::{Busy, Line, Spent};
use super::server::{LINGER, Server, settle};

/// After what silence a connection is let go, where its entry does not say.
const QUIET: Duration = Duration::from_mins(10);

impl Server {
    /// Whom the connection of a call is for; nothing where everybody shares one.
    pub(super) fn whose(&self, principal: &Principal, context: &Context) -> Option<Whose> {
        match (self.plan.isolation, context.conversation()) {
            (Isolation::Shared, _) => None,
            (Isolation::Session, Some(session)) => Some(Whose::Session(Arc::as_ptr(session).addr())),
            _ => Some(Whose::Principal(principal.as_str().to_owned())),
        }
    }

    /// A connection for whoever that is; otherwise a clause that can follow the server's name. Who comes while it is
    /// being made waits for it.
    pub(super) async fn own_line(
        self: &Arc<Self>,
        whose: &Whose,
        principal: &Principal,
        context: &Context,
        not: Option<u64>,
    ) -> Result<Busy, String> {
        let session = matches!(whose, Whose::Session(_)).then(|| context.conversation()).flatten();
        let over = session.map(|session| session.over());
        // It can be closed between being made and being taken up; hardly twice.
        for _ in 0..2 {
            let guest = self
                .berths
                .berth(whose, principal.as_str(), over.as_ref(), not)
                .map_err(|full| full.to_string())?;
            let berth = &guest.berth;
            if let Some(busy) = self.berths.enter(whose, berth) {
                return Ok(busy);
            }
            berth.line.get_or_try_init(|| self.make_once(whose, berth)).await?;
            if let Some(busy) = self.berths.enter(whose, berth) {
                return Ok(busy);
            }
        }
        Err("ended while the call began".to_owned())
    }

    /// Makes a connection. Where that fails, all who waited for it hear why, and nobody tries again at this berth.
    async fn make_once(self: &Arc<Self>, whose: &Whose, berth: &Arc<Berth>) -> Result<Arc<Line>, String> {
        if let Some(reason) = berth.failed.get() {
            return Err(reason.clone());
        }
        let made = self.make(whose, berth).await;
        if let Err(reason) = &made {
            let _ = berth.failed.set(reason.clone());
            self.berths.close(whose, berth);
        }
        made
    }

    /// Makes a connection, unless the server is not to run or fails too often, also while it is being made.
    async fn make(self: &Arc<Self>, whose: &Whose, berth: &Arc<Berth>) -> Result<Arc<Line>, String> {
        let made = async {
            self.is_to_run()?;
            let state = self.moment.borrow().state;
            if matches!(state, ServerState::Restarting | ServerState::Quarantined) {
                // Its keeper tries it, once for all who wait.
                drop(self.awaited(None).await?);
            }
            let dialed = self.dial().await;
            if let Err(reason) = &dialed {
                self.shared.records.add(Kind::ServerFailed, &self.name, reason);
                self.failed(reason);
            }
            dialed
        };
        let line = tokio::select! {
            biased;
            () = berth.end.cancelled() => {
                self.is_to_run()?;
                return Err("was stopped while the call began: call again".to_owned());
            }
            () = self.gone.cancelled() => {
                self.is_to_run()?;
                return Err("is gone".to_owned());
            }
            made = made => made?,
        };
        let watch = watch(Arc::clone(self), whose.clone(), Arc::clone(berth), Arc::clone(&line));
        tokio::spawn(watch);
        Ok(line)
    }
}

/// Comes back when a line is of no use any more, whoever finds that out.
async fn spent(line: &Line) -> Spent {
    tokio::select! {
        why = line.spent() => why,
        () = line.peer.forgotten() => Spent::Session,
    }
}

/// Waits for the end of a berth, and ends its line.
async fn watch(server: Arc<Server>, whose: Whose, berth: Arc<Berth>, line: Arc<Line>) {
    let over = async {
        match &berth.over {
            Some(over) => over.cancelled().await,
            None => std::future::pending().await,
        }
    };
    let gone = async {
        server.gone.cancelled().await;
        // Calls may be on their way to it.
        tokio::select! {
            () = tokio::time::sleep(LINGER) => {}
            () = server.shared.halt.cancelled() => {}
        }
    };
    let lost = tokio::select! {
        reason = line.peer.lost() => Some(reason),
        why = spent(&line) => {
            if let Some(reason) = why.failure(line.since.elapsed()) {
                server.failed(&reason);
            }
            None
        }
        () = line.quiet_for(server.plan.idle_stop.unwrap_or(QUIET)) => None,
        () = over => None,
        () = berth.end.cancelled() => None,
        () = gone => None,
    };
    server.berths.close(&whose, &berth);
    if let Some(reason) = lost {
        settle().await;
        let reason = format!("{reason}{}", line.tail.told());
        server.shared.records.add(Kind::ServerFailed, &server.name, &reason);
    }
    line.let_go(server.plan.call_total, server.shared.halt.clone()).await;
}
