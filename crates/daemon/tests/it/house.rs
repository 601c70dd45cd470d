//! A daemon on a home of its own, and a way to ask it.

use std::path::PathBuf;
use std::sync::Arc;

use ::http::{HeaderMap, Request, StatusCode};
use bytes::Bytes;
use covenant_daemon::{Home, Options, Running, StartError, start};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

/// A running daemon and the directory it lives in.
pub(crate) struct House {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) running: Running,
}

/// What was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

/// A home in that directory.
pub(crate) fn home(dir: &tempfile::TempDir) -> Home {
    Home::at(&dir.path().join("home")).unwrap()
}

/// Starts a daemon on any free port.
pub(crate) async fn open(home: Home) -> Result<Running, StartError> {
    start(options(home)).await
}

/// How daemons are started here.
pub(crate) fn options(home: Home) -> Options {
    let mut options = Options::new(home);
    options.overrides.listen = Some("127.0.0.1:0".to_owned());
    options.environment =
        Arc::new(|name| (name == "FROM_ENV").then(|| "value-of-the-environment".to_owned()));
    options
}

impl House {
    pub(crate) async fn new() -> Self {
        Self::with("[rate_limit]\nrate = 0\n").await
    }

    /// A daemon with that configuration.
    pub(crate) async fn with(config: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = home(&dir);
        home.prepare().unwrap();
        covenant_daemon::atomic::write(&home.config(), config.as_bytes()).unwrap();
        let running = open(home).await.unwrap();
        Self { dir, running }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.running.socket().to_owned()
    }

    /// Asks over the socket, as the operator.
    pub(crate) async fn ask(&self, method: &str, path: &str, body: Value) -> Answer {
        self.ask_as(None, method, path, body).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, Value::Null).await
    }

    /// Asks over the socket with that token.
    pub(crate) async fn ask_as(&self, token: Option<&str>, method: &str, path: &str, body: Value) -> Answer {
        let mut request = Request::builder().method(method).uri(path).header("host", "localhost");
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let body = if body.is_null() { String::new() } else { body.to_string() };
        send(UnixStream::connect(self.socket()).await.unwrap(), request.body(body).unwrap()).await
    }

    pub(crate) async fn tcp(&self) -> TcpStream {
        TcpStream::connect(self.running.addresses()[0]).await.unwrap()
    }

    pub(crate) fn port(&self) -> u16 {
        self.running.addresses()[0].port()
    }

    /// Stops it; the directory stays.
    pub(crate) async fn stop(self) -> tempfile::TempDir {
        self.running.stop().await;
        self.dir
    }
}

/// Sends one request over that stream.
pub(crate) async fn send<Io>(stream: Io, request: Request<String>) -> Answer
where
    Io: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let response = sender.send_request(request.map(|body| Full::new(Bytes::from(body)))).await.unwrap();
    let (parts, body) = response.into_parts();
    let text = String::from_utf8(body.collect().await.unwrap().to_bytes().to_vec()).unwrap();
    Answer { status: parts.status, headers: parts.headers, text }
}
