//! CBOR, as far as passkeys are written in it: read in one pass, never deeper, longer or more than it may be.
//!
//! Only what CTAP2 calls canonical is read: definite lengths, no tags, no floats. What is not looked at is skipped.

/// How deep values may lie in each other. CTAP2 has four.
const DEPTH: u8 = 8;

/// How many values there may be in all.
const VALUES: u32 = 256;

/// Why something is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("it ends before it is whole")]
    Cut,
    #[error("it is nested too deep")]
    Deep,
    #[error("it has too many values")]
    Many,
    #[error("it holds what passkeys do not use")]
    Foreign,
}

/// One value. What lies in arrays and maps is read by whoever wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Value<'a> {
    /// A whole number.
    Int(i64),
    Bytes(&'a [u8]),
    Text(&'a str),
    /// So many values follow.
    Array(u32),
    /// So many pairs follow.
    Map(u32),
    /// `false`, `true` or nothing.
    Simple,
}

/// Reads values one after another.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    left: u32,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, left: VALUES }
    }

    /// What is not read yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next value.
    pub(super) fn next(&mut self) -> Result<Value<'a>, Unreadable> {
        self.left = self.left.checked_sub(1).ok_or(Unreadable::Many)?;
        let first = *self.take(1)?.first().ok_or(Unreadable::Cut)?;
        let (major, argument) = (first >> 5, self.argument(first & 0x1f)?);
        match major {
            0 => i64::try_from(argument).map(Value::Int).map_err(|_| Unreadable::Foreign),
            1 => {
                i64::try_from(argument).map(|number| Value::Int(-1 - number)).map_err(|_| Unreadable::Foreign)
            }
            2 => Ok(Value::Bytes(self.run(argument)?)),
            3 => std::str::from_utf8(self.run(argument)?).map(Value::Text).map_err(|_| Unreadable::Foreign),
            4 => count(argument).map(Value::Array),
            5 => count(argument).map(Value::Map),
            7 if (20..=23).contains(&argument) && first & 0x1f < 24 => Ok(Value::Simple),
            _ => Err(Unreadable::Foreign),
        }
    }

    /// A map that begins here; how many pairs it has.
    pub(super) fn map(&mut self) -> Result<u32, Unreadable> {
        match self.next()? {
            Value::Map(pairs) => Ok(pairs),
            _ => Err(Unreadable::Foreign),
        }
    }

    /// Passes over the next value and all that lies in it.
    pub(super) fn skip(&mut self) -> Result<(), Unreadable> {
        self.skip_within(DEPTH)
    }

    fn skip_within(&mut self, depth: u8) -> Result<(), Unreadable> {
        let within = match self.next()? {
            Value::Array(values) => values,
            Value::Map(pairs) => pairs * 2,
            _ => return Ok(()),
        };
        let deeper = depth.checked_sub(1).ok_or(Unreadable::Deep)?;
        (0..within).try_for_each(|_| self.skip_within(deeper))
    }

    fn argument(&mut self, low: u8) -> Result<u64, Unreadable> {
        let width = match low {
            0..=23 => return Ok(u64::from(low)),
            24 => 1,
            25 => 2,
            26 => 4,
            27 => 8,
            _ => return Err(Unreadable::Foreign),
        };
        Ok(self.take(width)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn run(&mut self, length: u64) -> Result<&'a [u8], Unreadable> {
        self.take(usize::try_from(length).map_err(|_| Unreadable::Cut)?)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Unreadable> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(Unreadable::Cut)?;
        self.rest = rest;
        Ok(taken)
    }
}

/// How many lie in a value; never more than there may be in all.
fn count(argument: u64) -> Result<u32, Unreadable> {
    u32::try_from(argument).ok().filter(|count| *count <= VALUES).ok_or(Unreadable::Many)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(bytes: &[u8]) -> Result<Value<'_>, Unreadable> {
        Reader::new(bytes).next()
    }

    #[test]
    fn the_examples_of_the_specification_are_read() {
        for (bytes, value) in [
            (&[0x17][..], Value::Int(23)),
            (&[0x18, 0x64], Value::Int(100)),
            (&[0x1a, 0x00, 0x0f, 0x42, 0x40], Value::Int(1_000_000)),
            (&[0x20], Value::Int(-1)),
            (&[0x39, 0x01, 0x00], Value::Int(-257)),
            (&[0x44, 1, 2, 3, 4], Value::Bytes(&[1, 2, 3, 4])),
            (&[0x64, 0x49, 0x45, 0x54, 0x46], Value::Text("IETF")),
            (&[0x83, 1, 2, 3], Value::Array(3)),
            (&[0xa1, 1, 2], Value::Map(1)),
            (&[0xf5], Value::Simple),
        ] {
            assert_eq!(one(bytes), Ok(value), "{bytes:02x?}");
        }
    }

    #[test]
    fn what_is_cut_or_foreign_is_not_read() {
        for (bytes, why) in [
            (&[][..], Unreadable::Cut),
            (&[0x18], Unreadable::Cut),
            (&[0x44, 1, 2, 3], Unreadable::Cut),
            (&[0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], Unreadable::Cut),
            (&[0x1b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], Unreadable::Foreign),
            (&[0x3b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], Unreadable::Foreign),
            (&[0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], Unreadable::Many),
            (&[0xba, 0xff, 0xff, 0xff, 0xff], Unreadable::Many),
            (&[0x62, 0xff, 0xfe], Unreadable::Foreign),
            (&[0x5f, 0x41, 0x00, 0xff], Unreadable::Foreign),
            (&[0xc0, 0x00], Unreadable::Foreign),
            (&[0xf9, 0x3c, 0x00], Unreadable::Foreign),
            (&[0xf8, 0x18], Unreadable::Foreign),
            (&[0x1c], Unreadable::Foreign),
        ] {
            assert_eq!(one(bytes), Err(why), "{bytes:02x?}");
        }
    }

    #[test]
    fn nothing_is_skipped_without_end() {
        assert_eq!(Reader::new(&[0x81; 9000]).skip(), Err(Unreadable::Deep));
        assert_eq!(Reader::new(&[0xa1; 9000]).skip(), Err(Unreadable::Deep));
        assert_eq!(Reader::new(&[&[0x98, 0xff][..], &[0; 255]].concat()).skip(), Ok(()));
        assert_eq!(Reader::new(&[&[0x99, 0x01, 0x00][..], &[0; 256]].concat()).skip(), Err(Unreadable::Many));
        let mut reader = Reader::new(&[0xa1, 0x61, 0x61, 0x82, 1, 2, 9]);
        reader.skip().unwrap();
        assert_eq!(reader.rest(), [9]);
    }

    #[test]
    fn every_beginning_of_every_length_is_read_or_refused() {
        for first in 0..=255_u8 {
            for second in 0..=255_u8 {
                let bytes = [&[first, second][..], &[0xa1; 20]].concat();
                for length in 0..bytes.len() {
                    let _ = Reader::new(&bytes[..length]).skip();
                }
            }
        }
    }
}
