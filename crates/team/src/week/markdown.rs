//! What people wrote, as Markdown that means nothing but those words: in one line, with every sign that could mean more escaped.

use crate::title::short;

/// Signs that mean something within a line.
const SIGNS: &[char] = &['\\', '`', '*', '_', '[', ']', '<', '>', '|', '~', '&', '$', '^', '=', '#'];

/// A text of at most so many characters.
pub(super) fn plain(text: &str, most: usize) -> String {
    let text = short(text, most);
    let mut plain = String::with_capacity(text.len());
    for sign in text.chars() {
        if SIGNS.contains(&sign) {
            plain.push('\\');
        }
        plain.push(sign);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_people_write_is_more_than_text() {
        for (text, shown) in [
            ("plain, with 'signs' (and more): 1-2.", "plain, with 'signs' (and more): 1-2."),
            ("a\n\n## Heading\n- item", "a \\#\\# Heading - item"),
            ("<script>alert(1)</script>", "\\<script\\>alert(1)\\</script\\>"),
            ("[x](javascript:y)", "\\[x\\](javascript:y)"),
            ("![x](y)", "!\\[x\\](y)"),
            ("`a` **b** __c__ ~~d~~", "\\`a\\` \\*\\*b\\*\\* \\_\\_c\\_\\_ \\~\\~d\\~\\~"),
            ("a | b", "a \\| b"),
            ("&lt;b&gt; \\", "\\&lt;b\\&gt; \\\\"),
            ("\u{202e}evil\u{0}", "evil"),
            ("ends in \\", "ends in \\\\"),
        ] {
            assert_eq!(plain(text, 100), shown);
        }
        assert_eq!(plain("***", 2), "\\*\\*…");
    }
}
