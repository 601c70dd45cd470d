//! A load client for MCP over HTTP that costs next to nothing: prepared bytes out, one read back, on one thread.
//!
//! Several connections are kept busy in turn: while the answer of one is read, the others are in flight. No event loop
//! and no threads of its own compete with the server for the processors.

mod connection;
mod issuer;

use std::io::{self, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use connection::{Connection, header, status, utf8};

pub use issuer::Issuer;

/// What is sent along and must come back.
pub const TEXT: &str = "hello, gate";

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
    /// The tool that is called there, which says again what it is told.
    pub tool: String,
}

/// A connection, and the call that it repeats, each time under a new id.
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
    /// Someone who calls its tool.
    ///
    /// # Panics
    /// If it cannot be reached, or gives no session.
    pub fn caller(&self, era: Era) -> Caller {
        let mut connection = Connection::open(self.port).expect("the server listens");
        let tool = &self.tool;
        let (headers, meta) = match era {
            Era::Session => {
                let session = self.open_session(&mut connection);
                (format!("Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n"), "")
            }
            Era::Stateless => (
                format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\n"),
                r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#,
            ),
            Era::Plain => (String::new(), ""),
        };
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{FIRST_ID},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"text":"{TEXT}"}}{meta}}}}}"#
        );
        let request = self.post(&headers, &body);
        let id_at = request.find(&FIRST_ID.to_string()).expect("the id is in the request");
        Caller { connection, request: request.into_bytes(), id_at, id: FIRST_ID }
    }

    /// A session in which anything can be asked, one thing at a time.
    ///
    /// # Panics
    /// If it is refused.
    pub fn session(&self) -> Session<'_> {
        let mut connection = Connection::open(self.port).expect("the server listens");
        let id = self.open_session(&mut connection);
        Session { server: self, connection, id }
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

/// A session, and the connection it is used on.
pub struct Session<'s> {
    server: &'s Server,
    connection: Connection,
    id: String,
}

impl Session<'_> {
    /// Calls a tool with the text; the body of what it answers.
    ///
    /// # Errors
    /// If there is no answer.
    pub fn call(&mut self, tool: &str) -> io::Result<String> {
        let params = format!(r#"{{"name":"{tool}","arguments":{{"text":"{TEXT}"}}}}"#);
        self.ask("tools/call", &params)
    }

    /// The list of tools, as it comes.
    ///
    /// # Errors
    /// If there is no answer.
    pub fn tools(&mut self) -> io::Result<String> {
        self.ask("tools/list", "{}")
    }

    fn ask(&mut self, method: &str, params: &str) -> io::Result<String> {
        let headers = format!("Mcp-Session-Id: {}\r\nMCP-Protocol-Version: 2025-11-25\r\n", self.id);
        let body = format!(r#"{{"jsonrpc":"2.0","id":{FIRST_ID},"method":"{method}","params":{params}}}"#);
        let request = self.server.post(&headers, &body);
        Ok(self.connection.exchange(request.as_bytes())?.body.to_owned())
    }
}

/// An open stream of events that nobody reads.
pub struct Stream {
    _open: TcpStream,
}
