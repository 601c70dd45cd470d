//! Plain HTTP/1.1 by hand, so that a test can send exactly the bytes it means.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::wait::LONG;

/// Sends bytes to a port of loopback and gives all that comes back until the server closes.
///
/// # Panics
/// If there is no server.
#[track_caller]
pub fn exchange(port: u16, request: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the daemon listens");
    stream.set_read_timeout(Some(LONG)).expect("a timeout");
    stream.write_all(request.as_bytes()).expect("the daemon reads");
    let mut answer = Vec::new();
    // A reset after the answer is as good as an end.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

/// A `GET` with that Host, closed after the answer.
#[track_caller]
pub fn get(port: u16, path: &str, host: &str, more: &str) -> String {
    exchange(port, &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n"))
}
