//! Every external server: which there are, how each is, and their tools in the gate's registry.
//!
//! One `keeper` supervises each server. `claims` say which server has which name, `catalogue` what is offered; `call` is the way of a
//! call; `berths` are the connections of servers that are not shared.

mod apply;
mod arrivals;
mod backoff;
mod berths;
mod call;
mod catalogue;
mod claims;
mod intake;
mod keeper;
mod kept;
mod line;
mod notes;
mod open;
mod own;
mod peer;
mod records;
mod ring;
mod server;
mod slots;
mod status;
mod told;
mod tool;
mod trial;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use covenant_gate::Gate;
use covenant_model::server::{Plan, ServerState, ServerStatus, ServerTest, Servers};
use parking_lot::Mutex;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use self::apply::Post;
use self::catalogue::Catalogue;
use self::open::Open;
use self::peer::{Dials, Roads};
use self::records::Records;
use self::server::{Order, Server, Shared};
use crate::upstream::ports::{Couriers, Notes, Programs};
use crate::upstream::scrub::Scrub;

pub use status::{Applied, NoServer, Wanted};

/// How long all servers may take to end.
const STOP: Duration = Duration::from_secs(3);

/// What a fleet is made of.
pub struct Parts {
    /// Whose registry the tools go into, and whose log the rows.
    pub gate: Arc<Gate>,
    /// Starts programs.
    pub programs: Arc<dyn Programs>,
    /// Carries requests.
    pub couriers: Arc<dyn Couriers>,
    /// Keeps lists of tools over restarts.
    pub notes: Arc<dyn Notes>,
}

/// All external servers.
pub struct Fleet {
    shared: Arc<Shared>,
    posts: Mutex<BTreeMap<String, Post>>,
    /// Held while servers are compared and exchanged: what was wanted last must win.
    applying: tokio::sync::Mutex<()>,
}

impl Fleet {
    /// A fleet without servers.
    pub fn new(parts: Parts) -> Arc<Self> {
        let gate = Arc::clone(&parts.gate);
        let roads = Roads { programs: parts.programs, couriers: parts.couriers, gate };
        Self::with(parts.gate, Arc::new(roads), parts.notes)
    }

    fn with(gate: Arc<Gate>, dials: Arc<dyn Dials>, notes: Arc<dyn Notes>) -> Arc<Self> {
        let shared = Shared {
            records: Records::new(Arc::clone(&gate)),
            catalogue: Catalogue::new(Arc::clone(&gate)),
            scrub: Scrub::of(&gate),
            gate,
            dials,
            notes,
            open: Open::new(None),
            halt: CancellationToken::new(),
        };
        let fleet = Arc::new(Self {
            shared: Arc::new(shared),
            posts: Mutex::default(),
            applying: tokio::sync::Mutex::default(),
        });
        fleet.announce();
        fleet
    }

    /// All of them, as they are now. Of files it knows nothing.
    pub fn servers(&self) -> Servers {
        let servers: Vec<_> = self.posts.lock().values().map(Post::status).collect();
        let connected = servers.iter().filter(|server| server.connected).count();
        Servers { total: servers.len(), connected, servers, warnings: Vec::new() }
    }

    /// One of them.
    pub fn server(&self, name: &str) -> Result<ServerStatus, NoServer> {
        self.posts.lock().get(name).map(Post::status).ok_or_else(|| NoServer(name.to_owned()))
    }

    /// The same, once the present attempt to start it has ended either way.
    pub async fn settled(&self, name: &str) -> Result<ServerStatus, NoServer> {
        if let Some(server) = self.find(name)? {
            server.settled().await;
        }
        self.server(name)
    }

    /// Starts it if it does not run, and waits until that has succeeded or failed.
    pub async fn connect(&self, name: &str) -> Result<ServerStatus, NoServer> {
        self.ordered(name, Order::Connect).await
    }

    /// Lets it go. It stays away until it is connected or restarted by command.
    pub async fn disconnect(&self, name: &str) -> Result<ServerStatus, NoServer> {
        self.ordered(name, Order::Disconnect).await
    }

    /// Ends it and starts it anew, and waits until that has succeeded or failed.
    pub async fn restart(&self, name: &str) -> Result<ServerStatus, NoServer> {
        self.ordered(name, Order::Restart).await
    }

    async fn ordered(
        &self,
        name: &str,
        order: impl FnOnce(tokio::sync::oneshot::Sender<()>) -> Order + Send,
    ) -> Result<ServerStatus, NoServer> {
        if let Some(server) = self.find(name)? {
            server.order(order).await;
        }
        self.settled(name).await
    }

    /// The server of that name; nothing where its entry cannot be used.
    fn find(&self, name: &str) -> Result<Option<Arc<Server>>, NoServer> {
        let posts = self.posts.lock();
        posts.get(name).map(|post| post.server.clone()).ok_or_else(|| NoServer(name.to_owned()))
    }

    /// The last lines of its standard error, without secrets, over restarts.
    pub fn log(&self, name: &str) -> Result<Vec<String>, NoServer> {
        let posts = self.posts.lock();
        posts.get(name).map(|post| post.ring.lines()).ok_or_else(|| NoServer(name.to_owned()))
    }

    /// Tries a plan with a connection of its own, beside the one that may be running.
    pub async fn test(&self, plan: &Plan) -> ServerTest {
        trial::trial(&self.shared, plan).await
    }

    /// How many servers are in each state, every state named.
    pub fn counts(&self) -> Vec<(ServerState, usize)> {
        let states: Vec<_> = self.posts.lock().values().map(Post::state).collect();
        let count = |state| states.iter().filter(|other| **other == state).count();
        ServerState::ALL.into_iter().map(|state| (state, count(state))).collect()
    }

    /// Ends all of them, together, and comes back when they have ended or three seconds are over. None starts any more.
    pub async fn stop(&self) {
        self.shared.halt.cancel();
        let _ = timeout(STOP, self.shared.open.none()).await;
        // Whoever does not end in time has its row all the same.
        self.shared.records.flushed(STOP).await;
    }
}
