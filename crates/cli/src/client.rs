//! The daemon's REST API over its socket: one connection per request, plain HTTP/1.1. It finds no daemon and starts
//! none; that is `autostart`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, LINK};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::TokioIo;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::net::UnixStream;
use tokio::time::timeout;

use crate::exit::Failure;

/// How long an ordinary answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long a tool may take: more than the daemon's own limit for a call, which then says why.
const CALL_PATIENCE: Duration = Duration::from_mins(15);

/// How long an intent may take: its turn comes within an hour, and its agent has a day at most.
const INTENT_PATIENCE: Duration = Duration::from_hours(26);

/// How long a connection may take: a daemon that accepts nothing for so long hangs.
const CONNECT_PATIENCE: Duration = Duration::from_secs(5);

/// How long to wait before a full queue is tried again.
const PAUSE: Duration = Duration::from_millis(20);

/// The largest answer that is taken whole, and the longest line of a stream.
const ANSWER_LIMIT: usize = 64 * 1024 * 1024;

/// Whether a stream is read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// Give me the next line.
    On,
    /// That is enough.
    Enough,
}

/// A way to ask one daemon.
#[derive(Debug)]
pub(crate) struct Client {
    runtime: tokio::runtime::Runtime,
    socket: PathBuf,
    authorization: Option<HeaderValue>,
}

impl Client {
    /// A client of the daemon behind that socket, acting as whoever `token` names, or as the operator.
    pub(crate) fn new(socket: &Path, token: Option<&str>) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Failure::failed(format!("no event loop could be made: {error}"), ""))?;
        let authorization = token.map(authorization).transpose()?;
        Ok(Self { runtime, socket: socket.to_owned(), authorization })
    }

    /// Whether a daemon takes connections.
    pub(crate) fn is_served(&self) -> Result<bool, Failure> {
        self.runtime.block_on(connect(&self.socket)).map(|stream| stream.is_some())
    }

    /// Asks for a document.
    pub(crate) fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        decode(&self.exchange(Method::GET, path, Vec::new(), PATIENCE)?)
    }

    /// Asks for a document and takes it as it is.
    pub(crate) fn get_raw(&self, path: &str) -> Result<Vec<u8>, Failure> {
        self.exchange(Method::GET, path, Vec::new(), PATIENCE)
    }

    /// Asks for a list, part by part.
    pub(crate) fn list<T: DeserializeOwned>(&self, path: &str) -> Result<Vec<T>, Failure> {
        let mut whole = Vec::new();
        self.parts(path, |part| {
            whole.extend(decode::<Vec<T>>(part)?);
            Ok(())
        })?;
        Ok(whole)
    }

    /// Hands every part of a list to the reader, as it is.
    pub(crate) fn parts(
        &self,
        path: &str,
        mut each: impl FnMut(&[u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut wanted = path.to_owned();
        loop {
            let (next, body) = self.runtime.block_on(within(PATIENCE, async {
                let response = self.request(Method::GET, &wanted, Vec::new()).await?;
                Ok((next_part(&response), collect(response).await?))
            }))?;
            each(&body)?;
            match next {
                None => return Ok(()),
                Some(same) if same == wanted => {
                    return Err(Failure::failed(
                        "the daemon's list does not end",
                        "look at its log: covenant logs",
                    ));
                }
                Some(next) => wanted = next,
            }
        }
    }

    /// Removes a thing.
    pub(crate) fn delete<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        decode(&self.exchange(Method::DELETE, path, Vec::new(), PATIENCE)?)
    }

    /// Sends a document and takes the answer as it is.
    pub(crate) fn send(&self, method: Method, path: &str, body: &impl Serialize) -> Result<Vec<u8>, Failure> {
        self.exchange(method, path, encode(body)?, PATIENCE)
    }

    /// Sends a document and reads the answer.
    pub(crate) fn post<T: DeserializeOwned>(&self, path: &str, body: &impl Serialize) -> Result<T, Failure> {
        decode(&self.send(Method::POST, path, body)?)
    }

    /// Sends a call, which may take as long as tools take.
    pub(crate) fn call(&self, path: &str, body: &impl Serialize) -> Result<Vec<u8>, Failure> {
        self.exchange(Method::POST, path, encode(body)?, CALL_PATIENCE)
    }

    /// Sends an intent, which may wait for its turn and then take as long as its agent may.
    pub(crate) fn call_long(&self, path: &str, body: &impl Serialize) -> Result<Vec<u8>, Failure> {
        self.exchange(Method::POST, path, encode(body)?, INTENT_PATIENCE)
    }

    /// Reads a stream line by line, without the line breaks, until it ends or the reader has enough.
    pub(crate) fn lines(
        &self,
        path: &str,
        mut each: impl FnMut(&[u8]) -> Result<Flow, Failure>,
    ) -> Result<(), Failure> {
        self.runtime.block_on(async {
            let response = within(PATIENCE, self.request(Method::GET, path, Vec::new())).await?;
            let mut body = response.into_body();
            let mut pending = Vec::new();
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|error| cut_off(&error))?;
                let Some(data) = frame.data_ref() else { continue };
                pending.extend_from_slice(data);
                if whole_lines(&mut pending, &mut each)? == Flow::Enough {
                    return Ok(());
                }
                if pending.len() > ANSWER_LIMIT {
                    return Err(Failure::failed("the daemon sent a line that does not end", ""));
                }
            }
            if pending.is_empty() { Ok(()) } else { each(&pending).map(|_| ()) }
        })
    }

    fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
        patience: Duration,
    ) -> Result<Vec<u8>, Failure> {
        self.runtime
            .block_on(within(patience, async { collect(self.request(method, path, body).await?).await }))
    }

    /// Sends a request; an answer that is not a success is a failure.
    async fn request(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
    ) -> Result<Response<Incoming>, Failure> {
        let stream = connect(&self.socket).await?.ok_or_else(gone)?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| cut_off(&error))?;
        tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri(path).header(HOST, "localhost");
        if let Some(value) = &self.authorization {
            request = request.header(AUTHORIZATION, value);
        }
        if !body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let request = request
            .body(Full::new(Bytes::from(body)))
            .map_err(|error| Failure::usage(format!("this cannot be asked for: {error}"), ""))?;
        let response = sender.send_request(request).await.map_err(|error| cut_off(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if status == StatusCode::UNAUTHORIZED && self.authorization.is_some() {
            return Err(bad_token());
        }
        Err(Failure::answered(status, &collect(response).await?))
    }
}

/// Where the next part of a list is, if there is more. It is the only link the daemon gives.
fn next_part(response: &Response<Incoming>) -> Option<String> {
    let link = response.headers().get(LINK)?.to_str().ok()?;
    Some(link.strip_prefix('<')?.split_once('>')?.0.to_owned())
}

/// Hands every whole line in `pending` to the reader, and keeps the rest.
fn whole_lines(
    pending: &mut Vec<u8>,
    each: &mut impl FnMut(&[u8]) -> Result<Flow, Failure>,
) -> Result<Flow, Failure> {
    let mut taken = 0;
    let mut flow = Flow::On;
    for line in pending.split_inclusive(|&byte| byte == b'\n') {
        let Some(line_only) = line.strip_suffix(b"\n") else { break };
        taken += line.len();
        flow = each(line_only)?;
        if flow == Flow::Enough {
            break;
        }
    }
    pending.drain(..taken);
    Ok(flow)
}

/// Opens the socket; nothing if no daemon listens there.
pub(crate) async fn connect(socket: &Path) -> Result<Option<UnixStream>, Failure> {
    use std::io::ErrorKind::{ConnectionRefused, NotFound, WouldBlock};
    let unusable = |error: &dyn std::fmt::Display| {
        Failure::failed(
            format!("the daemon's socket {} cannot be used: {error}", socket.display()),
            "see who owns it and whether the daemon hangs: covenant doctor",
        )
    };
    let attempts = async {
        loop {
            match UnixStream::connect(socket).await {
                Ok(stream) => return Ok(Some(stream)),
                Err(error) if matches!(error.kind(), NotFound | ConnectionRefused) => return Ok(None),
                // The queue of a busy daemon is full; it empties as the daemon accepts.
                Err(error) if error.kind() == WouldBlock => tokio::time::sleep(PAUSE).await,
                Err(error) => return Err(unusable(&error)),
            }
        }
    };
    timeout(CONNECT_PATIENCE, attempts).await.unwrap_or_else(|_| Err(unusable(&"it accepts no connection")))
}

/// The `Authorization` value of a token, kept out of debug output.
fn authorization(token: &str) -> Result<HeaderValue, Failure> {
    let mut value = HeaderValue::from_str(&format!("Bearer {token}")).map_err(|_| {
        Failure::usage(
            "COVENANT_TOKEN holds characters that no token has",
            "set it to the token as it was printed",
        )
    })?;
    value.set_sensitive(true);
    Ok(value)
}

async fn within<T>(patience: Duration, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    timeout(patience, work).await.unwrap_or_else(|_| {
        Err(Failure::failed(
            format!("the daemon did not answer within {} s", patience.as_secs()),
            "see what it is doing: covenant logs",
        ))
    })
}

async fn collect(response: Response<Incoming>) -> Result<Vec<u8>, Failure> {
    let mut body = response.into_body();
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| cut_off(&error))?;
        whole.extend_from_slice(frame.data_ref().map_or(&[], |data| data));
        if whole.len() > ANSWER_LIMIT {
            return Err(Failure::failed("the daemon's answer is larger than 64 MiB", ""));
        }
    }
    Ok(whole)
}

fn encode(body: &impl Serialize) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(body)
        .map_err(|error| Failure::usage(format!("this cannot be written as JSON: {error}"), ""))
}

/// Reads an answer of the daemon.
pub(crate) fn decode<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Failure> {
    serde_json::from_slice(body).map_err(|error| {
        Failure::failed(
            format!("the daemon's answer is not what this version expects: {error}"),
            "daemon and command may be of different versions; restart the daemon: covenant stop && covenant up --detach",
        )
    })
}

/// What to do about a token in the environment that opens nothing: whose it was is not known any more.
pub(crate) const NEW_TOKEN: &str = "unset COVENANT_TOKEN to act as yourself, or make a new one: for a developer with \
     covenant tokens create --for HANDLE, for a client with covenant clients add NAME";

/// What is said where the token in the environment opens nothing.
pub(crate) fn bad_token() -> Failure {
    let message = "the token in COVENANT_TOKEN is not valid here, or was revoked";
    Failure::refusal("unauthenticated".to_owned(), message.to_owned(), NEW_TOKEN.to_owned())
}

fn gone() -> Failure {
    Failure::no_daemon("no daemon runs for this home", "start one: covenant up --detach")
}

fn cut_off(error: &hyper::Error) -> Failure {
    Failure::failed(
        format!("the connection to the daemon broke: {error}"),
        "see whether it still runs: covenant status; and why it ended: covenant logs",
    )
}

/// A name as one segment of a path or a value in a query.
pub(crate) fn segment(name: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_~".contains(&byte) || (byte == b'.' && name.len() > 2) {
            out.push(char::from(byte));
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

#[cfg(test)]
mod tests;
