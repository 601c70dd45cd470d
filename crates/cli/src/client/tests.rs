//! The client against small servers that answer well, badly or not at all.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixListener;
use std::thread::JoinHandle;

use serde_json::Value;

use super::*;
use crate::exit::Exit;

/// A server that reads one request's head, sends those bytes and hangs up. It gives back what it read.
fn server(answer: &'static str) -> (tempfile::TempDir, PathBuf, JoinHandle<String>) {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
            head.push(byte[0]);
        }
        stream.write_all(answer.as_bytes()).unwrap();
        String::from_utf8(head).unwrap()
    });
    (dir, socket, thread)
}

#[test]
fn a_document_is_asked_for_with_the_callers_token() {
    let (_dir, socket, thread) = server("HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n{\"a\":1}");
    let client = Client::new(&socket, Some("cv_x")).unwrap();
    let value: Value = client.get("/api/v1/status").unwrap();
    assert_eq!(value["a"], 1);
    let head = thread.join().unwrap();
    assert!(head.starts_with("GET /api/v1/status HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("authorization: Bearer cv_x\r\n"), "{head}");
}

/// A server of two parts, or of one that names itself as the next.
fn serve_parts(socket: &Path, next: &'static str) -> JoinHandle<Vec<String>> {
    let listener = UnixListener::bind(socket).unwrap();
    std::thread::spawn(move || {
        let mut asked = Vec::new();
        for (link, body) in [(format!("link: <{next}>; rel=\"next\"\r\n"), "[1,2]"), (String::new(), "[3]")] {
            let Ok((mut stream, _)) = listener.accept() else { break };
            let mut head = [0; 1024];
            let count = stream.read(&mut head).unwrap();
            asked.push(String::from_utf8_lossy(&head[..count]).lines().next().unwrap().to_owned());
            let length = body.len();
            let answer = format!("HTTP/1.1 200 OK\r\n{link}content-length: {length}\r\n\r\n{body}");
            stream.write_all(answer.as_bytes()).unwrap();
            if next == "/list" {
                break;
            }
        }
        asked
    })
}

#[test]
fn a_list_is_read_to_its_last_part() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("sock");
    let thread = serve_parts(&socket, "/list?after=2");
    let client = Client::new(&socket, None).unwrap();
    assert_eq!(client.list::<u32>("/list").unwrap(), [1, 2, 3]);
    assert_eq!(thread.join().unwrap(), ["GET /list HTTP/1.1", "GET /list?after=2 HTTP/1.1"]);
}

#[test]
fn a_list_that_leads_back_to_itself_is_a_failure() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("sock");
    let _thread = serve_parts(&socket, "/list");
    let failure = Client::new(&socket, None).unwrap().list::<u32>("/list").unwrap_err();
    assert!(failure.message().contains("does not end"), "{failure:?}");
}

#[test]
fn a_refusal_is_told_as_one() {
    let (_dir, socket, _thread) = server(
        "HTTP/1.1 403 Forbidden\r\nconnection: close\r\n\r\n\
         {\"error\":{\"code\":\"not_granted\",\"message\":\"no\",\"action\":\"ask\"}}",
    );
    let failure = Client::new(&socket, None).unwrap().get::<Value>("/").unwrap_err();
    assert_eq!((failure.exit(), failure.message(), failure.help()), (Exit::Refused, "no", "ask"));
}

#[test]
fn a_token_that_opens_nothing_is_named() {
    let (_dir, socket, _thread) = server("HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n");
    let failure = Client::new(&socket, Some("cv_old")).unwrap().get::<Value>("/").unwrap_err();
    assert_eq!(failure.exit(), Exit::Refused);
    assert!(failure.message().contains("COVENANT_TOKEN"), "{failure:?}");
}

#[test]
fn an_answer_that_stops_in_the_middle_is_a_failure() {
    let (_dir, socket, _thread) = server("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"a\":");
    let failure = Client::new(&socket, None).unwrap().get::<Value>("/").unwrap_err();
    assert_eq!(failure.exit(), Exit::Failed);
    assert!(failure.message().contains("broke"), "{failure:?}");
}

#[test]
fn a_stream_is_read_line_by_line_across_its_chunks() {
    let (_dir, socket, _thread) = server(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
         3\r\none\r\n5\r\n\ntwo\n\r\n4\r\nlast\r\n0\r\n\r\n",
    );
    let mut seen = Vec::new();
    let client = Client::new(&socket, None).unwrap();
    client
        .lines("/", |line| {
            seen.push(String::from_utf8(line.to_vec()).unwrap());
            Ok(Flow::On)
        })
        .unwrap();
    assert_eq!(seen, ["one", "two", "last"]);
}

#[test]
fn a_stream_is_left_when_there_is_enough() {
    let (_dir, socket, _thread) =
        server("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8\r\none\ntwo\n\r\n");
    let mut count = 0;
    Client::new(&socket, None)
        .unwrap()
        .lines("/", |_| {
            count += 1;
            Ok(Flow::Enough)
        })
        .unwrap();
    assert_eq!(count, 1);
}

#[test]
fn without_a_socket_there_is_no_daemon() {
    let dir = tempfile::tempdir().unwrap();
    let client = Client::new(&dir.path().join("sock"), None).unwrap();
    assert!(!client.is_served().unwrap());
    assert_eq!(client.get::<Value>("/").unwrap_err().exit(), Exit::NoDaemon);
}

#[test]
fn a_socket_that_a_dead_daemon_left_behind_is_no_daemon() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("sock");
    drop(UnixListener::bind(&socket).unwrap());
    assert!(!Client::new(&socket, None).unwrap().is_served().unwrap());
}

#[test]
fn names_cannot_leave_their_segment() {
    assert_eq!(segment("github__list-issues"), "github__list-issues");
    assert_eq!(segment("../x?y=1&z#"), "..%2Fx%3Fy%3D1%26z%23");
    assert_eq!(segment(".."), "%2E%2E");
    assert_eq!(segment("ä b"), "%C3%A4%20b");
}
