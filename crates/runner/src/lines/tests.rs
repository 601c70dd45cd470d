//! Lines as real pipes bring them: in pieces, without end, and cut off.

use std::io::Write as _;
use std::thread::JoinHandle;

use tokio::net::unix::pipe::Receiver;

use super::*;

/// A pipe into which somebody writes these pieces, each with a write of its own, and then closes it.
fn written(pieces: Vec<Vec<u8>>) -> (Receiver, JoinHandle<()>) {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let writing = std::thread::spawn(move || {
        for piece in pieces {
            if writer.write_all(&piece).is_err() {
                return;
            }
        }
    });
    (Receiver::from_owned_fd(reader.into()).unwrap(), writing)
}

fn lines(pieces: &[&str], line: usize, total: u64) -> Lines<Receiver> {
    let pieces = pieces.iter().map(|piece| piece.as_bytes().to_vec()).collect();
    Lines::new(written(pieces).0, LineLimits { line, total })
}

async fn all(mut lines: Lines<Receiver>) -> Vec<String> {
    let mut got = Vec::new();
    loop {
        match lines.next().await {
            Ok(Some(line)) => got.push(String::from_utf8(line).unwrap()),
            Ok(None) => return got,
            Err(LineError::TooLong(most)) => got.push(format!("<longer than {most}>")),
            Err(error @ LineError::TooMuch(_)) => {
                assert!(matches!(lines.next().await, Err(LineError::TooMuch(_))), "it is over for good");
                got.push(format!("<{error}>"));
                return got;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn lines_are_exact_but_for_their_line_feed() {
    let got = all(lines(&["one\r\n", "\n", "t", "wo\nthree\n", " last"], 100, 100)).await;
    assert_eq!(got, ["one\r", "", "two", "three", " last"]);
    assert!(all(lines(&[], 100, 100)).await.is_empty());
    assert_eq!(all(lines(&["\n"], 0, 100)).await, [""]);
}

#[tokio::test]
async fn a_line_that_is_too_long_is_skipped_and_the_next_one_read() {
    let long = "x".repeat(50_000);
    let got = all(lines(&["12345\n", "123456\n", &long, "yz\nafter\n", &long], 5, 1_000_000)).await;
    assert_eq!(got, ["12345", "<longer than 5>", "<longer than 5>", "after", "<longer than 5>"]);
}

#[tokio::test]
async fn what_fits_in_all_is_read_before_the_rest_is_refused() {
    assert_eq!(all(lines(&["one\ntwo\n"], 10, 8)).await, ["one", "two"]);
    assert_eq!(all(lines(&["one\ntwo\nx"], 10, 8)).await, ["one", "two", "<it wrote more than 8 bytes>"]);
    assert_eq!(all(lines(&["one\ntwo\n"], 10, 7)).await, ["one", "<it wrote more than 7 bytes>"]);
}

#[tokio::test]
async fn an_endless_line_meets_its_bound_and_takes_no_memory() {
    let (pipe, writing) = written(vec![vec![b'x'; 4096]; 10_000]);
    let mut lines = Lines::new(pipe, LineLimits { line: 100_000, total: 30_000_000 });
    assert!(matches!(lines.next().await, Err(LineError::TooLong(100_000))));
    assert!(matches!(lines.next().await, Err(LineError::TooMuch(30_000_000))));
    assert!(lines.held.capacity() < 400_000, "{}", lines.held.capacity());
    drop(lines);
    writing.join().unwrap();
}

#[tokio::test]
async fn who_gives_up_waiting_loses_nothing() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let source = Receiver::from_owned_fd(reader.into()).unwrap();
    let mut lines = Lines::new(source, LineLimits { line: 100, total: 1000 });
    writer.write_all(b"begun").unwrap();
    while lines.held.is_empty() {
        let _ = tokio::time::timeout(std::time::Duration::from_millis(1), lines.next()).await;
    }
    writer.write_all(b" and ended\n").unwrap();
    assert_eq!(lines.next().await.unwrap().unwrap(), b"begun and ended");
}

#[tokio::test]
async fn what_follows_the_last_line_can_be_taken_over() {
    let mut lines = lines(&["head\nbody\nmore"], 100, 100);
    assert_eq!(lines.next().await.unwrap().unwrap(), b"head");
    let (mut source, mut rest) = lines.into_parts();
    source.read_to_end(&mut rest).await.unwrap();
    assert_eq!(rest, b"body\nmore");
}
