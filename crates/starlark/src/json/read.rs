//! JSON text into values, in the order it is written and paid for as it is read.

use crate::convert::MAX_DEPTH;
use crate::fault::Outcome;
use crate::meter::{Gather, Meter};
use crate::number;
use crate::value::table::Table;
use crate::value::{Text, Value, hash};
use std::rc::Rc;

/// What is wrong with the text, which is not a fault of the run.
type Read<T> = Outcome<Result<T, String>>;

/// Unwraps what was read, or passes on what is wrong.
macro_rules! good {
    ($read:expr) => {
        match $read? {
            Ok(value) => value,
            Err(wrong) => return Ok(Err(wrong)),
        }
    };
}

pub(super) fn whole(meter: &Rc<Meter>, text: &Text) -> Read<Value> {
    meter.copies(text.len().saturating_mul(4))?;
    let mut reader = Reader { meter, text, at: 0, depth: 0 };
    let value = good!(reader.value());
    reader.space();
    if reader.at < text.len() { Ok(Err(reader.wrong("the end"))) } else { Ok(Ok(value)) }
}

struct Reader<'t> {
    meter: &'t Rc<Meter>,
    text: &'t str,
    /// In bytes, always where a character begins.
    at: usize,
    depth: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn next(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.next(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn wrong(&self, wanted: &str) -> String {
        match self.rest().chars().next() {
            Some(c) => format!("at byte {}: expected {wanted}, found {c:?}", self.at),
            None => format!("at byte {}: expected {wanted}, found the end", self.at),
        }
    }

    fn takes(&mut self, byte: u8) -> bool {
        let found = self.next() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self) -> Read<Value> {
        self.meter.step()?;
        self.space();
        match self.next() {
            Some(b'{') => self.deeper(Self::object),
            Some(b'[') => self.deeper(Self::array),
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => {
                for (word, value) in
                    [("null", Value::None), ("true", Value::Bool(true)), ("false", Value::Bool(false))]
                {
                    if self.rest().starts_with(word) {
                        self.at += word.len();
                        return Ok(Ok(value));
                    }
                }
                Ok(Err(self.wrong("a value")))
            }
        }
    }

    fn deeper(&mut self, read: fn(&mut Self) -> Read<Value>) -> Read<Value> {
        self.meter.descend()?;
        if self.depth >= MAX_DEPTH {
            return Ok(Err(format!("at byte {}: nested more than {MAX_DEPTH} deep", self.at)));
        }
        self.depth += 1;
        self.at += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn array(&mut self) -> Read<Value> {
        let mut items = Gather::new(self.meter)?;
        self.space();
        if !self.takes(b']') {
            loop {
                items.push(good!(self.value()))?;
                self.space();
                if self.takes(b']') {
                    break;
                }
                if !self.takes(b',') {
                    return Ok(Err(self.wrong("`,` or `]`")));
                }
            }
        }
        Ok(Ok(self.meter.list(items)?))
    }

    fn object(&mut self) -> Read<Value> {
        let mut table = Table::new(self.meter)?;
        self.space();
        if !self.takes(b'}') {
            loop {
                self.space();
                if self.next() != Some(b'"') {
                    return Ok(Err(self.wrong("a key")));
                }
                let key = good!(self.string());
                self.space();
                if !self.takes(b':') {
                    return Ok(Err(self.wrong("`:`")));
                }
                let value = good!(self.value());
                let hash = hash::of(self.meter, &key)?;
                table.insert(hash, key, value)?;
                self.space();
                if self.takes(b'}') {
                    break;
                }
                if !self.takes(b',') {
                    return Ok(Err(self.wrong("`,` or `}`")));
                }
            }
        }
        Ok(Ok(Value::Dict(self.meter.dict(table)?)))
    }

    fn number(&mut self) -> Read<Value> {
        let rest = self.rest();
        let end =
            rest.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')).unwrap_or(rest.len());
        let text = rest.get(..end).unwrap_or_default();
        if !is_number(text) {
            return Ok(Err(self.wrong("a number")));
        }
        self.meter.copies(text.len().saturating_mul(64))?;
        self.at += end;
        if text.contains(['.', 'e', 'E']) {
            return Ok(match text.parse::<f64>() {
                Ok(value) if value.is_finite() => Ok(Value::Float(value)),
                _ => Err(format!("at byte {}: a number is too large", self.at)),
            });
        }
        let Some(whole) = number::parse(text.trim_start_matches('-'), 10)? else {
            return Ok(Err(self.wrong("a number")));
        };
        let whole = if text.starts_with('-') { number::Whole::Small(0).subtract(&whole)? } else { whole };
        Ok(Ok(self.meter.whole(whole)?))
    }

    fn string(&mut self) -> Read<Value> {
        self.at += 1;
        let mut writer = self.meter.writer()?;
        loop {
            let rest = self.rest();
            let Some(end) = rest.find(|c: char| matches!(c, '"' | '\\') || c < ' ') else {
                return Ok(Err(format!("at byte {}: a string never ends", self.at)));
            };
            writer.push(rest.get(..end).unwrap_or_default())?;
            self.at += end;
            match self.next() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Ok(writer.finish()));
                }
                Some(b'\\') => {
                    let c = good!(self.escape());
                    writer.push_char(c)?;
                }
                _ => return Ok(Err(self.wrong("no control character"))),
            }
        }
    }

    fn escape(&mut self) -> Read<char> {
        self.meter.step()?;
        let letter = self.text.as_bytes().get(self.at + 1).copied();
        self.at += 2;
        Ok(Ok(match letter {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let first = good!(Outcome::Ok(self.unit()));
                let paired = (0xd800..0xdc00).contains(&first) && self.rest().starts_with("\\u");
                let code = if paired {
                    self.at += 2;
                    let second = good!(Outcome::Ok(self.unit()));
                    match second.checked_sub(0xdc00).filter(|low| *low < 0x400) {
                        Some(low) => 0x1_0000 + ((first - 0xd800) << 10) + low,
                        None => first,
                    }
                } else {
                    first
                };
                // Half a pair stands for no character.
                char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            _ => return Ok(Err(format!("at byte {}: an escape that JSON does not have", self.at - 2))),
        }))
    }

    fn unit(&mut self) -> Result<u32, String> {
        let digits =
            self.text.get(self.at..self.at + 4).filter(|text| text.chars().all(|c| c.is_ascii_hexdigit()));
        let Some(unit) = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) else {
            return Err(format!("at byte {}: \\u needs four hexadecimal digits", self.at));
        };
        self.at += 4;
        Ok(unit)
    }
}

/// Whether a text is a number as JSON writes it.
fn is_number(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let (number, exponent) = text.split_once(['e', 'E']).map_or((text, None), |(a, b)| (a, Some(b)));
    let (whole, fraction) = number.split_once('.').map_or((number, None), |(a, b)| (a, Some(b)));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole)
        && (whole.len() == 1 || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(|text| digits(text.strip_prefix(['+', '-']).unwrap_or(text)))
}
