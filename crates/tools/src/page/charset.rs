//! From bytes to letters: UTF-8, UTF-16 and the Latin charsets of the web. Others are read as UTF-8 as far as that goes,
//! and the reader is told.

use super::kind::Kind;

/// How many bytes of a page are searched for what it says of its charset, as browsers do it.
const SEARCHED: usize = 1024;

/// The longest name of a charset that is repeated to anyone.
const LONGEST: usize = 40;

/// What 0x80 to 0x9F mean in windows-1252, which is also what the web means by latin-1.
const C1: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}',
    '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Where ISO-8859-15 differs from it.
const NINTH: &[(u8, char)] =
    &[(0xA4, '€'), (0xA6, 'Š'), (0xA8, 'š'), (0xB4, 'Ž'), (0xB8, 'ž'), (0xBC, 'Œ'), (0xBD, 'œ'), (0xBE, 'Ÿ')];

enum Charset {
    Utf8,
    Utf16(fn([u8; 2]) -> u16),
    Latin1,
    Latin9,
    Unknown(String),
}

/// The letters of what was sent, and what a reader should know of how they were read.
pub(super) fn decode(bytes: &[u8], kind: &Kind) -> (String, Option<String>) {
    let (charset, bytes) = charset(bytes, kind);
    match charset {
        Charset::Utf8 => (String::from_utf8_lossy(bytes).into_owned(), None),
        Charset::Utf16(order) => (utf16(bytes, order), None),
        Charset::Latin1 => (bytes.iter().copied().map(latin1).collect(), None),
        Charset::Latin9 => (bytes.iter().copied().map(latin9).collect(), None),
        Charset::Unknown(name) => {
            let told = format!("It is written in {name}, which is not known here: letters may be missing.");
            (String::from_utf8_lossy(bytes).into_owned(), Some(told))
        }
    }
}

/// The charset of those bytes, and the bytes without the mark that says so.
fn charset<'b>(bytes: &'b [u8], kind: &Kind) -> (Charset, &'b [u8]) {
    if let Some(rest) = bytes.strip_prefix(&[0xEF, 0xBB, 0xBF]) {
        return (Charset::Utf8, rest);
    }
    if let Some(rest) = bytes.strip_prefix(&[0xFE, 0xFF]) {
        return (Charset::Utf16(u16::from_be_bytes), rest);
    }
    if let Some(rest) = bytes.strip_prefix(&[0xFF, 0xFE]) {
        return (Charset::Utf16(u16::from_le_bytes), rest);
    }
    let charset = match kind.charset.as_deref().map(named) {
        Some(charset) => charset,
        None => declared(bytes, kind).unwrap_or_else(|| guessed(bytes)),
    };
    (charset, bytes)
}

fn named(label: &str) -> Charset {
    match label {
        "utf-8" | "utf8" | "unicode-1-1-utf-8" | "x-unicode20utf8" => Charset::Utf8,
        "utf-16" | "utf-16le" | "unicode" | "ucs-2" | "iso-10646-ucs-2" => Charset::Utf16(u16::from_le_bytes),
        "utf-16be" | "unicodefffe" => Charset::Utf16(u16::from_be_bytes),
        "ascii" | "us-ascii" | "ansi_x3.4-1968" | "iso-8859-1" | "iso8859-1" | "iso88591" | "iso_8859-1"
        | "latin1" | "latin-1" | "l1" | "cp819" | "windows-1252" | "cp1252" | "x-cp1252" => Charset::Latin1,
        "iso-8859-15" | "iso8859-15" | "iso_8859-15" | "latin9" | "latin-9" | "l9" => Charset::Latin9,
        other => {
            let sound = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
            Charset::Unknown(other.chars().filter(sound).take(LONGEST).collect())
        }
    }
}

/// What a document says of itself, in `<meta charset>`, `<meta content>` or `<?xml encoding?>`.
fn declared(bytes: &[u8], kind: &Kind) -> Option<Charset> {
    if !kind.is_markup() {
        return None;
    }
    let start = String::from_utf8_lossy(bytes.get(..SEARCHED).unwrap_or(bytes)).to_ascii_lowercase();
    let declaration = start.trim_start().strip_prefix("<?xml").and_then(|rest| rest.split_once("?>"));
    let label = match declaration.and_then(|(inside, _)| after(inside, "encoding")) {
        Some(label) => Some(label),
        None => start.split("<meta").skip(1).find_map(|tag| {
            let (tag, _) = tag.split_once('>').unwrap_or((tag, ""));
            after(tag, "charset")
        }),
    }?;
    Some(match named(&label) {
        // It could not have been read if that were so.
        Charset::Utf16(_) => Charset::Utf8,
        charset => charset,
    })
}

/// The value behind a word and `=`.
fn after(text: &str, word: &str) -> Option<String> {
    let (_, rest) = text.split_once(word)?;
    let value = rest.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    let end = |letter: char| letter.is_whitespace() || matches!(letter, '"' | '\'' | ';' | '/' | '?');
    let value = value.split(end).next()?;
    (!value.is_empty()).then(|| value.to_owned())
}

/// Where nobody says: UTF-8 if it is sound, up to a letter that was cut at the end.
fn guessed(bytes: &[u8]) -> Charset {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_some() => Charset::Latin1,
        _ => Charset::Utf8,
    }
}

fn utf16(bytes: &[u8], order: fn([u8; 2]) -> u16) -> String {
    let (pairs, _) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|pair| order(*pair));
    char::decode_utf16(units).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

fn latin1(byte: u8) -> char {
    let high = byte.checked_sub(0x80).and_then(|place| C1.get(usize::from(place)));
    high.copied().unwrap_or_else(|| char::from(byte))
}

fn latin9(byte: u8) -> char {
    let other = NINTH.iter().find(|(known, _)| *known == byte);
    other.map_or_else(|| char::from(byte), |(_, letter)| *letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content_type: &str, bytes: &[u8]) -> (String, Option<String>) {
        decode(bytes, &Kind::of(Some(content_type), bytes).unwrap())
    }

    #[test]
    fn letters_are_read_as_they_were_written() {
        for (content_type, bytes, text) in [
            ("text/plain; charset=utf-8", "für €".as_bytes(), "für €"),
            ("text/plain", "für €".as_bytes(), "für €"),
            ("text/plain", &b"f\xFCr \x80 \x93"[..], "für € “"),
            ("text/plain; charset=latin1", b"f\xFCr \x80", "für €"),
            ("text/plain; charset=iso-8859-15", b"f\xFCr \xA4", "für €"),
            ("text/plain; charset=utf-8", b"\xFF\xFEf\0\xFC\0", "fü"),
            ("text/plain", b"\xFE\xFF\0f\0\xFC\xD8\x3D\xDE\x00", "fü\u{1F600}"),
            ("text/plain; charset=utf-16be", b"\0f\0\xFC", "fü"),
            ("text/plain", b"\xEF\xBB\xBFx", "x"),
            ("text/html", b"<meta charset=\"iso-8859-1\">\xFC", "<meta charset=\"iso-8859-1\">ü"),
            (
                "text/html",
                b"<meta content='text/html; charset=latin1'>\xFC",
                "<meta content='text/html; charset=latin1'>ü",
            ),
            (
                "text/xml",
                b"<?xml version=\"1.0\" encoding='latin1'?>\xFC",
                "<?xml version=\"1.0\" encoding='latin1'?>ü",
            ),
            ("text/html", b"<meta charset=utf-16>\xC3\xBC", "<meta charset=utf-16>ü"),
            // Cut in the middle of a letter, and plainly not UTF-8.
            ("text/plain", b"f\xC3\xBCr \xC3", "für \u{FFFD}"),
            ("text/plain; charset=utf-8", b"f\xFCr", "f\u{FFFD}r"),
            ("text/plain; charset=utf-16le", b"\x3D\xD8x\0y", "\u{FFFD}x"),
        ] {
            assert_eq!(read(content_type, bytes), (text.to_owned(), None), "{content_type} {bytes:?}");
        }
    }

    #[test]
    fn what_is_not_known_is_said() {
        let (text, told) = read("text/html; charset=Shift_JIS", b"abc \x82\xA0");
        assert_eq!(text, "abc \u{FFFD}\u{FFFD}");
        let told = told.unwrap();
        assert_eq!(told, "It is written in shift_jis, which is not known here: letters may be missing.");
        let (_, told) = read("text/html; charset=<script>alert(1)</script>", b"");
        assert_eq!(
            told.unwrap(),
            "It is written in scriptalert1script, which is not known here: letters may be missing."
        );
    }
}
