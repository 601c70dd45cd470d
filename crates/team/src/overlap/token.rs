//! How a text is taken apart: words, names of code with their parts, numbers, and signs of scripts that put no spaces.

use unicode_normalization::UnicodeNormalization as _;

use super::stem::stem;

/// What a token is. All but words say which thing is meant, so that another one means another thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// Of a language.
    Word,
    /// Of code, a file, a product: `HttpClient`, `retry_count`, `src/http.rs`, anything quoted.
    Name,
    /// `3`, `3.4.0`, `2.0.0-rc1`.
    Number,
    /// Of an issue or a weakness: `ABC-12`, `CVE-2024-1`, `GH#7`.
    Ticket,
    /// Two characters of a script that is written without spaces, or one sign that is no letter.
    Glyph,
}

/// A token: itself, and what it is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    /// In lower case.
    pub(super) text: String,
    /// What it is.
    pub(super) sort: Sort,
    /// Its parts in lower case, whole names within it among them; at least one.
    pub(super) parts: Vec<Part>,
}

/// A part of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// As it is written, in lower case.
    pub(super) text: String,
    /// Without its ending, if it is a word; otherwise the same.
    pub(super) stem: String,
    /// Whether it is a word and not a name or number.
    pub(super) is_word: bool,
}

/// The longest token that is taken as it is, in characters; what follows is left out.
const LONGEST: usize = 80;
/// The most parts of one token.
const PARTS: usize = 16;

/// The tokens of a text: of at most that many characters, at most that many tokens.
pub(super) fn tokens(text: &str, characters: usize, most: usize) -> Vec<Token> {
    let end = text.char_indices().nth(characters).map_or(text.len(), |(at, _)| at);
    let text = text.get(..end).unwrap_or_default();
    // Compatible forms can be eighteen times as long.
    let signs: Vec<char> =
        if text.is_ascii() { text.chars().collect() } else { text.nfkc().take(characters).collect() };
    let mut scan = Scan { signs: &signs, at: 0 };
    let mut found = Vec::new();
    while found.len() < most {
        match scan.next() {
            Some(token) => found.push(token),
            None => break,
        }
    }
    found
}

/// Where the reading is.
struct Scan<'t> {
    signs: &'t [char],
    at: usize,
}

impl Scan<'_> {
    fn sign(&self, at: usize) -> Option<char> {
        self.signs.get(at).copied()
    }

    fn next(&mut self) -> Option<Token> {
        loop {
            let sign = self.sign(self.at)?;
            if is_spaceless(sign) {
                return Some(self.glyph(sign));
            }
            if is_inner(sign) {
                let start = self.at;
                let end = self.end_of_chunk();
                self.at = end;
                let signs = self.signs.get(start..end.min(start + LONGEST)).unwrap_or_default();
                if let Some(token) = chunk(signs, self.is_quoted(start)) {
                    return Some(token);
                }
                continue;
            }
            self.at += 1;
            if is_emblem(sign) {
                return Some(plain(sign.to_string(), Sort::Glyph));
            }
        }
    }

    /// A character with the next one; alone only if there is no other beside it.
    fn glyph(&mut self, sign: char) -> Token {
        self.at += 1;
        let mut text = sign.to_string();
        if let Some(next) = self.sign(self.at).filter(|next| is_spaceless(*next)) {
            text.push(next);
            // The last of a run has been part of the pair before it.
            if !self.sign(self.at + 1).is_some_and(is_spaceless) {
                self.at += 1;
            }
        }
        plain(text, Sort::Glyph)
    }

    /// Where the token ends that begins here: a joint counts where letters or digits stand on both sides.
    fn end_of_chunk(&self) -> usize {
        let mut at = self.at;
        while let Some(sign) = self.sign(at) {
            let joins = is_joint(sign) && self.sign(at + 1).is_some_and(is_inner);
            if !(is_inner(sign) || joins) {
                break;
            }
            at += 1;
        }
        at
    }

    /// Whether a quotation mark, or the two dashes of an option, lead to it.
    fn is_quoted(&self, start: usize) -> bool {
        let before = self.signs.get(start.saturating_sub(3)..start).unwrap_or_default();
        let lead = before.rsplit(|sign| sign.is_whitespace() || is_inner(*sign)).next().unwrap_or_default();
        lead.ends_with(&['-', '-']) || lead.iter().any(|sign| matches!(sign, '`' | '"' | '“'))
    }
}

/// A token without parts.
fn plain(text: String, sort: Sort) -> Token {
    Token { parts: vec![Part { stem: text.clone(), text: text.clone(), is_word: false }], text, sort }
}

/// Letters, digits and joints between them. None if there are only underscores.
fn chunk(signs: &[char], quoted: bool) -> Option<Token> {
    let text = lower(signs);
    let mut parts = Vec::new();
    let pieces = signs.split(|sign| is_joint(*sign) || *sign == '_').filter(|piece| !piece.is_empty());
    let mut camel = false;
    let mut count = 0;
    for piece in pieces {
        count += 1;
        camel |= humps(piece, &mut parts);
        if parts.len() >= PARTS {
            break;
        }
    }
    parts.truncate(PARTS);
    if count > 1 {
        parts.push(Part { text: text.clone(), stem: text.clone(), is_word: false });
    }
    let sort = if quoted { Sort::Name } else { sort(signs, camel) };
    (!parts.is_empty()).then_some(Token { text, sort, parts })
}

/// The words that a piece is made of, told apart by capitals, and itself if there are several. Whether there are.
fn humps(piece: &[char], parts: &mut Vec<Part>) -> bool {
    let mut starts = vec![0];
    for (at, window) in piece.windows(2).enumerate() {
        let [before, sign] = window else { continue };
        let rises = before.is_lowercase() && sign.is_uppercase();
        let falls = before.is_uppercase()
            && sign.is_uppercase()
            && piece.get(at + 2).is_some_and(|next| next.is_lowercase());
        if rises || falls {
            starts.push(at + 1);
        }
    }
    let mixed = piece.iter().any(|sign| sign.is_numeric()) && piece.iter().any(|sign| sign.is_alphabetic());
    let ends = starts.iter().skip(1).copied().chain([piece.len()]);
    let several = starts.len() > 1;
    for (start, end) in starts.iter().copied().zip(ends) {
        let hump = piece.get(start..end).unwrap_or_default();
        let digits = hump.iter().position(|sign| sign.is_numeric()).unwrap_or(hump.len());
        // `Zstd2` is also `zstd`; `s3a` is itself alone.
        let letters = hump.get(..digits).unwrap_or_default();
        if digits < hump.len() && letters.len() >= 3 {
            parts.push(word(lower(letters)));
        }
        if !several || hump.len() > 1 {
            let text = lower(hump);
            parts.push(if digits < hump.len() {
                Part { stem: text.clone(), text, is_word: false }
            } else {
                word(text)
            });
        }
    }
    if several {
        let text = lower(piece);
        parts.push(Part { stem: text.clone(), text, is_word: false });
    }
    several || mixed
}

fn word(text: String) -> Part {
    Part { stem: stem(&text), text, is_word: true }
}

fn sort(signs: &[char], camel: bool) -> Sort {
    let first_digit = signs.iter().position(char::is_ascii_digit);
    let begins = signs.split_first().is_some_and(|(first, rest)| {
        first.is_ascii_digit()
            || (matches!(first, 'v' | 'V') && rest.first().is_some_and(char::is_ascii_digit))
    });
    if begins {
        return Sort::Number;
    }
    let ticket = first_digit.and_then(|at| signs.split_at_checked(at)).is_some_and(|(head, tail)| {
        let joint = head.last().is_some_and(|sign| matches!(sign, '-' | '#'));
        let letters = head.split_last().is_some_and(|(_, letters)| {
            (2..=12).contains(&letters.len()) && letters.iter().all(char::is_ascii_alphabetic)
        });
        joint && letters && tail.iter().all(|sign| sign.is_ascii_digit() || *sign == '-')
    });
    // `http-retry-client` is a name; `end-to-end` is not.
    let pieces = signs.split(|sign| *sign == '-');
    let compound = pieces.clone().count() > 2 && pieces.clone().all(|piece| piece.len() > 2);
    if ticket {
        Sort::Ticket
    } else if camel
        || compound
        || signs.iter().any(|sign| matches!(sign, '_' | '.' | '/' | '#' | ':' | '@' | '+'))
    {
        Sort::Name
    } else {
        Sort::Word
    }
}

fn lower(signs: &[char]) -> String {
    signs.iter().flat_map(|sign| sign.to_lowercase()).collect()
}

fn is_inner(sign: char) -> bool {
    sign == '_' || (sign.is_alphanumeric() && !is_spaceless(sign))
}

fn is_joint(sign: char) -> bool {
    matches!(sign, '.' | '-' | '/' | '#' | ':' | '@' | '+' | '\\')
}

/// Scripts whose words are not told apart by spaces, or whose words change so much that pairs of signs say more.
fn is_spaceless(sign: char) -> bool {
    matches!(u32::from(sign),
        0x0e00..=0x0eff | 0x1000..=0x109f | 0x1780..=0x17ff | 0x3005..=0x3007 | 0x3040..=0x30ff | 0x3400..=0x4dbf
        | 0x4e00..=0x9fff | 0xac00..=0xd7af | 0xf900..=0xfaff | 0x20000..=0x3134f)
}

/// Arrows, emoji and other pictures: a title may be made of them.
fn is_emblem(sign: char) -> bool {
    matches!(u32::from(sign), 0x2190..=0x2bff | 0x1f000..=0x1faff)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(text: &str) -> Vec<(String, Sort, Vec<String>)> {
        let parts = |token: &Token| token.parts.iter().map(|part| part.stem.clone()).collect();
        tokens(text, 1000, 100).iter().map(|token| (token.text.clone(), token.sort, parts(token))).collect()
    }

    fn one(text: &str) -> (Sort, Vec<String>) {
        let mut all = taken(text);
        assert_eq!(all.len(), 1, "{all:?}");
        let (_, sort, parts) = all.remove(0);
        (sort, parts)
    }

    fn list(parts: &[&str]) -> Vec<String> {
        parts.iter().map(|part| (*part).to_owned()).collect()
    }

    #[test]
    fn names_of_code_are_themselves_and_their_parts() {
        assert_eq!(one("HttpClient"), (Sort::Name, list(&["http", "client", "httpclient"])));
        assert_eq!(one("ITestAbfs"), (Sort::Name, list(&["test", "abf", "itestabfs"])));
        assert_eq!(one("retry_count"), (Sort::Name, list(&["retry", "count", "retry_count"])));
        assert_eq!(one("src/http.rs"), (Sort::Name, list(&["src", "http", "rs", "src/http.rs"])));
        assert_eq!(one("s3a"), (Sort::Name, list(&["s3a"])));
        assert_eq!(one("JDK11"), (Sort::Name, list(&["jdk", "jdk11"])));
        assert_eq!(one("`retry`").0, Sort::Name);
    }

    #[test]
    fn numbers_and_tickets_are_known() {
        for number in ["3", "3.4.0", "v2", "4.1.46Final", "3.0.0-M7"] {
            assert_eq!(one(number).0, Sort::Number, "{number}");
        }
        for ticket in ["HADOOP-17796", "CVE-2022-42889", "GH#995"] {
            assert_eq!(one(ticket).0, Sort::Ticket, "{ticket}");
        }
        for word in ["retry", "pre-existing", "HTTP", "naïve"] {
            assert_eq!(one(word).0, Sort::Word, "{word}");
        }
    }

    #[test]
    fn scripts_without_spaces_are_pairs_and_pictures_are_themselves() {
        let texts = |text: &str| taken(text).into_iter().map(|(text, ..)| text).collect::<Vec<_>>();
        assert_eq!(texts("修复登录"), list(&["修复", "复登", "登录"]));
        assert_eq!(texts("修 a"), list(&["修", "a"]));
        assert_eq!(texts("🚀 go"), list(&["🚀", "go"]));
        assert_eq!(texts("... --- ___"), list(&[]));
    }

    #[test]
    fn the_work_is_bounded() {
        assert_eq!(tokens(&"word ".repeat(10_000), 6000, 50).len(), 50);
        assert_eq!(tokens(&"a".repeat(100_000), 6000, 50).len(), 1);
        assert!(tokens(&"A.a".repeat(9_000), 6000, 50).iter().all(|token| token.parts.len() <= PARTS + 1));
    }
}
