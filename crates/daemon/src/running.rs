//! A daemon that serves, as whoever started it holds it.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use covenant_gate::Gate;
use covenant_model::api::{Ready, Status};

use crate::daemon::Daemon;
use crate::home::Home;
use crate::lock::Lock;
use crate::shutdown::{self, Signals};

/// A daemon that serves. Dropping it without [`Running::wait`] or [`Running::stop`] leaves it as a crash would.
pub struct Running {
    daemon: Arc<Daemon>,
    lock: Lock,
    signals: Signals,
    remarks: Vec<String>,
}

impl Running {
    pub(crate) fn new(daemon: Arc<Daemon>, lock: Lock, remarks: Vec<String>) -> io::Result<Self> {
        Ok(Self { daemon, lock, signals: Signals::listen()?, remarks })
    }

    /// Its home.
    pub fn home(&self) -> &Home {
        &self.daemon.home
    }

    /// The addresses it listens on.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.daemon.listen
    }

    /// Its socket.
    pub fn socket(&self) -> &Path {
        &self.daemon.socket
    }

    /// What it runs with.
    pub fn status(&self) -> Status {
        let reasons = self.daemon.gate.health();
        self.daemon.status(Ready { ready: reasons.is_empty(), reasons })
    }

    /// What a person should know about its configuration and home.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Its gate.
    pub fn gate(&self) -> &Arc<Gate> {
        &self.daemon.gate
    }

    /// Serves until a signal or a request ends it, then ends it in order.
    pub async fn wait(mut self) {
        shutdown::wanted(&self.daemon, &mut self.signals).await;
        shutdown::end(&self.daemon, self.lock).await;
    }

    /// Ends it in order, now.
    pub async fn stop(self) {
        shutdown::end(&self.daemon, self.lock).await;
    }
}

/// Lets the process open as many files as it may: the usual soft limit is less than our connections need. How many that
/// is.
pub(crate) fn raise_file_limit() -> u64 {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        tracing::warn!(target: "covenant", "the number of open files stays limited: {error}");
    }
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// The event loop a daemon runs on: as many workers as there are processors, at least two, with small stacks.
pub fn runtime() -> io::Result<tokio::runtime::Runtime> {
    let workers = std::thread::available_parallelism().map_or(2, std::num::NonZero::get).clamp(2, 16);
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .max_blocking_threads(32)
        .thread_stack_size(1024 * 1024)
        .thread_name("covenant")
        .enable_all()
        .build()
}
