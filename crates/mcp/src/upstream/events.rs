//! Server-sent events out of bytes that come in any pieces: what an event is, and how much is held of one.
//!
//! Lines end with CR, LF or both; a byte order mark at the beginning is skipped; the lines of `data` are joined by line
//! feeds; an event that the stream's end cuts off is none.

use std::time::Duration;

/// The most bytes of an event's id or name. Longer ones are as if they were not there.
const WORD: usize = 1024;

/// What a line may have beside its value.
const FIELD: usize = 16;

/// How many times the limit is thrown away of an event before it counts as endless.
const ENDLESS: usize = 16;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// Collects pieces and gives out events.
#[derive(Debug)]
pub(crate) struct Events {
    limit: usize,
    piece: Vec<u8>,
    /// Up to here the piece was read.
    at: usize,
    /// The beginning of a line whose end is in a later piece.
    line: Vec<u8>,
    /// The rest of this line is thrown away.
    cut: bool,
    /// The last line ended with CR: a line feed that follows belongs to it.
    after_cr: bool,
    begun: bool,
    present: Present,
    last_id: Option<String>,
    retry: Option<Duration>,
}

/// The event that is being read.
#[derive(Debug, Default)]
struct Present {
    kind: String,
    data: Option<Vec<u8>>,
    id: Option<String>,
    too_long: bool,
    /// How much of it came after it was too long.
    beyond: usize,
}

/// What came out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// An event that has data.
    Whole {
        /// Its name; `message` where it has none.
        kind: String,
        /// Its data, without the last line end.
        data: Vec<u8>,
    },
    /// One whose data went over the limit. Nothing of it was kept.
    TooLong,
}

impl Events {
    /// Events of at most that many bytes of data.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            piece: Vec::new(),
            at: 0,
            line: Vec::new(),
            cut: false,
            after_cr: false,
            begun: false,
            present: Present::default(),
            last_id: None,
            retry: None,
        }
    }

    /// Takes the next bytes in. What was taken in before has been read: [`Events::take`] said that there is no more.
    pub(crate) fn feed(&mut self, piece: Vec<u8>) {
        if self.present.too_long {
            self.present.beyond = self.present.beyond.saturating_add(piece.len());
        }
        self.piece = piece;
        self.at = 0;
    }

    /// Whether the event that is being read is too long already.
    pub(crate) fn is_too_long(&self) -> bool {
        self.present.too_long
    }

    /// Whether so much of it came since then that nothing else will.
    pub(crate) fn is_endless(&self) -> bool {
        self.present.beyond > self.limit.saturating_mul(ENDLESS)
    }

    /// The next event that is there, if one is.
    pub(crate) fn take(&mut self) -> Option<Event> {
        loop {
            let rest = self.piece.get(self.at..).unwrap_or_default();
            let rest = if self.after_cr && rest.first() == Some(&b'\n') {
                self.at += 1;
                self.after_cr = false;
                rest.get(1..).unwrap_or_default()
            } else {
                rest
            };
            self.after_cr &= rest.is_empty();
            let Some(end) = memchr::memchr2(b'\r', b'\n', rest) else {
                self.keep();
                return None;
            };
            self.after_cr = rest.get(end) == Some(&b'\r');
            let from = self.at;
            self.at += end + 1;
            if let Some(event) = self.line_ended(from, from + end) {
                return Some(event);
            }
        }
    }

    /// The id of the last event that had one.
    pub(crate) fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// After which time the server wants to be asked again.
    pub(crate) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// For the next stream of the same events: what was half read is gone, the last id and the wait are known.
    pub(crate) fn anew(self) -> Self {
        Self { last_id: self.last_id, retry: self.retry, ..Self::new(self.limit) }
    }

    /// Keeps what is left of the piece, which holds no line end.
    fn keep(&mut self) {
        let rest = self.piece.get(self.at..).unwrap_or_default();
        if !self.cut && self.line.len() + rest.len() <= self.limit.saturating_add(FIELD) {
            self.line.extend_from_slice(rest);
        } else if !std::mem::replace(&mut self.cut, true) {
            self.line = Vec::new();
            self.present.give_up();
        }
        self.piece = Vec::new();
        self.at = 0;
    }

    /// A line ended: the kept beginning, and those bytes of the piece.
    fn line_ended(&mut self, from: usize, to: usize) -> Option<Event> {
        let here = self.piece.get(from..to).unwrap_or_default();
        if std::mem::take(&mut self.cut) {
            self.begun = true;
            return None;
        }
        let begun = std::mem::replace(&mut self.begun, true);
        let kept;
        let whole = if self.line.is_empty() {
            here
        } else {
            self.line.extend_from_slice(here);
            kept = std::mem::take(&mut self.line);
            &kept
        };
        if whole.len() > self.limit.saturating_add(FIELD) {
            self.present.give_up();
            return None;
        }
        let line = if begun { whole } else { whole.strip_prefix(BOM).unwrap_or(whole) };
        if line.is_empty() {
            return self.dispatch();
        }
        let colon = memchr::memchr(b':', line).unwrap_or(line.len());
        let (name, value) = line.split_at_checked(colon).unwrap_or((line, b""));
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"data" => self.present.append(value, self.limit),
            b"event" => self.present.kind = word(value).unwrap_or_default(),
            b"id" => self.present.id = word(value).or(self.present.id.take()),
            b"retry" => self.retry = millis(value).or(self.retry),
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<Event> {
        let Present { kind, data, id, too_long, .. } = std::mem::take(&mut self.present);
        if id.is_some() {
            self.last_id = id.filter(|id| !id.is_empty());
        }
        if too_long {
            return Some(Event::TooLong);
        }
        let kind = if kind.is_empty() { "message".to_owned() } else { kind };
        data.map(|data| Event::Whole { kind, data })
    }
}

impl Present {
    fn append(&mut self, value: &[u8], limit: usize) {
        if self.too_long {
            return;
        }
        let held = self.data.as_ref().map_or(0, |data| data.len() + 1);
        if held.saturating_add(value.len()) > limit {
            self.give_up();
            return;
        }
        match &mut self.data {
            None => self.data = Some(value.to_vec()),
            Some(data) => {
                data.push(b'\n');
                data.extend_from_slice(value);
            }
        }
    }

    /// Holds nothing of an event that is too long.
    fn give_up(&mut self) {
        self.too_long = true;
        self.data = None;
    }
}

fn word(value: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(value).ok()?;
    (text.len() <= WORD && !text.contains('\0')).then(|| text.to_owned())
}

fn millis(value: &[u8]) -> Option<Duration> {
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    let text = std::str::from_utf8(value).ok().filter(|_| digits)?;
    text.parse().ok().map(Duration::from_millis)
}

#[cfg(test)]
mod tests;
