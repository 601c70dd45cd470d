//! Services for tests: local servers that hold whoever speaks to them to what the real ones document, and fail as those do.
//!
//! What each speaks is a file in `service/`. Each checks the method, the path, the credentials, the content type and the
//! body, and keeps what reached it. A test may say what is answered next instead: every error that is documented has a
//! word, such as `slack::fault("not_in_channel")`.

pub mod discord;
pub mod github;
pub mod ical;
pub mod matrix;
pub mod oidc;
mod request;
pub mod slack;
pub mod telegram;
pub mod webhook;

use std::collections::VecDeque;
use std::io::BufReader;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

pub use request::{Answer, Request};

/// What a service speaks.
pub trait Protocol: Send + 'static {
    /// Answers one request.
    fn answer(&mut self, request: &Request) -> Answer;
}

/// A service that runs as long as this is kept.
pub struct Service {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    protocol: Mutex<Box<dyn Protocol>>,
    heard: Mutex<Vec<Request>>,
    instead: Mutex<VecDeque<Answer>>,
    over: AtomicBool,
}

impl Service {
    /// Starts one on a port of loopback.
    ///
    /// # Panics
    /// If there is no port.
    pub fn start(protocol: impl Protocol) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(Shared {
            protocol: Mutex::new(Box::new(protocol)),
            heard: Mutex::default(),
            instead: Mutex::default(),
            over: AtomicBool::new(false),
        });
        let serving = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if serving.over.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&serving);
                std::thread::spawn(move || converse(&shared, stream));
            }
        });
        Self { port, shared }
    }

    /// Its address, with that path.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// Answers the next request with that, whatever it asks; after that the one after it.
    ///
    /// # Panics
    /// If the service broke.
    pub fn will(&self, answer: Answer) {
        self.shared.instead.lock().expect("the service stands").push_back(answer);
    }

    /// Takes what reached it since it was last asked.
    ///
    /// # Panics
    /// If the service broke.
    pub fn heard(&self) -> Vec<Request> {
        std::mem::take(&mut *self.shared.heard.lock().expect("the service stands"))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        // Wakes whoever waits for the next connection.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn converse(shared: &Shared, mut stream: TcpStream) {
    let Ok(reading) = stream.try_clone() else { return };
    let mut reading = BufReader::new(reading);
    while let Some(request) = Request::read(&mut reading) {
        let instead = shared.instead.lock().expect("the service stands").pop_front();
        let answer = match instead {
            Some(answer) => answer,
            None => shared.protocol.lock().expect("the service stands").answer(&request),
        };
        let last = request.header("connection").eq_ignore_ascii_case("close");
        shared.heard.lock().expect("the service stands").push(request);
        if !answer.write(&mut stream) || last {
            let _ = stream.shutdown(Shutdown::Both);
            return;
        }
    }
}
