//! A server that answers by path, and remembers who asked.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

type Answer = dyn Fn(&str) -> Vec<u8> + Send + Sync;

pub(super) struct Server {
    pub(super) address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// One that answers to the first line of a request and its headers, all in lower case.
    pub(super) async fn new(answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::at(([127, 0, 0, 1], 0).into(), answer).await
    }

    pub(super) async fn at(
        place: SocketAddr,
        answer: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(place).await.unwrap();
        let address = listener.local_addr().unwrap();
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let (answer, seen): (Arc<Answer>, _) = (Arc::new(answer), Arc::clone(&heads));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&answer), Arc::clone(&seen)));
            }
        });
        Self { address, heads }
    }

    /// One that answers everything with that.
    pub(super) async fn saying(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self::new(move |_| bytes.clone()).await
    }

    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(super) fn ip(&self) -> IpAddr {
        self.address.ip()
    }

    /// The heads of the requests that came, in lower case.
    pub(super) fn heads(&self) -> Vec<String> {
        self.heads.lock().clone()
    }
}

async fn serve(mut stream: TcpStream, answer: Arc<Answer>, seen: Arc<Mutex<Vec<String>>>) {
    let mut bytes = Vec::new();
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        if stream.read_buf(&mut bytes).await.unwrap_or_default() == 0 {
            return;
        }
    }
    let head = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
    seen.lock().push(head.clone());
    let answer = answer(&head);
    let _ = stream.write_all(&answer).await;
    if answer.ends_with(b"HANG") {
        // Until the other side closes.
        while stream.read_buf(&mut bytes).await.is_ok_and(|read| read > 0) {}
    }
    let _ = stream.shutdown().await;
}

/// A whole answer with that body.
pub(super) fn ok(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n{body}", body.len())
        .into()
}

/// A redirect to there.
pub(super) fn to(place: &str) -> Vec<u8> {
    format!("HTTP/1.1 302 Found\r\nlocation: {place}\r\ncontent-length: 0\r\n\r\n").into()
}
