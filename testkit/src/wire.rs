//! HTTP/1.1 on a connection that is kept: headers as the test wants them, chunks, and events read one by one.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

use crate::wait::{LONG, until};

/// One request, not yet sent: every header can be taken out or set to something else.
#[derive(Debug, Clone)]
pub struct Request {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    chunked: bool,
}

/// One whole answer.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Its body; of a stream, all of its events.
    pub text: String,
    headers: Vec<(String, String)>,
}

/// An answer that is read event by event. Dropped, the client hangs up.
pub struct Stream {
    /// Its status.
    pub status: u16,
    headers: Headers,
    wire: Wire,
    left: Left,
    text: Vec<u8>,
}

/// A connection, and what was read of it and not yet used.
pub struct Wire {
    stream: TcpStream,
    unused: Vec<u8>,
}

/// The head of an answer.
struct Head {
    status: u16,
    headers: Headers,
    left: Left,
}

/// The headers of an answer.
type Headers = Vec<(String, String)>;

/// How much of a body is still to come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Left {
    Bytes(usize),
    /// In chunks, of which the present one has so many bytes left.
    Chunks(usize),
    UntilClosed,
}

impl Request {
    /// A request without a header but those every request has.
    pub fn new(method: &str, body: impl Into<Vec<u8>>) -> Self {
        let (method, path) = (method.to_owned(), "/mcp".to_owned());
        Self { method, path, headers: Vec::new(), body: body.into(), chunked: false }
    }

    /// To another place than `/mcp`.
    pub fn at(mut self, path: &str) -> Self {
        path.clone_into(&mut self.path);
        self
    }

    /// With that header, in place of any other of that name.
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self = self.without(name);
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Without that header.
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// With that body.
    pub fn saying(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// With its body in chunks, so that nobody knows its length before.
    pub fn in_chunks(mut self) -> Self {
        self.chunked = true;
        self
    }

    /// What is sent for it to a daemon on that port.
    pub fn bytes(&self, port: u16) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\nHost: localhost:{port}\r\n", self.method, self.path);
        for (name, value) in &self.headers {
            head.extend([name, ": ", value, "\r\n"]);
        }
        let mut bytes = Vec::new();
        if self.chunked {
            bytes.extend(format!("{head}Transfer-Encoding: chunked\r\n\r\n").into_bytes());
            for chunk in self.body.chunks(8192) {
                bytes.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
                bytes.extend_from_slice(chunk);
                bytes.extend_from_slice(b"\r\n");
            }
            bytes.extend_from_slice(b"0\r\n\r\n");
        } else {
            bytes.extend(format!("{head}Content-Length: {}\r\n\r\n", self.body.len()).into_bytes());
            bytes.extend_from_slice(&self.body);
        }
        bytes
    }
}

fn header<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

impl Answer {
    /// One of its headers.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// Its body as JSON.
    ///
    /// # Panics
    /// If it is not.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The JSON-RPC code of the error it is.
    ///
    /// # Panics
    /// If it is none.
    #[track_caller]
    pub fn code(&self) -> i64 {
        self.json().pointer("/error/code").and_then(Value::as_i64).unwrap_or_else(|| panic!("{self:?}"))
    }

    /// Its messages: those of a stream, or the one document.
    ///
    /// # Panics
    /// If one is not JSON.
    #[track_caller]
    pub fn messages(&self) -> Vec<Value> {
        if self.header("content-type") == Some("text/event-stream") {
            self.text.split("\n\n").filter_map(message).collect()
        } else {
            vec![self.json()]
        }
    }
}

/// The message of one event; a comment has none.
fn message(event: &str) -> Option<Value> {
    let data: Vec<&str> = event.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    let parse = |text: &str| serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    (!data.is_empty()).then(|| parse(&data.join("\n")))
}

impl Wire {
    /// Connects to a port of loopback.
    ///
    /// # Panics
    /// If there is no server.
    #[track_caller]
    pub fn open(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("the daemon listens");
        stream.set_read_timeout(Some(LONG)).expect("a timeout");
        stream.set_nodelay(true).expect("a socket");
        Self { stream, unused: Vec::new() }
    }

    /// Sends a request, as far as the other end takes it: one that has heard enough may answer before.
    pub fn send(&mut self, request: &Request) {
        let port = self.stream.peer_addr().map_or(0, |address| address.port());
        let _ = self.stream.write_all(&request.bytes(port));
    }

    /// Reads more; `false` at the end. A reset is as good as one.
    fn more(&mut self) -> bool {
        let mut room = [0; 16 * 1024];
        let count = self.stream.read(&mut room).unwrap_or_else(|error| {
            assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "nothing came within {LONG:?}");
            0
        });
        self.unused.extend_from_slice(room.get(..count).unwrap_or_default());
        count > 0
    }

    /// Everything up to that mark, and without it.
    fn until(&mut self, mark: &[u8]) -> Option<String> {
        loop {
            let at = self.unused.windows(mark.len()).position(|window| window == mark);
            if let Some(at) = at {
                let taken: Vec<u8> = self.unused.drain(..at + mark.len()).collect();
                return Some(String::from_utf8_lossy(taken.get(..at).unwrap_or_default()).into_owned());
            }
            if !self.more() {
                return None;
            }
        }
    }

    /// The head of an answer: its status, its headers and how its body ends.
    fn head(&mut self) -> Option<Head> {
        let head = self.until(b"\r\n\r\n")?;
        let mut lines = head.split("\r\n");
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let pair =
            |line: &str| line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned()));
        let headers: Vec<_> = lines.filter_map(pair).collect();
        let length = header(&headers, "content-length").and_then(|length| length.parse().ok());
        let left = match (length, header(&headers, "transfer-encoding")) {
            (Some(length), _) => Left::Bytes(length),
            (None, Some("chunked")) => Left::Chunks(0),
            (None, _) if matches!(status, 202 | 204) => Left::Bytes(0),
            (None, _) => Left::UntilClosed,
        };
        Some(Head { status, headers, left })
    }

    /// The next piece of a body; `None` at its end.
    fn piece(&mut self, left: &mut Left) -> Option<Vec<u8>> {
        if *left == Left::Chunks(0) {
            let size = usize::from_str_radix(self.until(b"\r\n")?.trim(), 16).ok()?;
            if size == 0 {
                self.until(b"\r\n")?;
                *left = Left::Bytes(0);
                return None;
            }
            *left = Left::Chunks(size);
        }
        if *left == Left::Bytes(0) || (self.unused.is_empty() && !self.more()) {
            return None;
        }
        let wanted = match *left {
            Left::Bytes(count) | Left::Chunks(count) => count.min(self.unused.len()),
            Left::UntilClosed => self.unused.len(),
        };
        let piece: Vec<u8> = self.unused.drain(..wanted).collect();
        match left {
            Left::Bytes(count) => *count -= wanted,
            Left::Chunks(count) => {
                *count -= wanted;
                if *count == 0 {
                    self.until(b"\r\n")?;
                }
            }
            Left::UntilClosed => {}
        }
        Some(piece)
    }

    /// One whole answer; `None` if the connection ends before it.
    pub fn answer(&mut self) -> Option<Answer> {
        let Head { status, headers, mut left } = self.head()?;
        let mut body = Vec::new();
        while let Some(piece) = self.piece(&mut left) {
            body.extend(piece);
        }
        Some(Answer { status, headers, text: String::from_utf8_lossy(&body).into_owned() })
    }
}

impl Stream {
    /// Sends a request on a connection of its own, whose answer is read event by event.
    ///
    /// # Panics
    /// If there is no answer.
    #[track_caller]
    pub fn of(port: u16, request: &Request) -> Self {
        let mut wire = Wire::open(port);
        wire.send(request);
        let Head { status, headers, left } = wire.head().expect("an answer");
        Self { status, headers, wire, left, text: Vec::new() }
    }

    /// One of its headers.
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    /// The next message.
    ///
    /// # Panics
    /// If the stream has ended.
    #[track_caller]
    pub fn event(&mut self) -> Value {
        self.next().unwrap_or_else(|| panic!("the stream has ended"))
    }

    /// Whether nothing comes for a moment.
    ///
    /// # Panics
    /// If there is no socket.
    pub fn is_quiet(&mut self) -> bool {
        self.wire.stream.set_read_timeout(Some(Duration::from_millis(300))).expect("a timeout");
        let quiet = self.text.is_empty() && self.wire.unused.is_empty() && {
            let mut room = [0; 1];
            self.wire
                .stream
                .peek(&mut room)
                .is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
        };
        self.wire.stream.set_read_timeout(Some(LONG)).expect("a timeout");
        quiet
    }
}

/// Its messages, until it ends.
impl Iterator for Stream {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(at) = self.text.windows(2).position(|pair| pair == b"\n\n") {
                let event: Vec<u8> = self.text.drain(..at + 2).collect();
                if let Some(message) = message(&String::from_utf8_lossy(&event)) {
                    return Some(message);
                }
                continue;
            }
            self.text.extend(self.wire.piece(&mut self.left)?);
        }
    }
}

/// A request whose answer nobody has read yet. Dropped, the client hangs up.
pub struct Pending(Wire);

impl Pending {
    /// Sends a request on a connection of its own.
    #[track_caller]
    pub fn of(port: u16, request: &Request) -> Self {
        let mut wire = Wire::open(port);
        wire.send(request);
        Self(wire)
    }

    /// Hangs up, and waits until the daemon has too.
    ///
    /// # Panics
    /// If it does not.
    #[track_caller]
    pub fn hang_up(self) {
        let port = self.0.stream.local_addr().expect("a socket").port();
        drop(self);
        // Its end of the connection is the one whose other end (the third column) is ours.
        let theirs = format!(":{port:04X}");
        until("the daemon hangs up too", || {
            let open = std::fs::read_to_string("/proc/net/tcp").expect("a list of connections");
            let is_theirs = |line: &str| {
                let mut columns = line.split_whitespace().skip(2);
                columns.next().is_some_and(|other| other.ends_with(&theirs)) && columns.next() == Some("08")
            };
            (!open.lines().any(is_theirs)).then_some(())
        });
    }

    /// Waits for the answer.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn answer(mut self) -> Answer {
        self.0.answer().expect("an answer")
    }
}
