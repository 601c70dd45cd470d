//! When two titles are the same title: not by case, spaces, width or the punctuation around them.

use unicode_normalization::UnicodeNormalization as _;

/// How many characters of a title stand in its key as they are; what follows is there as a number.
const PLAIN: usize = 400;

/// What is the same for two titles that are the same to a reader. Its length is bounded, whatever the title's is.
///
/// ```
/// use covenant_team::title::key;
/// assert_eq!(key("  Add  retry to the HTTP client. "), key("add retry to the http client"));
/// assert_ne!(key("Port it to C++"), key("Port it to C#"));
/// ```
pub fn key(title: &str) -> String {
    let folded = fold(title);
    let trimmed = folded.trim_matches(|sign: char| sign == ' ' || is_edge(sign));
    // A title of nothing but punctuation is still a title.
    let kept = if trimmed.is_empty() { folded.as_str() } else { trimmed };
    match kept.char_indices().nth(PLAIN) {
        None => kept.to_owned(),
        Some((end, _)) => {
            let (plain, rest) = kept.split_at(end);
            format!("{plain}#{:016x}", number(rest))
        }
    }
}

/// A text as others show it in a line of theirs: in one line, and at most so long.
pub(crate) fn short(text: &str, most: usize) -> String {
    let mut short = String::new();
    for (count, word) in text.split(|sign: char| sign.is_whitespace() || sign.is_control()).enumerate() {
        if !word.is_empty() {
            short.push_str(if count > 0 && !short.is_empty() { " " } else { "" });
            short.extend(word.chars().filter(|sign| !is_unseen(*sign)));
        }
        if short.len() > most.saturating_mul(4) {
            break;
        }
    }
    match short.char_indices().nth(most) {
        None => short,
        Some((end, _)) => format!("{}…", short.get(..end).unwrap_or_default().trim_end()),
    }
}

/// Compatible forms of a sign as one, lower case, one space for many, and nothing that cannot be seen.
fn fold(text: &str) -> String {
    let lower = text.nfkc().flat_map(char::to_lowercase).flat_map(|sign| match sign {
        'ß' => ['s', 's'].into_iter().take(2),
        'ς' => ['σ', ' '].into_iter().take(1),
        _ => [sign, ' '].into_iter().take(1),
    });
    let mut folded = String::with_capacity(text.len());
    // Lower case can be a form that is composed once more.
    for sign in lower.nfkc().filter(|sign| !is_unseen(*sign)) {
        let sign = if sign.is_whitespace() || sign.is_control() { ' ' } else { sign };
        if sign != ' ' || !(folded.is_empty() || folded.ends_with(' ')) {
            folded.push(sign);
        }
    }
    folded.truncate(folded.trim_end().len());
    folded
}

/// What people put around a sentence or forget. Signs that are part of names, as in `C#` and `.NET++`, are not.
fn is_edge(sign: char) -> bool {
    matches!(sign, '.' | ',' | ';' | ':' | '!' | '?' | '"' | '\'' | '`' | '*' | '_' | '-' | '–' | '—')
        || matches!(sign, '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | '«' | '»' | '“' | '”' | '‘' | '’')
        || matches!(sign, '„' | '‹' | '›' | '、' | '。' | '「' | '」' | '¿' | '¡')
}

/// Signs without a width: they join, part or direct others.
fn is_unseen(sign: char) -> bool {
    matches!(sign, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{fe0f}' | '\u{feff}')
}

/// FNV-1a: it need not withstand anybody, only be the same everywhere.
fn number(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_differs_only_in_case_spaces_width_and_edges_is_the_same_title() {
        let same = [
            ("Add retry", "  add\t RETRY… "),
            ("Fix the login.", "Fix the login"),
            ("\"Fix the login\"", "fix the  login!"),
            ("ＡＢＣ１２", "abc12"),
            ("Straße", "STRASSE"),
            ("ΟΔΟΣ", "οδος"),
            ("Cafe\u{301} page", "CAFÉ PAGE"),
            ("fix\u{200b} it", "fix it"),
            ("登录页面。", "登录页面"),
        ];
        for (one, other) in same {
            assert_eq!(key(one), key(other), "{one} and {other}");
        }
    }

    #[test]
    fn a_text_of_many_lines_is_shown_in_one() {
        for (text, shown) in [
            ("plain", "plain"),
            (" a\tb\r\n\n c\u{0}d ", "a b c d"),
            ("a\u{202e}b", "ab"),
            ("0123456789", "0123456789"),
            ("01234 67890", "01234 6789…"),
            ("012345678 90", "012345678…"),
            ("", ""),
        ] {
            assert_eq!(short(text, 10), shown, "{text:?}");
        }
    }

    #[test]
    fn what_differs_within_is_another_title() {
        let different = [
            ("Upgrade kafka to 3.4.0", "Upgrade kafka to 3.4.1"),
            ("Port to C++", "Port to C#"),
            ("!!!", "???"),
            ("🚀", "🔥"),
            ("fix login", "fixlogin"),
        ];
        for (one, other) in different {
            assert_ne!(key(one), key(other), "{one} and {other}");
        }
        let long = "word ".repeat(2_000);
        assert_ne!(key(&format!("{long}one")), key(&format!("{long}two")));
    }

    proptest! {
        #[test]
        fn a_key_is_bounded_and_begins_and_ends_with_no_space(title in ".{0,2000}") {
            let key = key(&title);
            prop_assert!(key.chars().count() <= PLAIN + 17);
            prop_assert_eq!(key.trim(), key.as_str());
        }

        #[test]
        fn spaces_and_case_never_matter(words in prop::collection::vec("[a-zA-Z0-9]{1,9}", 1..12)) {
            let shouted = words.join("  \n").to_uppercase();
            prop_assert_eq!(key(&words.join(" ")), key(&format!(" {shouted}.")));
        }
    }
}
