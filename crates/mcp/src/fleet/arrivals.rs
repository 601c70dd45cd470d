//! Which servers may still bring a tool: those that are being started and have never said what they have.

use std::sync::{Arc, Weak};

use covenant_gate::arrivals::{Arrivals, Arriving};
use covenant_model::server::Prefix;

use super::Fleet;
use super::server::Server;

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
                server.settled().await;
            }
        }))
    }
}

fn may_bring(server: &Server, name: &str) -> bool {
    let fits = match &server.plan.prefix {
        Prefix::Named(prefix) => {
            name.strip_prefix(prefix.as_str()).is_some_and(|rest| rest.starts_with("__"))
        }
        Prefix::None => true,
    };
    fits && server.moment.borrow().trying && !server.shared.catalogue.knows(server)
}
