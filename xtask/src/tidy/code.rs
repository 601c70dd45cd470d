//! Rust source with its comments and literals blanked, so that rules see code and nothing else. Lines stay in place.

/// The code of a source text; everything else becomes spaces.
pub(super) fn code(source: &str) -> String {
    let mut reader = Reader { rest: source, out: String::with_capacity(source.len()) };
    while let Some(next) = reader.rest.chars().next() {
        if reader.rest.starts_with("//") {
            let end = reader.rest.find('\n').unwrap_or(reader.rest.len());
            reader.blank(end);
        } else if reader.rest.starts_with("/*") {
            let end = block_comment(reader.rest);
            reader.blank(end);
        } else if let Some(end) = raw_string(reader.rest).filter(|_| !reader.in_a_word()) {
            reader.blank(end);
        } else if next == '"' {
            let end = quoted(reader.rest, '"');
            reader.blank(end);
        } else if let Some(end) = character(reader.rest) {
            reader.blank(end);
        } else {
            reader.keep(next);
        }
    }
    reader.out
}

struct Reader<'s> {
    rest: &'s str,
    out: String,
}

impl Reader<'_> {
    fn keep(&mut self, next: char) {
        self.out.push(next);
        self.rest = self.rest.get(next.len_utf8()..).unwrap_or_default();
    }

    fn blank(&mut self, bytes: usize) {
        let (gone, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.out.extend(gone.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        self.rest = rest;
    }

    /// Whether what was kept last continues, so that the `r` of `for"` would begin no raw string.
    fn in_a_word(&self) -> bool {
        self.out.chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_')
    }
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0_usize);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The length of a raw string at the beginning: `r"…"`, `br#"…"#`, `cr"…"`.
fn raw_string(text: &str) -> Option<usize> {
    let after = text.strip_prefix(['b', 'c']).unwrap_or(text).strip_prefix('r')?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    let body = after.get(hashes..)?.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = body.find(&end).map_or(body.len(), |at| at + end.len());
    Some(text.len() - body.len() + length)
}

fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// The length of a character literal at the beginning; a lifetime is none.
fn character(text: &str) -> Option<usize> {
    let body = text.strip_prefix('\'')?;
    let first = body.chars().next()?;
    let closed = body.get(first.len_utf8()..).is_some_and(|rest| rest.starts_with('\''));
    (first == '\\' || closed).then(|| quoted(text, '\''))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_vanish_and_lines_stay() {
        let source =
            "let a = \"todo!()\"; // todo!()\nlet b = r#\"x \" y\"#; /* a /* b */ c */ let c = 'x';\n";
        let seen = code(source);
        assert_eq!(seen.lines().count(), source.lines().count());
        assert_eq!(seen.split_whitespace().collect::<Vec<_>>().join(" "), "let a = ; let b = ; let c = ;");
    }

    #[test]
    fn lifetimes_and_quotes_in_characters_are_told_apart() {
        assert_eq!(code("fn f<'a>(x: &'a str) {}"), "fn f<'a>(x: &'a str) {}");
        assert_eq!(
            code("['\"', '\\'', b'x'] y").trim_end(),
            format!("[{}, {}, b{}] y", "   ", "    ", "   ")
        );
        assert_eq!(code("for\"x\"").trim_end(), "for");
    }

    #[test]
    fn what_is_never_closed_ends_with_the_text() {
        for source in ["\"abc", "/* abc", "r#\"abc", "'\\"] {
            assert_eq!(code(source).trim(), "", "{source}");
        }
    }
}
