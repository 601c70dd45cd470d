//! A server of calendars: each has a secret address and an `ETag`, and is sent only to who does not have it yet.

use std::collections::BTreeMap;

use super::{Answer, Protocol, Request};

/// Calendars by their secret addresses.
#[derive(Default)]
pub struct Calendars {
    /// What is at each path.
    pub published: BTreeMap<String, String>,
}

/// What it answers where something is wrong: a status, `moved` with an address, or `page`, which wants people to sign in.
pub fn fault(word: &str) -> Answer {
    match word.split_once(' ').unwrap_or((word, "")) {
        ("moved", address) => Answer::html(302, "").with("Location", address),
        ("page", _) => Answer::html(200, "<!doctype html><title>Sign in</title>"),
        (status, text) => Answer::html(status.parse().unwrap_or(400), text),
    }
}

impl Protocol for Calendars {
    fn answer(&mut self, request: &Request) -> Answer {
        let Some(text) = self.published.get(&request.path) else { return fault("404 no calendar") };
        if request.method != "GET" || !request.header("accept").contains("text/calendar") {
            return fault("406 calendars are fetched here");
        }
        let tag = format!("\"{}-{}\"", text.len(), text.matches("SUMMARY").count());
        if request.header("if-none-match") == tag {
            return Answer::empty(304).with("ETag", &tag);
        }
        Answer::text(200, "text/calendar; charset=utf-8", text).with("ETag", &tag)
    }
}
