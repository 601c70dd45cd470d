//! Tools that are on their way: a call of a name that nobody has yet waits for whoever may bring it.
//!
//! A daemon serves before its external servers have answered for the first time. Who calls a tool of theirs then is
//! not told that there is no such tool.

use std::pin::Pin;
use std::sync::{Arc, Weak};

use crate::authenticate::Caller;
use crate::context::Context;
use crate::gate::Gate;
use crate::registry::Entry;

/// Comes when it is decided whether there is such a tool.
pub type Arriving<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Knows who may still bring a tool.
pub trait Arrivals: Send + Sync + 'static {
    /// Waits for those who may bring a tool of that name; nothing where nobody is expected. It must end by itself.
    fn awaited<'a>(&'a self, name: &'a str) -> Option<Arriving<'a>>;
}

impl Gate {
    /// Asks that one from now on, for as long as it is there.
    pub fn expect(&self, arrivals: Weak<dyn Arrivals>) {
        self.arrivals.store(Some(Arc::new(arrivals)));
    }

    /// The tool of that name, if need be once it has come.
    pub(crate) async fn found(&self, caller: &Caller, name: &str, context: &Context) -> Option<Arc<Entry>> {
        if let Some(entry) = self.tools.load().find(name) {
            return Some(Arc::clone(entry));
        }
        if self.arrived(caller, name, context).await { self.tools.load().find(name).cloned() } else { None }
    }

    /// Waits until a tool of that name may have come: whether it is worth looking again. Who could not call it anyway
    /// does not wait, and so learns nothing of who is expected.
    async fn arrived(&self, caller: &Caller, name: &str, context: &Context) -> bool {
        let Some(arrivals) = self.arrivals.load().as_ref().and_then(|arrivals| arrivals.upgrade()) else {
            return false;
        };
        let action = format!("tool.call.{name}");
        if !self.foresees(caller, &action) {
            return false;
        }
        let Some(arriving) = arrivals.awaited(name) else { return false };
        tokio::select! {
            () = arriving => true,
            () = context.cancelled().cancelled() => false,
        }
    }
}
