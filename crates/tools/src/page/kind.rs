//! What sort of thing a server sent: by its content type, or where it has none, by how it begins.

/// Types that are text although they do not say so.
const TEXT: &[&str] = &[
    "application/ecmascript",
    "application/graphql",
    "application/javascript",
    "application/json",
    "application/json5",
    "application/jsonl",
    "application/ld+json",
    "application/ndjson",
    "application/rtf",
    "application/sql",
    "application/toml",
    "application/x-httpd-php",
    "application/x-javascript",
    "application/x-ndjson",
    "application/x-sh",
    "application/x-tex",
    "application/x-yaml",
    "application/xml",
    "application/xml-dtd",
    "application/yaml",
];

/// How HTML without a type begins.
const BEGINNINGS: &[&str] =
    &["<!doctype html", "<html", "<head", "<body", "<!--", "<title", "<meta", "<h1", "<div", "<p"];

/// How many bytes of something without a type are looked at.
const LOOKED_AT: usize = 1024;

/// The longest type that is repeated to anyone.
const LONGEST: usize = 100;

/// What sort of text was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// Such as `text/html`.
    essence: String,
    /// The charset it names.
    pub(super) charset: Option<String>,
}

/// Something that is no text, by its type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}, which is no text; HTML, plain text, JSON and XML can be read")]
pub struct NotText(String);

impl Kind {
    /// What was sent with that content type.
    pub fn of(content_type: Option<&str>, bytes: &[u8]) -> Result<Self, NotText> {
        let written = content_type.unwrap_or_default();
        let (essence, parameters) = written.split_once(';').unwrap_or((written, ""));
        let essence = essence.trim().to_ascii_lowercase();
        if !is_type(&essence) {
            return sniffed(bytes);
        }
        if !is_text(&essence) {
            return Err(NotText(essence));
        }
        Ok(Self { essence, charset: charset(parameters) })
    }

    /// Such as `text/html`.
    pub fn essence(&self) -> &str {
        &self.essence
    }

    pub(super) fn is_html(&self) -> bool {
        matches!(self.essence.as_str(), "text/html" | "application/xhtml+xml")
    }

    pub(super) fn is_markup(&self) -> bool {
        self.is_html() || self.essence.ends_with("xml")
    }
}

fn sniffed(bytes: &[u8]) -> Result<Kind, NotText> {
    let start = bytes.get(..LOOKED_AT).unwrap_or(bytes);
    let wide = start.starts_with(&[0xFF, 0xFE]) || start.starts_with(&[0xFE, 0xFF]);
    if start.contains(&0) && !wide {
        return Err(NotText("something without a content type".to_owned()));
    }
    let start = String::from_utf8_lossy(start);
    let start = start.trim_start_matches('\u{feff}').trim_start().to_ascii_lowercase();
    let html = BEGINNINGS.iter().any(|beginning| start.starts_with(beginning));
    let essence = if html { "text/html" } else { "text/plain" };
    Ok(Kind { essence: essence.to_owned(), charset: None })
}

fn is_text(essence: &str) -> bool {
    let (_, sub) = essence.split_once('/').unwrap_or_default();
    essence.starts_with("text/") || TEXT.contains(&essence) || sub.ends_with("+json") || sub.ends_with("+xml")
}

/// Whether that is a type at all, and short enough to be repeated.
fn is_type(essence: &str) -> bool {
    let sound = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte))
    };
    essence.len() <= LONGEST && essence.split_once('/').is_some_and(|(kind, sub)| sound(kind) && sound(sub))
}

fn charset(parameters: &str) -> Option<String> {
    let pairs = parameters.split(';').filter_map(|pair| pair.split_once('='));
    let mut named = pairs.filter(|(name, _)| name.trim().eq_ignore_ascii_case("charset"));
    let value = named.next()?.1.trim().trim_matches(['"', '\'']);
    (!value.is_empty()).then(|| value.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn essence(written: Option<&str>, bytes: &[u8]) -> String {
        match Kind::of(written, bytes) {
            Ok(kind) => kind.essence,
            Err(refused) => refused.to_string(),
        }
    }

    #[test]
    fn text_is_read_and_the_rest_is_named() {
        for (written, told) in [
            ("text/html", "text/html"),
            ("Text/HTML; charset=utf-8", "text/html"),
            ("application/xhtml+xml", "application/xhtml+xml"),
            ("application/vnd.api+json", "application/vnd.api+json"),
            ("text/csv", "text/csv"),
            ("image/svg+xml", "image/svg+xml"),
            (
                "application/pdf",
                "application/pdf, which is no text; HTML, plain text, JSON and XML can be read",
            ),
            ("image/png", "image/png, which is no text; HTML, plain text, JSON and XML can be read"),
            (
                "application/octet-stream",
                "application/octet-stream, which is no text; HTML, plain text, JSON and XML can be read",
            ),
        ] {
            assert_eq!(essence(Some(written), b""), told, "{written}");
        }
    }

    #[test]
    fn what_has_no_type_is_known_by_how_it_begins() {
        for (bytes, told) in [
            (&b"\n <!DOCTYPE HTML><p>x"[..], "text/html"),
            (b"\xEF\xBB\xBF<html>", "text/html"),
            (b"just words", "text/plain"),
            (b"", "text/plain"),
            (
                b"\x89PNG\0\0",
                "something without a content type, which is no text; HTML, plain text, JSON and XML can be read",
            ),
        ] {
            for none in [None, Some(""), Some("nonsense"), Some("a/b/c"), Some("text/<script>")] {
                assert_eq!(essence(none, bytes), told, "{none:?} {bytes:?}");
            }
        }
    }

    #[test]
    fn the_charset_is_found_among_the_parameters() {
        for (written, charset) in [
            ("text/html; charset=ISO-8859-1", Some("iso-8859-1")),
            ("text/html;a=b; Charset=\"utf-8\"", Some("utf-8")),
            ("text/html; charset=", None),
            ("text/html", None),
        ] {
            assert_eq!(Kind::of(Some(written), b"").unwrap().charset.as_deref(), charset, "{written}");
        }
    }
}
