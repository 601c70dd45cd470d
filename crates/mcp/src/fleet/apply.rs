//! What a new set of wanted servers changes: who goes, who comes, who starts anew under another plan.

use std::sync::Arc;
use std::time::Duration;

use covenant_model::server::{ServerState, ServerStatus, Start};
use futures_util::future::join_all;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

use super::Fleet;
use super::claims::Place;
use super::keeper::{Keeper, Next};
use super::notes;
use super::ring::Ring;
use super::server::{Order, Server};
use super::status::{Applied, Wanted};
use super::told::{prefix, transport};

/// How long the lists that are known from earlier are waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// How many of them are read at a time.
const AT_A_TIME: usize = 4;

/// One wanted server and what there is of it.
pub(super) struct Post {
    pub(super) wanted: Wanted,
    /// Nothing where its entry cannot be used.
    pub(super) server: Option<Arc<Server>>,
    pub(super) ring: Arc<Ring>,
}

impl Post {
    pub(super) fn state(&self) -> ServerState {
        match &self.server {
            Some(server) => server.moment.borrow().state,
            None if self.wanted.enabled => ServerState::Failed,
            None => ServerState::Disabled,
        }
    }

    pub(super) fn status(&self) -> ServerStatus {
        if let Some(server) = &self.server {
            return server.status(&self.wanted.source);
        }
        let plan = self.wanted.plan.as_ref();
        ServerStatus {
            name: self.wanted.name.clone(),
            connected: false,
            state: self.state(),
            tool_count: 0,
            tools: Vec::new(),
            error: plan.err().cloned(),
            refused: Vec::new(),
            prefix: plan.map(|plan| prefix(&plan.prefix)).unwrap_or_default(),
            transport: plan.map(|plan| transport(&plan.reach)).unwrap_or_default().to_owned(),
            era: None,
            source: self.wanted.source.clone(),
            restarts: 0,
        }
    }
}

/// A server that is to be kept from now on.
struct Fresh {
    server: Arc<Server>,
    orders: mpsc::Receiver<Order>,
    before: Option<Arc<Server>>,
    enabled: bool,
}

impl Fresh {
    /// Puts its tools into the registry, where they are known from earlier, and begins to look after it. Of one that is
    /// not to run only the names count.
    async fn begin(self, turns: Arc<Semaphore>) {
        let turn = turns.acquire().await;
        let (server, enabled) = (Arc::clone(&self.server), self.enabled);
        let work = move || {
            if !enabled {
                server.claim();
            }
            enabled && server.recall()
        };
        let known = tokio::task::spawn_blocking(work).await.unwrap_or(false);
        drop(turn);
        self.keep(known);
    }

    fn keep(self, known: bool) {
        let first = match self.server.plan.start {
            _ if self.server.gone.is_cancelled() => Next::End,
            _ if !self.enabled => Next::Rest(ServerState::Disabled, None),
            Start::Lazy if known => Next::Rest(ServerState::Stopped, None),
            _ => Next::Try,
        };
        tokio::spawn(Keeper::new(self.server, self.orders).keep(first, self.before));
    }
}

/// What a new set of wanted servers changes.
#[derive(Default)]
struct Exchange {
    applied: Applied,
    /// All of them, as they are wanted.
    places: Vec<Place>,
    fresh: Vec<Fresh>,
    gone: Vec<Arc<Server>>,
}

impl Fleet {
    /// Makes it so that exactly those servers are there; of two that claim a name, of a server or of a tool, the first
    /// has it. Comes back within about a second: servers start in the background, and the tools that are known from
    /// earlier are in the registry already, but for those that take long to understand.
    pub async fn apply(self: &Arc<Self>, wanted: Vec<Wanted>) -> Applied {
        let _alone = self.applying.lock().await;
        if self.shared.halt.is_cancelled() {
            return Applied::default();
        }
        let Exchange { applied, places, fresh, gone } = self.exchange(wanted);
        for server in &gone {
            server.gone.cancel();
        }
        let shared = Arc::clone(&self.shared);
        let kept: Vec<String> = fresh.iter().map(|fresh| notes::key(&fresh.server.plan)).collect();
        let arranged = tokio::task::spawn_blocking(move || {
            shared.catalogue.arrange(places, &gone);
            for key in gone.iter().map(|server| notes::key(&server.plan)).filter(|key| !kept.contains(key)) {
                shared.notes.forget(&key);
            }
        });
        let _ = arranged.await;
        let turns = Arc::new(Semaphore::new(AT_A_TIME));
        let begun: Vec<_> =
            fresh.into_iter().map(|fresh| tokio::spawn(fresh.begin(Arc::clone(&turns)))).collect();
        // A list that takes longer to understand holds up its own server and nobody else.
        let _ = timeout(PATIENCE, join_all(begun)).await;
        applied
    }

    /// Puts the wanted servers in their places.
    fn exchange(&self, wanted: Vec<Wanted>) -> Exchange {
        let mut posts = self.posts.lock();
        let mut before = std::mem::take(&mut *posts);
        let mut exchange = Exchange::default();
        for wanted in wanted {
            let name = wanted.name.clone();
            if posts.contains_key(&name) {
                continue;
            }
            exchange.places.push(Place::of(&wanted));
            let same = |post: &Post| post.wanted.plan == wanted.plan && post.wanted.enabled == wanted.enabled;
            let post = match before.remove(&name) {
                // The file it comes from may be another one now.
                Some(post) if same(&post) => Post { wanted, ..post },
                Some(post) => {
                    exchange.applied.changed.push(name.clone());
                    exchange.gone.extend(post.server.clone());
                    self.post(wanted, post.ring, post.server, &mut exchange.fresh)
                }
                None => {
                    exchange.applied.added.push(name.clone());
                    self.post(wanted, Arc::default(), None, &mut exchange.fresh)
                }
            };
            posts.insert(name, post);
        }
        for (name, post) in before {
            exchange.applied.removed.push(name);
            exchange.gone.extend(post.server);
        }
        exchange
    }

    fn post(
        &self,
        wanted: Wanted,
        ring: Arc<Ring>,
        before: Option<Arc<Server>>,
        fresh: &mut Vec<Fresh>,
    ) -> Post {
        let server = wanted.plan.as_ref().ok().map(|plan| {
            let (server, orders) = Server::new(plan.clone(), &self.shared, Arc::clone(&ring));
            let enabled = wanted.enabled;
            fresh.push(Fresh { server: Arc::clone(&server), orders, before, enabled });
            server
        });
        Post { wanted, server, ring }
    }
}
