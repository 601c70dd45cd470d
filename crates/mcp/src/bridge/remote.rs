//! `covenant --mcp --url ORIGIN`: a client's standard streams on one side, a daemon's `/mcp` over HTTP on the other.
//!
//! Each request of the client is a task of its own: a POST, and what comes back on it. In the handshake's era they share a
//! session, which is opened when it is needed and once more where the origin forgot it. Whatever goes wrong is an answer.

mod exchange;
mod front;
mod greeting;
mod listening;
mod marks;
mod reading;
mod refused;
mod road;
mod room;
mod session;
mod sorting;
mod taking;
mod telling;
#[cfg(test)]
mod tests;
mod trouble;

use std::sync::Arc;
use std::time::Duration;

use covenant_model::secret::Secret;
use tokio::io::{AsyncRead, AsyncWrite};

use self::exchange::Desk;
use self::front::Front;
use self::road::Road;
use super::ExitReason;
use crate::upstream::ports::Couriers;

/// The most bytes of one message, either way. What a daemon takes and gives is less.
const MESSAGE: usize = 32 * 1024 * 1024;

/// The most bytes that all messages on their way may have together.
const ROOM: usize = 4 * MESSAGE;

/// The most requests that may be under way.
const FLIGHTS: usize = 256;

/// The longest that a request may take, however lively its origin is: longer than the gate lets any call run.
const LONGEST: Duration = Duration::from_mins(11);

/// Where the daemon is, and who the client is there.
pub struct Remote {
    /// Scheme, host and port, as `https://covenant.example.org`.
    pub origin: String,
    /// What is shown there.
    pub token: Option<Secret>,
    /// Who carries requests there.
    pub couriers: Arc<dyn Couriers>,
    /// How long the origin may be silent while a request waits.
    pub patience: Duration,
}

/// Passes messages between a client and the daemon at that origin until the client goes.
pub async fn run<R, W>(input: R, output: W, remote: Remote) -> ExitReason
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    let (desk, heard) = Desk::new(Road::new(remote));
    Front::new(input, output, desk, heard).run().await
}
