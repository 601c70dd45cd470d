//! What may be shown of lines that are long, broken, or full of secrets.

use std::sync::Arc;

use super::*;

const SECRET: &str = "s3cr3t-0123456789-abcdefghij";

fn scrub() -> Scrub {
    Arc::new(|line: &str| line.replace(SECRET, "[REDACTED]"))
}

/// The lines of a text that comes in pieces of that many bytes.
fn cut(text: &[u8], piece: usize) -> Vec<String> {
    let mut cutter = Cutter::new(scrub());
    let mut lines = Vec::new();
    for piece in text.chunks(piece) {
        cutter.push(piece, &mut |line| lines.push(line));
        assert!(cutter.held.capacity() <= 2 * HELD);
    }
    cutter.finish(&mut |line| lines.push(line));
    lines
}

#[test]
fn lines_come_out_whole_however_they_come_in() {
    let text = format!("one\n\nkey {SECRET} used\r\nbroken \u{e4}\u{f6}").into_bytes();
    for piece in 1..text.len() {
        assert_eq!(cut(&text, piece), ["one", "", "key [REDACTED] used", "broken \u{e4}\u{f6}"]);
    }
    assert_eq!(cut(b"\xff\xfe!\n", 2), ["\u{fffd}\u{fffd}!"]);
}

#[test]
fn a_long_line_is_cut_after_its_secrets_are_gone() {
    for before in SHOWN - 40..SHOWN + 5 {
        let line = format!("{}{SECRET}{}\n", "x".repeat(before), "y".repeat(100));
        let [shown] = cut(line.as_bytes(), 1000).try_into().unwrap();
        assert!(!shown.contains("s3c"), "a secret after {before} bytes shows");
        assert!(shown.ends_with("… (cut)") && shown.len() < SHOWN + 20);
    }
}

#[test]
fn a_secret_at_no_border_of_an_endless_line_shows() {
    let endless = "y".repeat(10 * HELD);
    // Secrets that shrink when they are taken out bring what follows them into what is shown.
    let many = SECRET.repeat(HELD / SECRET.len() - 1);
    for before in 0..2 * SECRET.len() {
        for border in [HELD, HELD - MARGIN, SHOWN] {
            let first = &many[..border - border % SECRET.len() - 3 * SECRET.len()];
            let line = format!("{first}{}{SECRET}{SECRET}{SECRET}{endless}\nnext\n", "x".repeat(before));
            let [shown, next] = cut(line.as_bytes(), 7000).try_into().unwrap();
            assert!(!shown.contains("s3c"), "a secret at {border} shows after {before} bytes: {shown:.100}");
            assert!(!shown.contains("ghij"), "the end of one shows");
            assert_eq!(next, "next");
        }
    }
}

#[test]
fn an_endless_line_is_one_line_and_takes_no_memory() {
    let [shown] = cut(&vec![b'x'; 20 * HELD], 4096).try_into().unwrap();
    assert_eq!(shown, format!("{}… (cut)", "x".repeat(SHOWN)));
}

#[test]
fn the_last_lines_are_kept() {
    let tail = Tail::default();
    assert_eq!(tail.text(), "");
    for number in 0..100_000 {
        tail.push(format!("line {number}"));
    }
    let text = tail.text();
    assert!(text.len() <= KEPT && text.len() > KEPT - 20);
    assert!(text.starts_with("line ") && text.ends_with("line 99998\nline 99999"));
    for _ in 0..2 * KEPT {
        tail.push(String::new());
    }
    assert!(tail.0.lock().unwrap().lines.len() <= KEPT, "empty lines count too");
}
