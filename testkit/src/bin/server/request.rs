//! HTTP/1.1 by hand: one request read, one answer written, and the connection kept.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::server::Server;

/// A request.
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    /// By name, in lower case.
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    /// The next request on a connection; none at its end.
    fn read(from: &mut BufReader<TcpStream>) -> Option<Self> {
        let mut line = || {
            let mut line = String::new();
            from.read_line(&mut line).ok().filter(|count| *count > 0)?;
            Some(line.trim_end().to_owned())
        };
        let first = line()?;
        let mut words = first.split(' ').map(str::to_owned);
        let (method, path) = (words.next()?, words.next()?);
        let mut headers = BTreeMap::new();
        loop {
            let line = line()?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        from.read_exact(&mut body).ok()?;
        Some(Self { method, path, headers, body })
    }

    /// One of its headers.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// Its body, where that is JSON.
    pub(crate) fn message(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }
}

/// The writing end of a connection.
#[derive(Clone)]
pub(crate) struct Connection(Arc<Mutex<TcpStream>>);

impl Connection {
    fn write(&self, bytes: &[u8]) {
        // Whoever stopped reading has gone.
        let _ = self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(bytes);
    }

    /// Answers with a whole document.
    pub(crate) fn answer(&self, status: &str, headers: &str, body: &[u8]) {
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\n\r\n");
        self.write(&[head.as_bytes(), body].concat());
    }

    /// Answers with a document of JSON.
    pub(crate) fn json(&self, status: &str, headers: &str, body: &Value) {
        self.answer(
            status,
            &format!("{headers}Content-Type: application/json\r\n"),
            body.to_string().as_bytes(),
        );
    }

    /// Begins a stream of events.
    pub(crate) fn begin(&self, headers: &str) {
        self.write(
            format!("HTTP/1.1 200 OK\r\n{headers}Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
                .as_bytes(),
        );
    }

    /// One event of a stream.
    pub(crate) fn event(&self, name: &str, data: &[u8]) {
        let event = [b"event: ", name.as_bytes(), b"\ndata: ", data, b"\n\n"].concat();
        self.chunk(&event);
    }

    /// Bytes of a stream, as they are.
    pub(crate) fn chunk(&self, bytes: &[u8]) {
        self.write(&[format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat());
    }

    /// Ends a stream; the connection is kept.
    pub(crate) fn end(&self) {
        self.write(b"0\r\n\r\n");
    }

    /// Ends the connection.
    pub(crate) fn hang_up(&self) {
        let stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = stream.shutdown(std::net::Shutdown::Both);
    }

    /// Whether the other end has hung up.
    pub(crate) fn is_gone(&self) -> bool {
        let stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The reading half is another handle of the same socket, and waits for no request now.
        let waits = |wait: bool| stream.set_nonblocking(!wait).is_ok();
        let looked = waits(false).then(|| stream.peek(&mut [0]));
        waits(true);
        match looked {
            Some(Ok(count)) => count == 0,
            Some(Err(error)) => error.kind() != std::io::ErrorKind::WouldBlock,
            None => true,
        }
    }
}

/// Takes one request and answers it.
pub(crate) type Handler = fn(&Arc<Server>, &Request, &Connection);

/// Serves a port of loopback, says which, and ends with standard input.
pub(crate) fn serve(server: &Arc<Server>, handler: Handler) {
    let Ok(listener) = TcpListener::bind(("127.0.0.1", 0)) else { return };
    println!("{}", listener.local_addr().map_or(0, |address| address.port()));
    let shared = Arc::clone(server);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let server = Arc::clone(&shared);
            std::thread::spawn(move || converse(&server, stream, handler));
        }
    });
    let mut input = std::io::stdin().lock();
    while input.read(&mut [0; 1024]).is_ok_and(|count| count > 0) {}
}

fn converse(server: &Arc<Server>, stream: TcpStream, handler: Handler) {
    let _ = stream.set_nodelay(true);
    let Ok(writing) = stream.try_clone() else { return };
    let (mut reading, connection) = (BufReader::new(stream), Connection(Arc::new(Mutex::new(writing))));
    while let Some(request) = Request::read(&mut reading) {
        let message = request.message().unwrap_or_default();
        server.record.heard(&format!("{} {}", request.method, request.path), &request.headers, &message);
        handler(server, &request, &connection);
    }
}
