//! A server that was reached, as supervision sees it: lists, calls, and word of its end.

use std::sync::Arc;
use std::time::Duration;

use covenant_gate::Gate;
use covenant_model::server::{EraChoice, Plan};
use serde_json::value::RawValue;
use tokio::sync::watch;

use crate::upstream::dial::{Dial, NotDialed, Passed, dial};
use crate::upstream::link::{Link, LinkError, ToolCall};
use crate::upstream::ports::{Couriers, Later, LogLine, Programs};
use crate::upstream::scrub::Scrub;

/// A server that was reached.
pub(super) trait Peer: Send + Sync + 'static {
    /// The era it speaks.
    fn era(&self) -> EraChoice;
    /// All its tools.
    fn tools(&self, within: Duration) -> Later<'_, Result<Vec<Box<RawValue>>, LinkError>>;
    /// Calls one.
    fn call<'a>(&'a self, call: ToolCall<'a>) -> Later<'a, Result<Box<RawValue>, LinkError>>;
    /// Grows whenever its tools change.
    fn changed(&self) -> watch::Receiver<u64>;
    /// Comes back when it is gone, with why.
    fn lost(&self) -> Later<'_, Arc<str>>;
    /// Comes back when it does not know our session any more.
    fn forgotten(&self) -> Later<'_, ()>;
    /// `stdio`, `http` or `sse`.
    fn transport(&self) -> &'static str;
    /// Ends it in order.
    fn close(&self) -> Later<'_, ()>;
}

/// Reaches servers.
pub(super) trait Dials: Send + Sync + 'static {
    /// Reaches one.
    fn dial<'a>(
        &'a self,
        plan: &'a Plan,
        era: EraChoice,
        log: LogLine,
        passed: Passed<'a>,
    ) -> Later<'a, Result<Arc<dyn Peer>, NotDialed>>;
}

/// Reaches them for real.
pub(super) struct Roads {
    pub(super) programs: Arc<dyn Programs>,
    pub(super) couriers: Arc<dyn Couriers>,
    /// Says how much may leave.
    pub(super) gate: Arc<Gate>,
}

/// How much longer than what may leave a message may be, and the least it may be: a list is longer than a result.
const AROUND: usize = 1024 * 1024;
const LEAST: usize = 8 * 1024 * 1024;

impl Dials for Roads {
    fn dial<'a>(
        &'a self,
        plan: &'a Plan,
        era: EraChoice,
        log: LogLine,
        passed: Passed<'a>,
    ) -> Later<'a, Result<Arc<dyn Peer>, NotDialed>> {
        Box::pin(async move {
            let (programs, couriers) = (&*self.programs, &*self.couriers);
            // A result that is a little too long is refused by the gate, which says what to raise.
            let limit = self.gate.config().output_bytes.saturating_add(AROUND).max(LEAST);
            let scrub = Scrub::of(&self.gate);
            let link = dial(Dial { plan, era, programs, couriers, log, limit, scrub }, passed).await?;
            Ok(Arc::new(link) as Arc<dyn Peer>)
        })
    }
}

impl Peer for Link {
    fn era(&self) -> EraChoice {
        Self::era(self)
    }

    fn tools(&self, within: Duration) -> Later<'_, Result<Vec<Box<RawValue>>, LinkError>> {
        Box::pin(Self::tools(self, within))
    }

    fn call<'a>(&'a self, call: ToolCall<'a>) -> Later<'a, Result<Box<RawValue>, LinkError>> {
        Box::pin(Self::call(self, call))
    }

    fn changed(&self) -> watch::Receiver<u64> {
        Self::changed(self)
    }

    fn lost(&self) -> Later<'_, Arc<str>> {
        Box::pin(Self::lost(self))
    }

    fn forgotten(&self) -> Later<'_, ()> {
        Box::pin(Self::forgotten(self))
    }

    fn transport(&self) -> &'static str {
        Self::transport(self)
    }

    fn close(&self) -> Later<'_, ()> {
        Box::pin(Self::close(self))
    }
}
