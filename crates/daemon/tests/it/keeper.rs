//! A server that keeps what is posted to it, as an anchor would, and that can be told to misbehave.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use ::http::{HeaderMap, Request, Response, StatusCode};
use covenant_model::audit::Checkpoint;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// What it does with a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Mood {
    /// Answers with that status.
    Says(u16),
    /// Reads it and never answers.
    Silent,
}

/// A request it got.
#[derive(Debug)]
pub(crate) struct Post {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Post {
    pub(crate) fn checkpoint(&self) -> Checkpoint {
        Checkpoint::read(self.body.trim_end().as_bytes())
            .unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// The server.
pub(crate) struct Keeper {
    pub(crate) address: SocketAddr,
    posts: mpsc::UnboundedReceiver<Post>,
}

impl Keeper {
    /// One that takes everything.
    pub(crate) async fn new() -> Self {
        Self::with(&[]).await
    }

    /// One with those moods, each for one request, and that takes everything after them.
    pub(crate) async fn with(moods: &[Mood]) -> Self {
        Self::on(TcpListener::bind("127.0.0.1:0").await.unwrap(), moods)
    }

    /// One on that listener.
    pub(crate) fn on(listener: TcpListener, moods: &[Mood]) -> Self {
        let address = listener.local_addr().unwrap();
        let (sender, posts) = mpsc::unbounded_channel();
        let moods = Arc::new(Mutex::new(moods.iter().copied().collect()));
        tokio::spawn(accept(listener, sender, moods));
        Self { address, posts }
    }

    /// The configuration that posts here.
    pub(crate) fn config(&self) -> String {
        format!("[rate_limit]\nrate = 0\n[audit]\nanchor_url = \"http://{}/keep\"\n", self.address)
    }

    /// The next request.
    pub(crate) async fn next(&mut self) -> Post {
        let next = tokio::time::timeout(Duration::from_secs(20), self.posts.recv()).await;
        next.expect("a checkpoint is posted").unwrap()
    }

    /// The newest of the checkpoints that came, and have not been taken by [`Self::next`].
    pub(crate) fn newest(&mut self) -> Option<Post> {
        std::iter::from_fn(|| self.pop()).last()
    }

    /// One of the requests that came, if there is one.
    pub(crate) fn pop(&mut self) -> Option<Post> {
        self.posts.try_recv().ok()
    }
}

type Moods = Arc<Mutex<VecDeque<Mood>>>;

async fn accept(listener: TcpListener, sender: mpsc::UnboundedSender<Post>, moods: Moods) {
    while let Ok((stream, _)) = listener.accept().await {
        let (sender, moods) = (sender.clone(), Arc::clone(&moods));
        let service = service_fn(move |request| answer(request, sender.clone(), Arc::clone(&moods)));
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn answer(
    request: Request<Incoming>,
    sender: mpsc::UnboundedSender<Post>,
    moods: Moods,
) -> Result<Response<String>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
    let post = Post {
        method: parts.method.to_string(),
        target: parts.uri.to_string(),
        headers: parts.headers,
        body,
    };
    let mood = moods.lock().unwrap().pop_front().unwrap_or(Mood::Says(204));
    let _ = sender.send(post);
    match mood {
        Mood::Says(status) => {
            let mut response = Response::new(String::new());
            *response.status_mut() = StatusCode::from_u16(status).unwrap();
            response.headers_mut().insert("location", "/elsewhere".parse().unwrap());
            Ok(response)
        }
        Mood::Silent => std::future::pending().await,
    }
}
