//! Everything is read, and not everything logged.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Mutex;
use std::time::Duration;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::*;
use crate::linux::alone::alone;
use crate::nursery::Scrub;

#[test]
fn a_flood_is_logged_at_its_pace_and_says_what_was_left_out() {
    let mut now = Instant::now();
    let mut pace = Pace::new(now);
    let line = "x".repeat(936);
    let (mut logged, mut notices, mut left_out) = (0, 0, 0);
    // 60 s of 10 MB/s.
    for _ in 0..600_000 {
        now += Duration::from_micros(100);
        if let Some(left) = pace.admit(&line, now) {
            logged += 1000;
            notices += u64::from(left > 0);
            left_out += left;
        }
    }
    assert!(logged <= BURST + 60 * PER_SECOND, "{logged}");
    assert!(logged >= 55 * PER_SECOND, "{logged}");
    assert!(notices <= 62, "{notices}");
    let seen = logged / 1000 * 937;
    assert_eq!(left_out + pace.left_out + seen, 600_000 * 937);
}

#[test]
fn empty_lines_cost_something_too() {
    let now = Instant::now();
    let mut pace = Pace::new(now);
    let logged = (0..100_000).filter(|_| pace.admit("", now).is_some()).count();
    assert!(logged <= 1024, "{logged}");
}

#[tokio::test]
async fn everything_is_read_and_the_end_kept() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    let pipe = Receiver::from_owned_fd(reader.into()).unwrap();
    let tail = Arc::new(Tail::default());
    let scrub: Scrub = Arc::new(|line: &str| line.replace("secret", "[]"));
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ear = Arc::clone(&heard);
    let errors = Errors {
        scrub,
        hear: Some(Arc::new(move |line| ear.lock().unwrap().push(line.to_owned()))),
        aloud: false,
    };
    let draining = tokio::spawn(drain(pipe, Arc::clone(&tail), errors, "name".into(), "run".into()));
    let writing = std::thread::spawn(move || {
        for _ in 0..1000 {
            writer.write_all(&[b'x'; 10_000]).unwrap();
        }
        writer.write_all(b"\na secret\nthe end").unwrap();
    });
    draining.await.unwrap();
    writing.join().unwrap();
    assert!(tail.text().ends_with("… (cut)\na []\nthe end"), "{}", tail.text());
    assert_eq!(heard.lock().unwrap().join("\n"), tail.text(), "whoever hears it hears what is kept");
}

/// Takes down what is logged, each event as one text.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<String>>>);

struct Text<'a>(&'a mut String);

impl Visit for Text<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, " {field}={value:?}").unwrap();
    }
}

impl Subscriber for Notes {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = event.metadata().target().to_owned();
        event.record(&mut Text(&mut text));
        self.0.lock().unwrap().push(text);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[test]
fn lines_are_logged_without_secrets_and_a_flood_is_not() {
    // In a process of its own: who looks at an event first, without anyone who listens, decides that nobody does.
    if alone("drain::tests::lines_are_logged_without_secrets_and_a_flood_is_not") {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(lines_are_logged());
    }
}

async fn lines_are_logged() {
    let notes = Notes::default();
    let _guard = tracing::subscriber::set_default(notes.clone());
    let (reader, mut writer) = std::io::pipe().unwrap();
    let pipe = Receiver::from_owned_fd(reader.into()).unwrap();
    let scrub: Scrub = Arc::new(|line: &str| line.replace("secret", "[]"));
    let writing = std::thread::spawn(move || {
        writer.write_all(b"my secret\n").unwrap();
        for _ in 0..1000 {
            writer.write_all(&b"flood\n".repeat(1000)).unwrap();
        }
    });
    let errors = Errors { scrub, hear: None, aloud: false };
    drain(pipe, Arc::new(Tail::default()), errors, "name".into(), "run".into()).await;
    writing.join().unwrap();
    let notes = notes.0.lock().unwrap();
    assert_eq!(notes[0], r#"child message=my [] name="name" run="run""#);
    // One burst, and what a slow machine may add to it.
    assert!(notes.len() > 100 && notes.len() < 10_000, "{}", notes.len());
    let last = notes.last().unwrap();
    assert!(last.contains(" bytes of its standard error were left out"), "{last}");
}
