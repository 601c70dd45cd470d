//! How rows are chained: `{"seq":N,` body `,"prev":"…"` and, last, `,"hash":"…"}` over all the bytes before it.
//!
//! Reading a row for verification touches only its two ends; [`Record`] reads all of it where that is wanted.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use super::event::decimal;
use super::hex;
use crate::time::Timestamp;

/// A SHA-256 as its 64 lower-case hexadecimal characters, which is how rows hold it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Hash([u8; 64]);

impl Hash {
    /// What stands before the first row of a log.
    pub const ZERO: Self = Self([b'0'; 64]);

    fn of(bytes: &[u8]) -> Self {
        Self(hex::of_32(&Sha256::digest(bytes).into()))
    }

    /// Reads the 64 characters.
    pub fn read(text: &[u8]) -> Option<Self> {
        text.try_into().ok().filter(|text: &[u8; 64]| hex::is_hex(text)).map(Self)
    }

    /// The 64 characters.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::read(text.as_bytes()).ok_or_else(|| serde::de::Error::custom("not 64 hexadecimal characters"))
    }
}

/// The end of the chain: what the next row will be linked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chain {
    last: u64,
    hash: Hash,
}

impl Chain {
    /// The chain of a new log. Its first row has number 1.
    pub fn start() -> Self {
        Self { last: 0, hash: Hash::ZERO }
    }

    /// The chain that ends with that row.
    pub fn after(last: u64, hash: Hash) -> Self {
        Self { last, hash }
    }

    /// The number of the last row; 0 if there is none.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// The hash of the last row.
    pub fn hash(&self) -> Hash {
        self.hash
    }

    /// Appends a whole row, its line end included, and moves on to it.
    pub fn link(&mut self, body: &[u8], out: &mut Vec<u8>) {
        let begin = out.len();
        out.extend_from_slice(b"{\"seq\":");
        decimal(out, self.last.saturating_add(1));
        out.push(b',');
        out.extend_from_slice(body);
        out.extend_from_slice(b",\"prev\":\"");
        out.extend_from_slice(&self.hash.0);
        out.push(b'"');
        self.last = self.last.saturating_add(1);
        self.hash = Hash::of(out.get(begin..).unwrap_or_default());
        out.extend_from_slice(b",\"hash\":\"");
        out.extend_from_slice(&self.hash.0);
        out.extend_from_slice(b"\"}\n");
    }

    /// Moves on to a row read back, if it is the next one and untouched.
    pub fn follow(&mut self, line: &[u8]) -> Result<(), BadRow> {
        let row = Row::read(line)?;
        if Some(row.seq) != self.last.checked_add(1) {
            return Err(BadRow::Place { found: row.seq, last: self.last });
        }
        if row.prev != &self.hash.0 {
            return Err(BadRow::Link { seq: row.seq, last: self.last });
        }
        self.hash = row.checked()?;
        self.last = row.seq;
        Ok(())
    }
}

/// Why a line is not the next row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRow {
    /// It does not have a row's shape.
    #[error("the line does not have the shape of a row")]
    Shape,
    /// Another row's number.
    #[error("row {} is missing or out of its place: after row {last} comes row {found}", last + 1)]
    Place {
        /// The number it has.
        found: u64,
        /// The row before it.
        last: u64,
    },
    /// It names another hash than that of the row before it.
    #[error("row {seq} does not continue row {last}: one of the two was changed or replaced")]
    Link {
        /// The number it has.
        seq: u64,
        /// The row before it.
        last: u64,
    },
    /// Its bytes have another hash.
    #[error("row {seq} was changed: its hash does not match its content")]
    Changed {
        /// The number it has.
        seq: u64,
    },
}

/// The two ends of a row, borrowed from its line.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// Its number.
    pub seq: u64,
    ts: &'a [u8],
    prev: &'a [u8; 64],
    hash: &'a [u8; 64],
    sealed: &'a [u8],
}

impl<'a> Row<'a> {
    /// Takes a line, without its line end, apart. Hashes are not checked yet.
    pub fn read(line: &'a [u8]) -> Result<Self, BadRow> {
        Self::split(line).ok_or(BadRow::Shape)
    }

    /// A line's number, from its first bytes alone.
    pub fn seq_of(line: &[u8]) -> Option<u64> {
        digits(line.strip_prefix(b"{\"seq\":")?).map(|(seq, _)| seq)
    }

    fn split(line: &'a [u8]) -> Option<Self> {
        let (sealed, tail) = line.split_at_checked(line.len().checked_sub(75)?)?;
        let hash = tail.strip_prefix(b",\"hash\":\"")?.strip_suffix(b"\"}")?.try_into().ok()?;
        let (_, before) = sealed.split_at_checked(sealed.len().checked_sub(74)?)?;
        let prev = before.strip_prefix(b",\"prev\":\"")?.strip_suffix(b"\"")?.try_into().ok()?;
        let head = sealed.strip_prefix(b"{\"seq\":")?;
        let (seq, rest) = digits(head)?;
        let (ts, rest) = rest.strip_prefix(b",\"ts\":\"")?.split_at_checked(24)?;
        rest.starts_with(b"\",").then_some(Self { seq, ts, prev, hash, sealed })
    }

    /// When it was written, if it says so in our form.
    pub fn ts(&self) -> Option<Timestamp> {
        std::str::from_utf8(self.ts).ok()?.parse().ok()
    }

    /// The hash it names for the row before it.
    pub fn prev(&self) -> Option<Hash> {
        Hash::read(self.prev)
    }

    /// Its hash, if its bytes have that hash.
    pub fn checked(&self) -> Result<Hash, BadRow> {
        let hash = Hash::of(self.sealed);
        if &hash.0 == self.hash { Ok(hash) } else { Err(BadRow::Changed { seq: self.seq }) }
    }
}

/// A number without leading zeros, and what follows it.
fn digits(text: &[u8]) -> Option<(u64, &[u8])> {
    let length = text.iter().take(20).take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at_checked(length)?;
    let (first, _) = digits.split_first()?;
    let value = digits
        .iter()
        .try_fold(0_u64, |value, digit| value.checked_mul(10)?.checked_add(u64::from(digit - b'0')))?;
    (*first != b'0').then_some((value, rest))
}

/// All members of a row, for those who show, filter or index it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Record<'a> {
    /// Its number.
    #[serde(default)]
    pub seq: u64,
    /// When.
    pub ts: Timestamp,
    /// On whose behalf.
    #[serde(borrow)]
    pub principal: Cow<'a, str>,
    /// `tool:<name>`, or an agent's id.
    #[serde(borrow)]
    pub agent_id: Cow<'a, str>,
    /// What happened; [`super::Kind::read`] knows the words.
    #[serde(borrow)]
    pub kind: Cow<'a, str>,
    /// How it was decided or ended.
    #[serde(borrow)]
    pub decision: Cow<'a, str>,
    /// The call's id.
    #[serde(borrow, default)]
    pub call: Option<Cow<'a, str>>,
    /// What was asked of the grants.
    #[serde(borrow, default)]
    pub action: Option<Cow<'a, str>>,
    /// Which grant decided.
    #[serde(borrow, default)]
    pub grant: Option<Cow<'a, str>>,
    /// The arguments' digest.
    #[serde(borrow, default)]
    pub arguments: Option<Cow<'a, str>>,
    /// The result's digest.
    #[serde(borrow, default)]
    pub result: Option<Cow<'a, str>>,
    /// Why, in words.
    #[serde(borrow, default)]
    pub reason: Option<Cow<'a, str>>,
    /// How long it took.
    #[serde(default)]
    pub duration_us: Option<u64>,
    /// The caller's trace.
    #[serde(borrow, default)]
    pub trace_id: Option<Cow<'a, str>>,
    /// The `CallStarted` row that this row ends.
    #[serde(default)]
    pub started: Option<u64>,
    /// The process at the other end.
    #[serde(borrow, default)]
    pub peer: Option<Cow<'a, str>>,
}

impl<'a> Record<'a> {
    /// Reads a row's line; `None` if it is no row.
    pub fn read(line: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::{Decision, Event, Kind};
    use crate::redact::Redactor;

    fn rows(count: usize) -> Vec<String> {
        let mut chain = Chain::start();
        (0..count)
            .map(|_| {
                let (mut body, mut line) = (Vec::new(), Vec::new());
                Event::new("user@local", "tool:echo", Kind::CallStarted, Decision::Allowed).write_body(
                    Timestamp::from_millis(5),
                    &Redactor::none(),
                    &mut body,
                );
                chain.link(&body, &mut line);
                String::from_utf8(line).unwrap().trim_end().to_owned()
            })
            .collect()
    }

    #[test]
    fn a_row_is_json_whose_last_member_is_the_hash_of_what_stands_before_it() {
        let line = rows(1).remove(0);
        let (before, _) = line.split_once(",\"hash\":").unwrap();
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["hash"], hex::text(&Sha256::digest(before.as_bytes())));
        assert_eq!(value["prev"], "0".repeat(64));
        assert_eq!(value["seq"], 1);
        let row = Row::read(line.as_bytes()).unwrap();
        assert_eq!((row.seq, row.ts()), (1, Some(Timestamp::from_millis(5))));
        assert_eq!(Record::read(line.as_bytes()).unwrap().kind, "CallStarted");
    }

    #[test]
    fn rows_follow_each_other_and_nothing_else() {
        let rows = rows(3);
        let mut chain = Chain::start();
        chain.follow(rows[0].as_bytes()).unwrap();
        assert_eq!(chain.follow(rows[2].as_bytes()), Err(BadRow::Place { found: 3, last: 1 }));
        chain.follow(rows[1].as_bytes()).unwrap();
        let mut other = Chain::after(2, Hash::ZERO);
        assert_eq!(other.follow(rows[2].as_bytes()), Err(BadRow::Link { seq: 3, last: 2 }));
        let edited = rows[2].replace("user@local", "user@lokal");
        assert_eq!(chain.follow(edited.as_bytes()), Err(BadRow::Changed { seq: 3 }));
    }

    #[test]
    fn lines_of_another_shape_are_refused() {
        let line = rows(1).remove(0);
        for bad in [
            String::new(),
            "{}".to_owned(),
            line.replace("\"seq\":1", "\"seq\":01"),
            line.replace("\"seq\":1", "\"seq\":99999999999999999999999"),
            line.replace("\"hash\":\"", "\"hash\": \""),
            format!("{line} "),
        ] {
            assert_eq!(Row::read(bad.as_bytes()).map(|row| row.seq), Err(BadRow::Shape), "{bad}");
        }
    }
}
