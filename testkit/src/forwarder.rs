//! Stands before a daemon and shows a token for whoever has none to show: every request passes with one header more,
//! and not another byte changed. Answers pass as they come, and so does a hang-up, in both directions.

use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// The most bytes of a request before its body.
const HEAD: u64 = 64 * 1024;

/// A port of loopback that nobody serves yet.
pub struct Forwarder(TcpListener);

impl Forwarder {
    /// Takes any free port.
    pub fn bind() -> io::Result<Self> {
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map(Self)
    }

    /// The port.
    pub fn port(&self) -> io::Result<u16> {
        Ok(self.0.local_addr()?.port())
    }

    /// Forwards to that address with that token, as long as this process lives.
    pub fn serve(self, upstream: SocketAddr, token: &str) {
        let header: Arc<str> = format!("Authorization: Bearer {token}\r\n").into();
        thread::spawn(move || {
            for client in self.0.incoming().flatten() {
                let header = Arc::clone(&header);
                // Whoever asks sees a closed connection; there is nobody else to tell.
                thread::spawn(move || drop(forward(&client, upstream, &header)));
            }
        });
    }
}

/// One connection, with one of its own to the daemon.
fn forward(client: &TcpStream, upstream: SocketAddr, header: &str) -> io::Result<()> {
    let daemon = TcpStream::connect(upstream)?;
    client.set_nodelay(true)?;
    daemon.set_nodelay(true)?;
    let (mut answers, mut back) = (daemon.try_clone()?, client.try_clone()?);
    let returning = thread::spawn(move || {
        let ended = io::copy(&mut answers, &mut back);
        pass_on(&back, ended.is_ok());
        // Somebody who does not read any more need not be answered.
        if ended.is_err() {
            pass_on(&answers, false);
        }
    });
    let ended = requests(&mut BufReader::new(client), &mut &daemon, header);
    pass_on(&daemon, ended.is_ok());
    returning.join().map_err(|_| io::Error::other("the way back broke"))
}

/// Ends the other side as this one ended: at the end of what it had to say, or at once.
fn pass_on(stream: &TcpStream, orderly: bool) {
    // It may be gone already.
    let _ = stream.shutdown(if orderly { Shutdown::Write } else { Shutdown::Both });
}

/// Request after request, until the client has no more.
fn requests(from: &mut impl BufRead, to: &mut impl Write, header: &str) -> io::Result<()> {
    while let Some(head) = head(from)? {
        let line = head.iter().position(|byte| *byte == b'\n').map_or(head.len(), |end| end + 1);
        let (line, fields) = head.split_at(line);
        to.write_all(&[line, header.as_bytes(), fields].concat())?;
        match body(fields)? {
            Body::Sized(length) => exactly(from, to, length)?,
            Body::Chunked => chunks(from, to)?,
        }
        to.flush()?;
    }
    Ok(())
}

/// Everything up to the empty line; `None` if there is no further request.
fn head(from: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut head = Vec::new();
    let mut limited = from.take(HEAD);
    loop {
        let before = head.len();
        limited.read_until(b'\n', &mut head)?;
        match head.get(before..).unwrap_or_default() {
            [] if before == 0 => return Ok(None),
            [.., b'\n'] => {}
            _ => return Err(malformed("a request stops before its body")),
        }
        if head.ends_with(b"\r\n\r\n") {
            return Ok(Some(head));
        }
    }
}

/// How long a body is.
#[derive(Debug, PartialEq, Eq)]
enum Body {
    Sized(u64),
    Chunked,
}

fn body(fields: &[u8]) -> io::Result<Body> {
    let fields = String::from_utf8_lossy(fields);
    let mut body = Body::Sized(0);
    for (name, value) in fields.lines().filter_map(|field| field.split_once(':')) {
        if name.eq_ignore_ascii_case("transfer-encoding") {
            return Ok(Body::Chunked);
        }
        if name.eq_ignore_ascii_case("content-length") {
            body = Body::Sized(value.trim().parse().map_err(|_| malformed("a length is no number"))?);
        }
    }
    Ok(body)
}

/// Chunk after chunk, with their sizes, and what follows the last.
fn chunks(from: &mut impl BufRead, to: &mut impl Write) -> io::Result<()> {
    loop {
        let size = line(from, to)?;
        let digits = size.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(digits, 16).map_err(|_| malformed("a chunk has no size"))?;
        if size == 0 {
            while !line(from, to)?.trim().is_empty() {}
            return Ok(());
        }
        exactly(from, to, size.saturating_add(2))?;
        to.flush()?;
    }
}

fn line(from: &mut impl BufRead, to: &mut impl Write) -> io::Result<String> {
    let mut line = String::new();
    if from.take(HEAD).read_line(&mut line)? == 0 {
        return Err(malformed("a body stops in its middle"));
    }
    to.write_all(line.as_bytes())?;
    Ok(line)
}

fn exactly(from: &mut impl BufRead, to: &mut impl Write, length: u64) -> io::Result<()> {
    let copied = io::copy(&mut from.take(length), to)?;
    if copied == length { Ok(()) } else { Err(malformed("a body stops in its middle")) }
}

fn malformed(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests;
