//! Programs that serve a tool: in the home's sandbox where the order asks for one, and never with a way to the daemon.

use std::sync::Arc;

use covenant_runner::child::Child;
use covenant_runner::nursery::Nursery;
use covenant_runner::order::Order;
use covenant_tools::ports::{self, Later};
use parking_lot::RwLock;

use crate::daemon::Settings;
use crate::home::Home;

/// Starts them.
pub(super) struct Programs {
    nursery: Nursery,
    home: Home,
    settings: Arc<RwLock<Settings>>,
}

impl Programs {
    pub(super) fn new(nursery: Nursery, home: Home, settings: Arc<RwLock<Settings>>) -> Self {
        Self { nursery, home, settings }
    }

    async fn begin(&self, mut order: Order) -> Result<Child, String> {
        if let Some(sandbox) = &mut order.sandbox {
            self.home.prepare_runs().map_err(|error| error.to_string())?;
            let root = self.home.root();
            sandbox.scratch = self.home.scratch();
            sandbox.required |= self.settings.read().config.sandbox.required;
            sandbox.hidden.extend(root.canonicalize().ok().into_iter().chain([root.to_owned()]));
        }
        let plain = Arc::new(|line: &str| line.to_owned());
        self.nursery.start(order, plain).await.map_err(|error| error.to_string())
    }
}

impl ports::Programs for Programs {
    fn start(&self, order: Order) -> Later<'_, Result<Child, String>> {
        Box::pin(self.begin(order))
    }
}
