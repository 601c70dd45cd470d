//! TEXT values: escapes undone, lengths bounded, and one line where one line is shown.

use covenant_gate::Veil;

/// A value as people wrote it, without secrets, and at most that many characters of it.
pub(super) fn unescaped(value: &str, most: usize, veil: &Veil) -> String {
    let mut plain = String::new();
    let mut rest = value.chars();
    while let Some(letter) = rest.next() {
        match letter {
            '\\' => match rest.next() {
                Some('n' | 'N') => plain.push('\n'),
                Some(mark @ ('\\' | ',' | ';')) => plain.push(mark),
                // No escape of the standard, so it was meant as it stands.
                Some(other) => plain.extend(['\\', other]),
                None => plain.push('\\'),
            },
            other => plain.push(other),
        }
    }
    veil.without_secrets(&plain).chars().take(most).collect()
}

/// A text on one line, without control characters, cut where it is too long: a title must not look like more than one.
pub fn shortened(text: &str, most: usize) -> String {
    let invisible = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let plain: String = text.chars().map(|c| if invisible(c) { ' ' } else { c }).collect();
    let line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        None => line,
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default().trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_the_standard_are_undone_and_others_stand() {
        for (written, meant) in [
            (r"a\, b\; c\\d", r"a, b; c\d"),
            (r"one\ntwo\Nthree", "one\ntwo\nthree"),
            (r"C:\dir", r"C:\dir"),
            ("end\\", "end\\"),
            (r"\\n", r"\n"),
            ("für 日本", "für 日本"),
        ] {
            assert_eq!(unescaped(written, 100, &Veil::default()), meant, "{written}");
        }
        assert_eq!(unescaped("abcdef", 3, &Veil::default()), "abc");
    }

    #[test]
    fn a_title_stays_on_its_line() {
        assert_eq!(shortened("  a\r\n\t[09:00-10:00]\u{202e}\u{0}b ", 100), "a [09:00-10:00] b");
        assert_eq!(shortened("日本語のタイトル", 3), "日本語…");
        assert_eq!(shortened("abc", 3), "abc");
    }
}
