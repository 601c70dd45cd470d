//! What the fleet needs of the rest of the house: programs started, and requests carried. The daemon gives both.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use covenant_model::server::Program;
use covenant_runner::ending::Ending;
use covenant_runner::pipes::{Input, Output};

/// Something that comes later.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Takes one line of a program's standard error, already without secrets.
pub type LogLine = Arc<dyn Fn(&str) + Send + Sync>;

/// Starts the programs of servers: finds them on PATH, gives them their environment, their directory and their sandbox.
pub trait Programs: Send + Sync + 'static {
    /// Starts one for the server with that name, and comes back when it runs; otherwise with a clause that can follow
    /// "could not be started: ". Every line of its standard error goes to `log`.
    fn start<'a>(
        &'a self,
        name: &'a str,
        program: &'a Program,
        log: LogLine,
    ) -> Later<'a, Result<Box<dyn RunningProgram>, String>>;
}

/// A program that runs. To drop it ends it, and whatever it started.
pub trait RunningProgram: Send + Sync {
    /// Its standard input, once.
    fn take_input(&mut self) -> Option<Input>;
    /// Its standard output, once.
    fn take_output(&mut self) -> Option<Output>;
    /// How it ended, once it and all it started have. Can be given up and asked again.
    fn wait(&mut self) -> Later<'_, Ending>;
    /// Asks it to end, and ends it after that long.
    fn stop(&mut self, grace: Duration) -> Later<'_, Ending>;
}

/// Carries HTTP requests to one server: connections are kept, redirects are not followed, and the trusted roots and
/// proxies are the system's.
pub trait Courier: Send + Sync + 'static {
    /// Sends a request, and comes back with the head of the answer; otherwise with a clause that says why there is none.
    fn send<'a>(&'a self, request: Sent<'a>) -> Later<'a, Result<Reply, String>>;
}

/// Makes couriers.
pub trait Couriers: Send + Sync + 'static {
    /// One for the server at that URL; otherwise a clause that says what is wrong with it.
    fn open<'a>(&'a self, url: &'a str) -> Later<'a, Result<Arc<dyn Courier>, String>>;
}

/// What is done with a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// A message is sent.
    Post,
    /// A stream is opened.
    Get,
    /// A session is ended.
    Delete,
}

/// A request.
#[derive(Debug)]
pub struct Sent<'a> {
    /// What is done.
    pub method: Method,
    /// With what.
    pub url: &'a str,
    /// Its headers, by name and value.
    pub headers: &'a [(&'a str, &'a str)],
    /// Its body.
    pub body: Vec<u8>,
    /// Whether it does no harm to send it twice: where a kept connection closes under it, it is sent again on a new one.
    /// Others are only sent again where nothing of them was sent.
    pub repeatable: bool,
}

/// The head of an answer, and what follows it.
pub struct Reply {
    /// Its status.
    pub status: u16,
    /// Its headers; names are in lower case.
    pub headers: Vec<(String, String)>,
    /// The rest.
    pub body: Box<dyn ReplyBody>,
}

impl Reply {
    /// The value of the first header of that name, which is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// The body of an answer, piece by piece. To drop it closes the stream.
pub trait ReplyBody: Send {
    /// The next piece; none at the end. Cancel safe.
    fn next(&mut self) -> Later<'_, Option<Result<Vec<u8>, String>>>;
}

/// Where small things are kept over restarts: lists of tools, eras. To lose them costs time and nothing else.
pub trait Notes: Send + Sync + 'static {
    /// What was kept under that key: letters, digits and `-`.
    fn recall(&self, key: &str) -> Option<Vec<u8>>;
    /// Keeps it.
    fn keep(&self, key: &str, bytes: &[u8]);
    /// Forgets it.
    fn forget(&self, key: &str);
}
