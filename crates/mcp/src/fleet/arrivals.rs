//! Which servers may still bring a tool: those that are being started and have never said what they have.

use std::sync::{Arc, Weak};
use std::time::Duration;

use covenant_gate::arrivals::{Arrivals, Arriving};
use covenant_model::server::Prefix;
use tokio::time::timeout_at;

use super::Fleet;
use super::server::Server;

/// How long after it was taken up a server without a prefix is expected: every name that nobody knows may be one of its
/// tools, and who mistypes one must not wait for a server that hangs.
const ANY_NAME: Duration = Duration::from_secs(2);

impl Fleet {
    /// Lets the gate ask who is expected.
    pub(super) fn announce(self: &Arc<Self>) {
        let this: Weak<Self> = Arc::downgrade(self);
        self.shared.gate.expect(this);
    }
}

impl Arrivals for Fleet {
    fn awaited<'a>(&'a self, name: &'a str) -> Option<Arriving<'a>> {
        let posts = self.posts.lock();
        let servers = posts.values().filter_map(|post| post.server.as_ref());
        let coming: Vec<Arc<Server>> = servers.filter(|server| may_bring(server, name)).cloned().collect();
        if coming.is_empty() {
            return None;
        }
        // An attempt ends with its deadline at the latest.
        Some(Box::pin(async move {
            for server in coming {
                match &server.plan.prefix {
                    Prefix::Named(_) => server.settled().await,
                    Prefix::None => drop(timeout_at(server.since + ANY_NAME, server.settled()).await),
                }
            }
        }))
    }
}

fn may_bring(server: &Server, name: &str) -> bool {
    let fits = match &server.plan.prefix {
        Prefix::Named(prefix) => {
            name.strip_prefix(prefix.as_str()).is_some_and(|rest| rest.starts_with("__"))
        }
        Prefix::None => server.since.elapsed() < ANY_NAME,
    };
    fits && server.moment.borrow().trying && !server.shared.catalogue.knows(server)
}
