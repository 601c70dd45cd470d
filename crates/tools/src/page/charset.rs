//! From bytes to letters: every charset that browsers read. Others are read as UTF-8 as far as that goes, and the reader
//! is told.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use super::kind::Kind;

/// How many bytes of a page are searched for what it says of its charset, as browsers do it.
const SEARCHED: usize = 1024;

/// The longest name of a charset that is repeated to anyone.
const LONGEST: usize = 40;

enum Charset {
    Known(&'static Encoding),
    Unknown(String),
}

/// The letters of what was sent, and what a reader should know of how they were read.
pub(super) fn decode(bytes: &[u8], kind: &Kind) -> (String, Option<String>) {
    let (charset, bytes) = charset(bytes, kind);
    match charset {
        Charset::Known(encoding) => (encoding.decode_without_bom_handling(bytes).0.into_owned(), None),
        Charset::Unknown(name) => {
            let told = format!("It is written in {name}, which is not known here: letters may be missing.");
            (String::from_utf8_lossy(bytes).into_owned(), Some(told))
        }
    }
}

/// The charset of those bytes, and the bytes without the mark that says so.
fn charset<'b>(bytes: &'b [u8], kind: &Kind) -> (Charset, &'b [u8]) {
    if let Some(rest) = bytes.strip_prefix(&[0xEF, 0xBB, 0xBF]) {
        return (Charset::Known(UTF_8), rest);
    }
    if let Some(rest) = bytes.strip_prefix(&[0xFE, 0xFF]) {
        return (Charset::Known(UTF_16BE), rest);
    }
    if let Some(rest) = bytes.strip_prefix(&[0xFF, 0xFE]) {
        return (Charset::Known(UTF_16LE), rest);
    }
    let charset = match kind.charset.as_deref().map(named) {
        Some(charset) => charset,
        None => declared(bytes, kind).unwrap_or_else(|| guessed(bytes)),
    };
    (charset, bytes)
}

fn named(label: &str) -> Charset {
    let unknown = || {
        let sound = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
        Charset::Unknown(label.chars().filter(sound).take(LONGEST).collect())
    };
    // Those that browsers refuse to read, because a page can hide in them what it is, are as good as none.
    Encoding::for_label_no_replacement(label.as_bytes()).map_or_else(unknown, Charset::Known)
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
        Charset::Known(encoding) if encoding == UTF_16LE || encoding == UTF_16BE => Charset::Known(UTF_8),
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
        Err(error) if error.error_len().is_some() => Charset::Known(WINDOWS_1252),
        _ => Charset::Known(UTF_8),
    }
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
            ("text/plain; charset=utf-16le", b"\x3D\xD8x\0y", "\u{FFFD}x\u{FFFD}"),
            ("text/html; charset=Shift_JIS", b"\x93\xFA\x96{", "日本"),
            ("text/html", b"<meta charset=gb2312>\xD6\xD0\xCE\xC4", "<meta charset=gb2312>中文"),
            ("text/plain; charset=big5", b"\xA4\xA4\xA4\xE5", "中文"),
            ("text/plain; charset=euc-kr", b"\xC7\xD1\xB1\xDB", "한글"),
            ("text/plain; charset=euc-jp", b"\xC6\xFC\xCB\xDC", "日本"),
            ("text/plain; charset=windows-1251", b"\xCF\xF0\xE8", "При"),
            ("text/plain; charset=koi8-r", b"\xF0\xD2\xC9", "При"),
            ("text/plain; charset=iso-8859-2", b"\xB1\xE6", "ąć"),
            ("text/plain; charset=windows-1256", b"\xE3\xD1", "مر"),
        ] {
            assert_eq!(read(content_type, bytes), (text.to_owned(), None), "{content_type} {bytes:?}");
        }
    }

    #[test]
    fn what_is_not_known_is_said() {
        let (text, told) = read("text/html; charset=HZ-GB-2312", b"abc \x82\xA0");
        assert_eq!(text, "abc \u{FFFD}\u{FFFD}");
        let told = told.unwrap();
        assert_eq!(told, "It is written in hz-gb-2312, which is not known here: letters may be missing.");
        let (_, told) = read("text/html; charset=<script>alert(1)</script>", b"");
        assert_eq!(
            told.unwrap(),
            "It is written in scriptalert1script, which is not known here: letters may be missing."
        );
    }
}
