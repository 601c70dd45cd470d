//! A pass over a text: the places where something must be replaced, in order, and how they are covered.

use std::cmp::Reverse;

use super::search::Search;
use crate::token;

/// A place where a form or a token stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Found {
    pub(super) start: usize,
    pub(super) end: usize,
    /// An index into the labels.
    pub(super) label: usize,
}

/// A pass over a text, from place to place; the longest at each.
pub(super) struct Scan<'s> {
    search: &'s Search,
    text: &'s [u8],
    /// Places that begin here or later are not looked for.
    until: usize,
    /// Where to look for the next form, and the one found last.
    at: usize,
    pattern: Option<Found>,
    /// The same for tokens.
    token_at: usize,
    token: Option<Found>,
}

impl<'s> Scan<'s> {
    pub(super) fn new(search: &'s Search, text: &'s [u8], from: usize, until: usize) -> Self {
        let until = until.min(text.len());
        let mut scan = Self { search, text, until, at: from, pattern: None, token_at: from, token: None };
        scan.next_pattern();
        scan.next_token();
        scan
    }

    fn next_pattern(&mut self) {
        self.pattern = None;
        let filter = &self.search.filter;
        if self.search.forms() == 0 {
            return;
        }
        while self.pattern.is_none() && self.at < self.until {
            let quiet = filter.quiet(self.text.get(self.at..).unwrap_or_default());
            if quiet > 0 {
                self.at += quiet;
                continue;
            }
            let end = (self.at + filter.stride).min(self.until);
            self.pattern = (self.at..end).find_map(|at| self.search.longest_at(self.text, at));
            self.at = self.pattern.map_or(end, |found| found.start + 1);
        }
    }

    fn next_token(&mut self) {
        self.token = None;
        let seen = (self.until + token::PREFIX.len() - 1).min(self.text.len());
        let next = |from| self.text.get(from..seen).and_then(|rest| self.search.token.find(rest));
        while let Some(step) = next(self.token_at) {
            let start = self.token_at + step;
            let body = start + token::PREFIX.len();
            self.token_at = body;
            let sound = |body: &[u8]| body.iter().all(|&byte| token::is_body_byte(byte));
            if self.text.get(body..body + token::BODY).is_some_and(sound) {
                let label = self.search.labels.len().saturating_sub(1);
                self.token = Some(Found { start, end: body + token::BODY, label });
                return;
            }
        }
        self.token_at = seen;
    }
}

impl Iterator for Scan<'_> {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        let order = |found: Option<Found>| found.map(|found| (found.start, Reverse(found.end)));
        match (order(self.pattern), order(self.token)) {
            (None, None) => None,
            (pattern, token) if token.is_none() || (pattern.is_some() && pattern <= token) => {
                let found = self.pattern;
                self.next_pattern();
                found
            }
            _ => {
                let found = self.token;
                self.next_token();
                found
            }
        }
    }
}

/// Turns places, in order, into a redacted copy of the text.
#[derive(Default)]
pub(super) struct Cover {
    /// Everything before this is copied or covered.
    pub(super) done: usize,
    /// The label that covers what is directly before `done`.
    label: Option<usize>,
}

impl Cover {
    /// Whether a place joins the stretch that is covered already; if not, it begins a new one.
    pub(super) fn joins(&mut self, found: Found) -> bool {
        let touches = found.start == self.done && self.label == Some(found.label);
        let joins = touches || (self.label.is_some() && found.start < self.done);
        self.done = if joins { self.done.max(found.end) } else { found.end };
        if !joins {
            self.label = Some(found.label);
        }
        joins
    }

    /// Covers the next place: copies what is before it, and writes its label.
    pub(super) fn take(&mut self, search: &Search, text: &[u8], found: Found, out: &mut Vec<u8>) {
        let from = self.done;
        if !self.joins(found) {
            out.extend_from_slice(text.get(from..found.start).unwrap_or_default());
            out.extend_from_slice(search.label(found.label).as_bytes());
        }
    }

    /// Copies what is not covered before `until`.
    pub(super) fn plain(&mut self, text: &[u8], until: usize, out: &mut Vec<u8>) {
        if let Some(rest) = text.get(self.done..until).filter(|rest| !rest.is_empty()) {
            out.extend_from_slice(rest);
            *self = Self { done: until, label: None };
        }
    }
}

/// The stretches that places, in order, cover together.
pub(super) fn joined(places: impl Iterator<Item = Found>) -> Vec<Found> {
    let mut cover = Cover::default();
    let mut stretches: Vec<Found> = Vec::new();
    for found in places {
        if !cover.joins(found) {
            stretches.push(found);
        } else if let Some(last) = stretches.last_mut() {
            last.end = last.end.max(found.end);
        }
    }
    stretches
}
