//! What tools need of the rest of the house: requests sent and programs started. The daemon gives both.

use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use covenant_model::note::Index;
use covenant_model::secret::Secret;
use covenant_runner::child::Child;
use covenant_runner::order::Order;
use http::{HeaderMap, Method};
use url::Url;

/// Something that comes later.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The value of a secret, asked for by name.
pub type Secrets = Arc<dyn Fn(&str) -> Option<Secret> + Send + Sync>;

/// Opens the search index of that name, of the notes in that directory; otherwise says in a sentence why not. Blocks.
pub type Indexes = Arc<dyn Fn(&str, &Path) -> Result<Arc<dyn Index>, String> + Send + Sync>;

/// The value of a variable of the environment, asked for by name.
pub type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Sends requests. Trusted roots and proxies are the system's.
pub trait Web: Send + Sync + 'static {
    /// Sends one and reads the whole answer; otherwise says in a sentence why there is none. The sentence names the host
    /// and never the rest of the address, which may hold credentials.
    fn send(&self, request: Request) -> Later<'_, Result<Response, String>>;
}

/// Where a request may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// To the public Internet, and to the names of `[web] allow_hosts`: for addresses that a caller or a script chose. Every
    /// address it leads to is judged, after each redirect anew, and what was judged is what is connected to.
    Public,
    /// Wherever it says: for addresses that stand in the configuration. Redirects to another origin are not followed.
    Configured,
}

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    /// What is done.
    pub method: Method,
    /// With what.
    pub url: Url,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
    /// Where it may go.
    pub reach: Reach,
    /// How many redirects are followed, for GET and HEAD alone.
    pub redirects: u8,
    /// The most bytes of a body that are read, once decoded; the rest is cut.
    pub most: usize,
    /// How long all of it may take.
    pub within: Duration,
}

impl Request {
    /// A GET of what a configuration names: no redirects, at most 10 MiB in 30 seconds.
    pub fn get(url: Url) -> Self {
        Self {
            method: Method::GET,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            reach: Reach::Configured,
            redirects: 0,
            most: 10 << 20,
            within: Duration::from_secs(30),
        }
    }
}

/// An answer, whatever its status.
#[derive(Debug, Clone)]
pub struct Response {
    /// Where it came from in the end.
    pub url: Url,
    /// Its status.
    pub status: u16,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body, decoded.
    pub body: Bytes,
    /// Whether the body was longer.
    pub cut: bool,
}

/// Starts programs that serve a tool: never with a way to the daemon, and where the order has a sandbox, without sight of
/// the home.
pub trait Programs: Send + Sync + 'static {
    /// Starts one, and comes back when it runs; otherwise with a clause that can follow "could not be started: ".
    fn start(&self, order: Order) -> Later<'_, Result<Child, String>>;
}
