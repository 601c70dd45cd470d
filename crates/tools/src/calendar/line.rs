//! Content lines: folded lines joined, and each taken apart into name, parameters and value. Joined as bytes, because
//! some writers fold in the middle of a character.

/// The most bytes of a property; a longer one is left out.
const LONGEST: usize = 256 << 10;

/// The most parameters of a property that are kept.
const PARAMETERS: usize = 32;

/// A property: `NAME;PARAMETER=value:value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// Its name, in capitals.
    pub(super) name: String,
    /// Its parameters, their names in capitals.
    parameters: Vec<(String, String)>,
    /// Its value, as it stands.
    pub(super) value: String,
}

impl Line {
    /// Takes a joined line apart, if it is one.
    pub(super) fn parse(joined: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(joined);
        let end = text.find([':', ';'])?;
        let (name, mut rest) = text.split_at_checked(end)?;
        if !is_name(name) {
            return None;
        }
        let mut parameters = Vec::new();
        while let Some(after) = rest.strip_prefix(';') {
            let (parameter, remaining) = after.split_once('=')?;
            let (value, remaining) = values(remaining).filter(|_| is_name(parameter.trim()))?;
            if parameters.len() < PARAMETERS {
                parameters.push((parameter.trim().to_ascii_uppercase(), value));
            }
            rest = remaining;
        }
        let value = rest.strip_prefix(':')?.to_owned();
        Some(Self { name: name.to_ascii_uppercase(), parameters, value })
    }

    /// A parameter, as it stands but without its quotes.
    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Whether a parameter says that, in any case.
    pub(super) fn says(&self, parameter: &str, value: &str) -> bool {
        self.parameter(parameter).is_some_and(|said| said.eq_ignore_ascii_case(value))
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// The value of a parameter up to the next parameter or the property's value, and what follows.
fn values(text: &str) -> Option<(String, &str)> {
    let mut within_quotes = false;
    let end = text.find(|c| {
        within_quotes ^= c == '"';
        !within_quotes && (c == ';' || c == ':')
    })?;
    let (value, rest) = text.split_at_checked(end)?;
    Some((plain(value), rest))
}

/// The value of a parameter without its quotes, and with its escapes (RFC 6868) undone.
fn plain(value: &str) -> String {
    let mut plain = String::new();
    let mut rest = value.chars().filter(|c| *c != '"').peekable();
    while let Some(c) = rest.next() {
        let meant = rest.peek().filter(|_| c == '^').and_then(|next| match next {
            'n' => Some('\n'),
            '\'' => Some('"'),
            '^' => Some('^'),
            _ => None,
        });
        if meant.is_some() {
            rest.next();
        }
        plain.push(meant.unwrap_or(c));
    }
    plain
}

/// A line of a file once it is joined.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Joined {
    /// Where it begins: the first line of a file is 1.
    pub(super) number: usize,
    /// Its bytes, if they are not too many.
    pub(super) bytes: Option<Vec<u8>>,
}

/// Joins the lines of a file.
pub(super) fn joined(bytes: &[u8]) -> impl Iterator<Item = Joined> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut physical = bytes
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .zip(1..)
        .peekable();
    std::iter::from_fn(move || {
        let (first, number) = physical.next()?;
        let mut bytes = Some(first.to_vec());
        while let Some((more, _)) = physical.next_if(|(line, _)| matches!(line.first(), Some(b' ' | b'\t'))) {
            bytes = bytes.filter(|so_far| so_far.len() + more.len() <= LONGEST);
            if let (Some(so_far), Some((_, more))) = (&mut bytes, more.split_first()) {
                so_far.extend_from_slice(more);
            }
        }
        bytes = bytes.filter(|bytes| bytes.len() <= LONGEST);
        Some(Joined { number, bytes })
    })
    .filter(|joined| joined.bytes.as_ref().is_none_or(|bytes| !bytes.trim_ascii().is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<(usize, String)> {
        joined(text.as_bytes())
            .map(|line| (line.number, String::from_utf8(line.bytes.unwrap()).unwrap()))
            .collect()
    }

    #[test]
    fn folded_lines_are_joined_with_either_line_end() {
        let expected = vec![(1, "SUMMARY:one two".to_owned()), (4, "UID:1".to_owned())];
        assert_eq!(lines("SUMMARY:one\r\n  tw\r\n\to\r\nUID:1\r\n"), expected);
        assert_eq!(lines("\u{feff}SUMMARY:one\n  tw\n\to\nUID:1\n\n \n"), expected);
        let split = b"SUMMARY:f\xc3\r\n \xbcr\r\n";
        assert_eq!(joined(split).next().unwrap().bytes.unwrap(), "SUMMARY:für".as_bytes());
    }

    #[test]
    fn a_line_without_end_is_left_out_and_the_next_is_read() {
        let long = format!("X:{}\nUID:1\n", "a\n b".repeat(LONGEST));
        let read: Vec<_> = joined(long.as_bytes()).collect();
        assert_eq!(read.len(), 2);
        assert_eq!(read[0].bytes, None);
        assert_eq!(read[1].bytes.as_deref(), Some(&b"UID:1"[..]));
    }

    #[test]
    fn parameters_are_read_with_quotes_and_escapes() {
        let line = Line::parse(br#"dtstart;Tzid="A;B:C";value=DATE;X="^'^n^^n^x":20240101"#).unwrap();
        assert_eq!((line.name.as_str(), line.value.as_str()), ("DTSTART", "20240101"));
        assert_eq!(line.parameter("TZID"), Some("A;B:C"));
        assert!(line.says("VALUE", "date"));
        assert_eq!(line.parameter("X"), Some("\"\n^n^x"));
    }

    #[test]
    fn what_is_no_property_is_none() {
        for text in ["", "no colon", ":value", "A B:c", "A;B:c", "A;B:c=d", "A;B=\"c:d", "ü:1"] {
            assert_eq!(Line::parse(text.as_bytes()), None, "{text}");
        }
        assert!(Line::parse(b"A;B=c;D=:\xff\xfe").is_some(), "odd bytes are replaced");
    }
}
