//! One attempt to start a server: it is reached, and its tools are listed, unless it is called off.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use covenant_model::audit::Kind;
use tokio::time::Instant;

use super::{Keeper, Next};
use crate::fleet::server::Order;
use crate::fleet::told::{era_word, tools};

/// How far apart the tries of a server in quarantine are, however many calls it gets.
const APART: Duration = Duration::from_millis(250);

impl Keeper {
    /// Starts it and asks for its tools.
    pub(super) async fn attempt(&mut self) -> Next {
        self.tries();
        let now = Instant::now();
        let before = self.tried.replace(now);
        if before.is_some() {
            self.server.restarts.fetch_add(1, Ordering::Relaxed);
        }
        let server = Arc::clone(&self.server);
        let begin = before.filter(|_| self.quarantined).map_or(now, |before| before + APART);
        let work = async {
            tokio::time::sleep_until(begin).await;
            let line = server.dial().await?;
            let changed = line.peer.changed();
            match server.list(&line).await {
                Ok(list) => Ok((line, changed, list)),
                Err(reason) => {
                    line.close().await;
                    Err(reason)
                }
            }
        };
        let (line, changed, list) = tokio::select! {
            done = work => match done {
                Ok(done) => done,
                Err(reason) => return self.failed(&reason, None),
            },
            next = self.called_off() => return next,
        };
        let told = format!("it answers over {} and has {}", line.peer.transport(), tools(list.len()));
        self.server.publish(list, line.peer.era()).await;
        let era = era_word(line.peer.era()).unwrap_or_default();
        self.record(Kind::ServerStarted, &format!("{told}, of the {era} era"));
        self.quarantined = false;
        Next::Tend(line, changed)
    }

    /// Comes back when an attempt is not to go on.
    async fn called_off(&mut self) -> Next {
        loop {
            match self.told().await {
                Some(Order::Wake) => self.needed = true,
                Some(Order::Connect(taken)) => {
                    self.needed = true;
                    let _ = taken.send(());
                }
                Some(Order::Restart(taken)) => {
                    self.forgive();
                    return self.begin(Some(taken));
                }
                Some(Order::Disconnect(taken)) => return self.away(taken),
                // This attempt will show; the failure counts all the same.
                Some(Order::Failed(_)) => drop(self.backoff.failed(Instant::now(), None, 0)),
                None => return Next::End,
            }
        }
    }
}
