//! A load client for MCP over HTTP that costs next to nothing: prepared bytes out, one read back, on one thread.
//!
//! Several connections are kept busy in turn: while the answer of one is read, the others are in flight. No event loop
//! and no threads of its own compete with the server for the processors.

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// What is sent along and must come back.
pub const TEXT: &str = "hello, gate";

/// How long an answer may take before the server is taken to be stuck.
const PATIENCE: Duration = Duration::from_secs(20);

/// The first id of a caller. All ids have as many digits, so that a prepared request can be used again.
const FIRST_ID: u64 = 1_000_000_000;

/// How a call says which protocol it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// In a session that was opened with a handshake.
    Session,
    /// By itself, in its headers and its body.
    Stateless,
    /// Not at all.
    Plain,
}

/// Someone to call.
#[derive(Debug, Clone)]
pub struct Server {
    /// Its port on this machine.
    pub port: u16,
    /// Its process.
    pub pid: u32,
    /// The token it knows us by.
    pub token: String,
}

/// One answer, whole.
struct Answer<'c> {
    status: u16,
    head: &'c str,
    body: &'c str,
}

impl Answer<'_> {
    fn header(&self, name: &str) -> Option<&str> {
        header(self.head, name)
    }
}

/// A connection that is used again and again.
struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    body: Vec<u8>,
}

impl Connection {
    fn open(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream, buffer: Vec::with_capacity(16 * 1024), body: Vec::new() })
    }

    /// Sends a request, and reads the answer to its end.
    fn exchange(&mut self, request: &[u8]) -> io::Result<Answer<'_>> {
        self.stream.write_all(request)?;
        self.receive()
    }

    /// Reads one answer. Nothing may follow it: we ask again only when we have read it.
    fn receive(&mut self) -> io::Result<Answer<'_>> {
        let end = self.receive_head()?;
        let head = utf8(self.buffer.get(..end))?;
        let length = header(head, "content-length").and_then(|length| length.parse::<usize>().ok());
        let chunked =
            header(head, "transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked"));
        self.body.clear();
        if chunked {
            let mut at = end;
            while let size @ 1.. = self.chunk_size(&mut at)? {
                self.receive_up_to(at + size + 2)?;
                self.body.extend_from_slice(self.buffer.get(at..at + size).unwrap_or_default());
                at += size + 2;
            }
            self.receive_up_to(at + 2)?;
        } else {
            let length = length.unwrap_or(0);
            self.receive_up_to(end + length)?;
            self.body.extend_from_slice(self.buffer.get(end..).unwrap_or_default());
        }
        let head = utf8(self.buffer.get(..end))?;
        Ok(Answer { status: status(head)?, head, body: utf8(Some(&self.body))? })
    }

    /// Reads until the head is whole, and says where it ends.
    fn receive_head(&mut self) -> io::Result<usize> {
        self.buffer.clear();
        loop {
            if let Some(at) = self.buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                return Ok(at + 4);
            }
            self.receive_more()?;
        }
    }

    /// The size of the chunk whose line begins there; then `at` is where its bytes begin.
    fn chunk_size(&mut self, at: &mut usize) -> io::Result<usize> {
        loop {
            let rest = self.buffer.get(*at..).unwrap_or_default();
            if let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
                *at += end + 2;
                let size = utf8(rest.get(..end))?;
                return usize::from_str_radix(size, 16).map_err(io::Error::other);
            }
            self.receive_more()?;
        }
    }

    fn receive_up_to(&mut self, end: usize) -> io::Result<()> {
        while self.buffer.len() < end {
            self.receive_more()?;
        }
        Ok(())
    }

    fn receive_more(&mut self) -> io::Result<()> {
        let mut block = [0; 4096];
        let count = self.stream.read(&mut block)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.buffer.extend_from_slice(block.get(..count).unwrap_or_default());
        Ok(())
    }
}

fn utf8(bytes: Option<&[u8]>) -> io::Result<&str> {
    std::str::from_utf8(bytes.unwrap_or_default()).map_err(io::Error::other)
}

fn status(head: &str) -> io::Result<u16> {
    let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
    status.ok_or_else(|| io::Error::other(format!("this is no answer of HTTP/1.1: {head}")))
}

fn header<'h>(head: &'h str, name: &str) -> Option<&'h str> {
    let mut fields = head.split("\r\n").skip(1).filter_map(|line| line.split_once(':'));
    fields.find_map(|(field, value)| field.eq_ignore_ascii_case(name).then(|| value.trim()))
}

/// A connection, and the call of `echo` that it repeats, each time under a new id.
pub struct Caller {
    connection: Connection,
    request: Vec<u8>,
    id_at: usize,
    id: u64,
}

impl Caller {
    /// A call that was begun and must be finished.
    fn begin(&mut self) -> io::Result<()> {
        self.id += 1;
        let digits = self.request.get_mut(self.id_at..).unwrap_or_default();
        io::Cursor::new(digits).write_all(self.id.to_string().as_bytes())?;
        self.connection.stream.write_all(&self.request)
    }

    /// Reads the answer of the call that was begun: the text must be in it, and its id.
    fn finish(&mut self) -> io::Result<()> {
        let id = self.id.to_string();
        let answer = self.connection.receive()?;
        if answer.status == 200 && answer.body.contains(TEXT) && answer.body.contains(&id) {
            return Ok(());
        }
        Err(io::Error::other(format!("this is not what was asked for:\n{}{}", answer.head, answer.body)))
    }

    /// So many calls, one after the other, and how long each took.
    ///
    /// # Panics
    /// If one is not answered as it should be.
    pub fn calls(&mut self, count: usize) -> Vec<Duration> {
        let mut times = Vec::with_capacity(count);
        for _ in 0..count {
            let start = Instant::now();
            self.begin().and_then(|()| self.finish()).expect("an answer");
            times.push(start.elapsed());
        }
        times
    }
}

/// So many calls by these callers, each of whom has one in flight all the time; how many that were per second.
///
/// # Panics
/// If one is not answered as it should be.
pub fn throughput(callers: &mut [Caller], count: u32) -> f64 {
    let start = Instant::now();
    let mut made = 0;
    for caller in &mut *callers {
        caller.begin().expect("a request is taken");
    }
    while made < count {
        for caller in &mut *callers {
            caller.finish().and_then(|()| caller.begin()).expect("an answer");
            made += 1;
        }
    }
    for caller in &mut *callers {
        caller.finish().expect("an answer");
        made += 1;
    }
    f64::from(made) / start.elapsed().as_secs_f64()
}

impl Server {
    /// Someone who calls `echo` there.
    ///
    /// # Panics
    /// If it cannot be reached, or gives no session.
    pub fn caller(&self, era: Era) -> Caller {
        let mut connection = Connection::open(self.port).expect("the server listens");
        let (headers, meta) = match era {
            Era::Session => {
                let session = self.open_session(&mut connection);
                (format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n"), "")
            }
            Era::Stateless => (
                "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n".to_owned(),
                r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#,
            ),
            Era::Plain => (String::new(), ""),
        };
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{FIRST_ID},"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"{TEXT}"}}{meta}}}}}"#
        );
        let request = self.post(&headers, &body);
        let id_at = request.find(&FIRST_ID.to_string()).expect("the id is in the request");
        Caller { connection, request: request.into_bytes(), id_at, id: FIRST_ID }
    }

    /// Opens so many sessions and leaves them alone; their ids.
    ///
    /// # Panics
    /// If one is refused.
    pub fn sessions(&self, count: usize) -> Vec<String> {
        let mut connection = Connection::open(self.port).expect("the server listens");
        (0..count).map(|_| self.open_session(&mut connection)).collect()
    }

    /// Opens the stream of a session, and leaves it open as long as it is held.
    pub fn stream(&self, session: &str) -> io::Result<Stream> {
        let mut connection = Connection::open(self.port)?;
        let request = format!(
            "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nAccept: text/event-stream\r\n\
             Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n\r\n",
            self.port, self.token
        );
        connection.stream.write_all(request.as_bytes())?;
        let end = connection.receive_head()?;
        let head = utf8(connection.buffer.get(..end))?;
        let events = header(head, "content-type").is_some_and(|kind| kind.starts_with("text/event-stream"));
        if status(head)? == 200 && events {
            return Ok(Stream { _open: connection.stream });
        }
        Err(io::Error::other(format!("this is no stream of events: {head}")))
    }

    fn open_session(&self, connection: &mut Connection) -> String {
        let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
        let answer =
            connection.exchange(self.post("", hello).as_bytes()).expect("an answer to the handshake");
        assert_eq!(answer.status, 200, "{}{}", answer.head, answer.body);
        let session = answer.header("mcp-session-id").expect("the handshake gives a session").to_owned();
        let headers = format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n");
        let done = self.post(&headers, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        let answer = connection.exchange(done.as_bytes()).expect("an answer to the notification");
        assert_eq!(answer.status, 202, "{}{}", answer.head, answer.body);
        session
    }

    fn post(&self, headers: &str, body: &str) -> String {
        format!(
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n{headers}\
             Content-Length: {}\r\n\r\n{body}",
            self.port,
            self.token,
            body.len()
        )
    }
}

/// An open stream of events that nobody reads.
pub struct Stream {
    _open: TcpStream,
}
