//! A server that answers with bytes: whatever a test wants to put on a connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// What is put on a connection as the answer to one request.
pub(super) enum Said {
    /// Those bytes; then the next request is read.
    Answer(String),
    /// Those bytes, and the connection is closed.
    Last(String),
    /// Those bytes, and nothing more until the other side closes.
    Hang(String),
    /// Those bytes, and these again and again.
    Endless(String, String),
}

/// A request that came: on which connection, and as which one there, both from 1.
#[derive(Debug, Clone)]
pub(super) struct Came {
    pub(super) connection: usize,
    pub(super) turn: usize,
    pub(super) head: String,
    pub(super) body: String,
}

type Script = dyn Fn(&Came) -> Said + Send + Sync;

/// The server.
pub(super) struct Server {
    pub(super) url: String,
    came: Arc<Mutex<Vec<Came>>>,
    /// How many connections the other side has closed.
    closed: Arc<AtomicUsize>,
}

impl Server {
    pub(super) async fn new(script: impl Fn(&Came) -> Said + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let (came, closed) = (Arc::default(), Arc::new(AtomicUsize::new(0)));
        let server = Self { url, came: Arc::clone(&came), closed: Arc::clone(&closed) };
        let script: Arc<Script> = Arc::new(script);
        tokio::spawn(async move {
            for connection in 1.. {
                let (stream, _) = listener.accept().await.unwrap();
                let (script, came, closed) = (Arc::clone(&script), Arc::clone(&came), Arc::clone(&closed));
                tokio::spawn(async move {
                    if serve(stream, connection, &script, &came).await == Ended::ByThem {
                        closed.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
        });
        server
    }

    /// One that answers everything with that status and body.
    pub(super) async fn saying(status: &str, headers: &str, body: &str) -> Self {
        let answer = answer(status, headers, body);
        Self::new(move |_| Said::Answer(answer.clone())).await
    }

    pub(super) fn came(&self) -> Vec<Came> {
        self.came.lock().clone()
    }

    pub(super) fn closed(&self) -> usize {
        self.closed.load(Ordering::SeqCst)
    }
}

/// A whole answer.
pub(super) fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len())
}

#[derive(PartialEq)]
enum Ended {
    ByUs,
    ByThem,
}

async fn serve(
    mut stream: TcpStream,
    connection: usize,
    script: &Arc<Script>,
    came: &Mutex<Vec<Came>>,
) -> Ended {
    let mut bytes = Vec::new();
    for turn in 1.. {
        let Some((head, body)) = request(&mut stream, &mut bytes).await else { return Ended::ByThem };
        let one = Came { connection, turn, head, body };
        came.lock().push(one.clone());
        match script(&one) {
            Said::Answer(text) => stream.write_all(text.as_bytes()).await.unwrap(),
            Said::Last(text) => {
                stream.write_all(text.as_bytes()).await.unwrap();
                return Ended::ByUs;
            }
            Said::Hang(text) => {
                stream.write_all(text.as_bytes()).await.unwrap();
                while stream.read_buf(&mut bytes).await.is_ok_and(|read| read > 0) {}
                return Ended::ByThem;
            }
            Said::Endless(text, again) => {
                let mut text = text;
                while stream.write_all(text.as_bytes()).await.is_ok() {
                    text.clone_from(&again);
                }
                return Ended::ByThem;
            }
        }
    }
    Ended::ByUs
}

async fn request(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<(String, String)> {
    loop {
        let text = String::from_utf8(bytes.clone()).unwrap();
        if let Some((head, rest)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length = length.map_or(0, |length| length.parse().unwrap());
            if rest.len() >= length {
                let (body, left) = rest.split_at(length);
                let (body, left) = (body.to_owned(), left.as_bytes().to_vec());
                *bytes = left;
                return Some((head, body));
            }
        }
        if stream.read_buf(bytes).await.ok()? == 0 {
            return None;
        }
    }
}

/// Waits until something holds; the runner of the test would wait no longer.
pub(super) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(20), waiting).await.is_ok(), "{what}");
}
