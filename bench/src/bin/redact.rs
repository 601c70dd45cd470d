//! How fast the redactor is, and how much memory it takes, with 200 secrets in all their forms.
#![expect(clippy::print_stdout, reason = "its output is its purpose")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use covenant_model::redact::Redactor;

/// The size of each text.
const SIZE: usize = 1 << 20;

/// A small generator of numbers that look random; the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 20).unwrap_or(0) % sides.max(1)
    }

    fn text(&mut self, length: usize, alphabet: &[u8]) -> String {
        let mut draw = || alphabet.get(self.roll(alphabet.len())).copied().map_or('x', char::from);
        (0..length).map(|_| draw()).collect()
    }
}

const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const SIGNS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_!$/+ %";

fn secrets(shortest: usize, prefix: &str) -> Vec<(String, String)> {
    let mut dice = Dice(42);
    (0..200)
        .map(|index| {
            let length = shortest + dice.roll(40);
            (format!("SECRET_{index}"), format!("{prefix}{}", dice.text(length, SIGNS)))
        })
        .collect()
}

fn words() -> String {
    let mut dice = Dice(7);
    let mut text = String::with_capacity(SIZE + 32);
    while text.len() < SIZE {
        let length = 1 + dice.roll(10);
        text.push_str(&dice.text(length, b"abcdefghijklmnopqrstuvwxyz"));
        text.push(if dice.roll(12) == 0 { '\n' } else { ' ' });
    }
    text
}

fn json(line_end: &str) -> String {
    let mut dice = Dice(9);
    let mut text = String::from("[");
    while text.len() < SIZE {
        let (id, name) = (dice.roll(1 << 30), dice.text(12, b"abcdefghijklmnop "));
        let body = dice.text(60, SIGNS);
        let start = format!("{{\"id\":{id},\"name\":\"{name}\",\"body\":\"{body}{line_end}{name}\"");
        text.extend([start.as_str(), ",\"tags\":[\"a\",\"bc\"],\"open\":true},"]);
    }
    text.push_str("null]");
    text
}

/// Text made of beginnings of secrets.
fn near(secrets: &[(String, String)]) -> String {
    let mut dice = Dice(11);
    let mut text = String::with_capacity(SIZE + 128);
    while text.len() < SIZE {
        let value = secrets.get(dice.roll(secrets.len())).map_or("", |(_, value)| value.as_str());
        text.push_str(value.get(..value.len() - 1).unwrap_or(value));
    }
    text
}

fn rate(bytes: usize, mut work: impl FnMut()) -> f64 {
    let mut best = Duration::MAX;
    for _ in 0..60 {
        let start = Instant::now();
        work();
        best = best.min(start.elapsed());
    }
    let megabytes = u32::try_from(bytes / 1000).map_or(0.0, f64::from) / 1000.0;
    megabytes / best.as_secs_f64()
}

fn measure(title: &str, secrets: &[(String, String)]) {
    let start = Instant::now();
    let redactor =
        Arc::new(Redactor::new(secrets.iter().map(|(name, value)| (name.as_str(), value.as_str()))));
    let built = start.elapsed();
    println!("{title}: {} forms, {} KiB, built in {built:.1?}", redactor.forms(), redactor.memory() / 1024);
    let noise = Dice(5).text(SIZE, BASE64);
    let texts = [("words", words()), ("json", json("")), ("base64", noise), ("near misses", near(secrets))];
    for (kind, text) in &texts {
        let plain = rate(text.len(), || drop(black_box(redactor.redact(black_box(text)))));
        let streamed = rate(text.len(), || {
            let mut out = Vec::with_capacity(text.len());
            let mut stream = redactor.stream();
            text.as_bytes().chunks(8192).for_each(|chunk| stream.push(chunk, &mut out));
            stream.finish(&mut out);
            black_box(out);
        });
        println!("  {kind:12} {plain:8.0} MB/s   streamed {streamed:8.0} MB/s");
    }
    for (kind, text) in [("json", json("")), ("json, escapes", json("\\n"))] {
        let whole = rate(text.len(), || drop(black_box(redactor.redact_json(black_box(&text)))));
        println!("  redact_json of {kind:14} {whole:8.0} MB/s");
    }
}

fn main() {
    measure("200 secrets of 6 to 45 characters", &secrets(6, ""));
    measure("200 secrets of 20 to 59 characters", &secrets(20, ""));
    measure("200 secrets that begin alike", &secrets(20, "sk-live-api03-"));
    let same = [("SAME".to_owned(), "a".repeat(60_000))];
    measure("one secret of 60,000 equal letters", &same);
}
