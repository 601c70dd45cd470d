//! What passes a forwarder, byte for byte, and that hang-ups do.

use super::*;
use crate::wait::LONG;

const HEADER: &str = "Authorization: Bearer T\r\n";

fn forwarded(bytes: &str) -> String {
    let mut out = Vec::new();
    requests(&mut bytes.as_bytes(), &mut out, HEADER).unwrap();
    String::from_utf8(out).unwrap()
}

/// A client's end, and the end a daemon would hold.
fn between() -> (TcpStream, TcpStream) {
    let daemon = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let forwarder = Forwarder::bind().unwrap();
    let port = forwarder.port().unwrap();
    forwarder.serve(daemon.local_addr().unwrap(), "T");
    let client = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    let (daemon, _) = daemon.accept().unwrap();
    for stream in [&client, &daemon] {
        stream.set_read_timeout(Some(LONG)).unwrap();
    }
    (client, daemon)
}

fn receive(stream: &mut TcpStream, expected: &str) {
    let mut bytes = vec![0; expected.len()];
    stream.read_exact(&mut bytes).unwrap();
    assert_eq!(String::from_utf8_lossy(&bytes), expected);
}

#[test]
fn each_request_gets_the_header_and_nothing_else_changes() {
    let first = "POST /mcp HTTP/1.1\r\nhOsT:  evil.example.com \r\nOrigin: http://a\r\nContent-Length: 5\r\n\r\nab\r\nc";
    let second = "GET / HTTP/1.1\r\nMcp-Name:   x  \r\n\r\n";
    let expected = format!(
        "POST /mcp HTTP/1.1\r\n{HEADER}hOsT:  evil.example.com \r\nOrigin: http://a\r\nContent-Length: 5\r\n\r\nab\r\nc\
         GET / HTTP/1.1\r\n{HEADER}Mcp-Name:   x  \r\n\r\n"
    );
    assert_eq!(forwarded(&format!("{first}{second}")), expected);
}

#[test]
fn a_body_in_chunks_ends_where_it_says() {
    let head = "POST / HTTP/1.1\r\n";
    let rest =
        "Transfer-Encoding: chunked\r\n\r\n5;x=y\r\nab\r\nc\r\nA\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n";
    let more = "GET / HTTP/1.1\r\n\r\n";
    let expected = format!("{head}{HEADER}{rest}GET / HTTP/1.1\r\n{HEADER}\r\n");
    assert_eq!(forwarded(&format!("{head}{rest}{more}")), expected);
}

#[test]
fn half_a_request_is_an_error() {
    for half in [
        "GET / HTTP/1.1\r\nHost: a",
        "GET / HTTP/1.1\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nabc",
        "POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
    ] {
        assert!(requests(&mut half.as_bytes(), &mut Vec::new(), HEADER).is_err(), "{half}");
    }
}

#[test]
fn an_answer_passes_while_it_is_being_written_and_its_end_too() {
    let (mut client, mut daemon) = between();
    client.write_all(b"GET /mcp HTTP/1.1\r\n\r\n").unwrap();
    receive(&mut daemon, &format!("GET /mcp HTTP/1.1\r\n{HEADER}\r\n"));
    for part in ["HTTP/1.1 200 OK\r\n\r\n", "data: 1\n\n", "data: 2\n\n"] {
        daemon.write_all(part.as_bytes()).unwrap();
        receive(&mut client, part);
    }
    drop(daemon);
    assert_eq!(client.read(&mut [0]).unwrap(), 0);
}

#[test]
fn a_client_that_hangs_up_is_gone_for_the_daemon_too() {
    let (mut client, mut daemon) = between();
    client.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    receive(&mut daemon, &format!("GET / HTTP/1.1\r\n{HEADER}\r\n"));
    drop(client);
    assert_eq!(daemon.read(&mut [0]).unwrap(), 0);
}
