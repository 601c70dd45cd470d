//! Markup that cannot cost much: what a page says, without what nobody reads, and written in one way.
//!
//! A parser compares each attribute of a tag with all before it, so that a tag with a hundred thousand of them would
//! keep it busy for a minute. Here every tag is written anew with the few attributes that mean something to us. No `<` is
//! left that does not begin such a tag, and none inside of one: whatever state a page brings the parser into, there is
//! nothing else for it to find. Comments, scripts and styles are gone. All of it is one pass.

/// The attributes that mean something to us.
const ATTRIBUTES: &[&str] = &[
    "alt",
    "alttext",
    "aria-hidden",
    "class",
    "colspan",
    "content",
    "data-lang",
    "data-language",
    "hidden",
    "href",
    "id",
    "name",
    "property",
    "role",
    "src",
    "start",
    "style",
];

/// The longest value that is kept: a longer one is no address, but a picture.
const LONGEST_VALUE: usize = 8 * 1024;

/// The longest name of a tag.
const LONGEST_NAME: usize = 64;

/// Elements whose text is code, or nothing for people.
const UNREAD: &[&str] = &["script", "style", "iframe", "noembed", "xmp"];

/// Elements whose text holds no tags.
const PLAIN: &[&str] = &["title", "textarea"];

/// Tags that would change how everything after them is read.
const DROPPED: &[&str] = &["plaintext", "frameset", "frame", "noframes"];

/// The markup of a page that is worth reading.
pub(super) fn sieve(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        kept.push_str(before);
        rest = match after.as_bytes() {
            [b'a'..=b'z' | b'A'..=b'Z', ..] => opening(after, &mut kept),
            [b'/', b'a'..=b'z' | b'A'..=b'Z', ..] => closing(after, &mut kept),
            [b'!', b'-', b'-', ..] => comment(after),
            [b'!' | b'?', ..] | [b'/', _, ..] => past(after, '>'),
            _ => {
                kept.push_str("&lt;");
                after
            }
        };
    }
    kept.push_str(rest);
    kept
}

/// One tag: its name, the attributes that are kept, whether it closes itself, and what comes after it.
struct Tag<'t> {
    name: String,
    attributes: Vec<(&'static str, &'t str)>,
    closed: bool,
    rest: &'t str,
}

fn opening<'t>(text: &'t str, kept: &mut String) -> &'t str {
    let Some(tag) = Tag::read(text) else { return "" };
    let name = tag.name.as_str();
    if UNREAD.contains(&name) {
        return if tag.closed { tag.rest } else { unread(tag.rest, name).1 };
    }
    if !is_sound(name) || DROPPED.contains(&name) {
        return tag.rest;
    }
    tag.write(kept);
    if !PLAIN.contains(&name) || tag.closed {
        return tag.rest;
    }
    let (inside, rest) = unread(tag.rest, name);
    kept.push_str(&inside.replace('<', "&lt;"));
    kept.push_str("</");
    kept.push_str(name);
    kept.push('>');
    rest
}

fn closing<'t>(text: &'t str, kept: &mut String) -> &'t str {
    let Some(tag) = text.strip_prefix('/').and_then(Tag::read) else { return "" };
    if is_sound(&tag.name) && !DROPPED.contains(&tag.name.as_str()) {
        kept.push_str("</");
        kept.push_str(&tag.name);
        kept.push('>');
    }
    tag.rest
}

impl<'t> Tag<'t> {
    /// Reads one from its name on; nothing if it has no end, and then neither has anything after it.
    fn read(text: &'t str) -> Option<Self> {
        let end = text.find(|letter| is_space(letter) || matches!(letter, '/' | '>')).unwrap_or(text.len());
        let (name, mut rest) = text.split_at_checked(end)?;
        let mut attributes = Vec::new();
        loop {
            let next = rest.trim_start_matches(|letter| is_space(letter) || letter == '/');
            if let Some(after) = next.strip_prefix('>') {
                let between = rest.len() - next.len();
                let closed = rest.get(..between).is_some_and(|between| between.ends_with('/'));
                return Some(Self { name: name.to_ascii_lowercase(), attributes, closed, rest: after });
            }
            let (attribute, value, after) = attribute(next)?;
            rest = after;
            let known = ATTRIBUTES.iter().find(|known| known.eq_ignore_ascii_case(attribute));
            if let Some(known) = known
                && value.len() <= LONGEST_VALUE
                && !attributes.iter().any(|(there, _)| there == known)
            {
                attributes.push((*known, value));
            }
        }
    }

    fn write(&self, kept: &mut String) {
        kept.push('<');
        kept.push_str(&self.name);
        for (name, value) in &self.attributes {
            kept.push(' ');
            kept.push_str(name);
            kept.push_str("=\"");
            kept.push_str(&value.replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;"));
            kept.push('"');
        }
        kept.push_str(if self.closed { "/>" } else { ">" });
    }
}

/// The next attribute with its value, and what comes after; nothing where the page ends before it does.
fn attribute(text: &str) -> Option<(&str, &str, &str)> {
    let first = text.chars().next()?;
    let ends = |letter: char| is_space(letter) || matches!(letter, '/' | '>' | '=');
    // Whatever comes first is part of the name, even `=`.
    let (_, behind) = text.split_at_checked(first.len_utf8())?;
    let end = first.len_utf8() + behind.find(ends)?;
    let (name, rest) = text.split_at_checked(end)?;
    let Some(value) = rest.trim_start_matches(is_space).strip_prefix('=') else {
        return Some((name, "", rest));
    };
    let value = value.trim_start_matches(is_space);
    for quote in ['"', '\''] {
        if let Some(inside) = value.strip_prefix(quote) {
            let (value, rest) = inside.split_once(quote)?;
            return Some((name, value, rest));
        }
    }
    let end = value.find(|letter| is_space(letter) || letter == '>')?;
    let (value, rest) = value.split_at_checked(end)?;
    Some((name, value, rest))
}

/// The text up to the end tag of that name, and what comes after it.
fn unread<'t>(text: &'t str, name: &str) -> (&'t str, &'t str) {
    let mut rest = text;
    while let Some((_, after)) = rest.split_once("</") {
        let behind = after
            .get(name.len()..)
            .filter(|_| after.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name)));
        if let Some(behind) = behind
            && behind.starts_with(|letter| is_space(letter) || matches!(letter, '/' | '>'))
        {
            let inside = text.get(..text.len() - after.len() - 2).unwrap_or_default();
            return (inside, past(behind, '>'));
        }
        rest = after;
    }
    (text, "")
}

/// What comes after a comment.
fn comment(text: &str) -> &str {
    let inside = text.strip_prefix("!--").unwrap_or(text);
    if let Some(rest) = inside.strip_prefix('>').or_else(|| inside.strip_prefix("->")) {
        return rest;
    }
    let mut rest = inside;
    while let Some((_, after)) = rest.split_once("--") {
        let after = after.trim_start_matches('-');
        if let Some(rest) = after.strip_prefix('>').or_else(|| after.strip_prefix("!>")) {
            return rest;
        }
        rest = after;
    }
    ""
}

fn past(text: &str, end: char) -> &str {
    text.split_once(end).map(|(_, rest)| rest).unwrap_or_default()
}

fn is_space(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}

fn is_sound(name: &str) -> bool {
    name.len() <= LONGEST_NAME
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_:.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markup_is_written_in_one_way_and_the_rest_is_gone() {
        for (text, kept) in [
            ("a<b>c</B >d", "a<b>c</b>d"),
            ("<A HREF='x\"y' onclick=evil()>z</a>", "<a href=\"x&quot;y\">z</a>"),
            ("<a href=x/y>", "<a href=\"x/y\">"),
            ("<img alt = \"a>b<c\" src=s />", "<img alt=\"a&gt;b&lt;c\" src=\"s\"/>"),
            ("<p hidden>", "<p hidden=\"\">"),
            ("<p class=a class=b>", "<p class=\"a\">"),
            ("<p =x class=a>", "<p class=\"a\">"),
            ("a<!-- b --><c>-->d", "a<c>-->d"),
            ("a<!--><b>", "a<b>"),
            ("a<!---><b>", "a<b>"),
            ("a<!-- --- --->b", "ab"),
            ("a<!-- --!>b", "ab"),
            ("a<!-- b", "a"),
            ("<!doctype html>a<?php b ?>c</>d</ e>f<![CDATA[g]]>h", "acdf h".replace(' ', "").as_str()),
            ("1 < 2 <3 <", "1 &lt; 2 &lt;3 &lt;"),
            ("<script>if (a<b) '</p>'</SCRIPT x>c", "c"),
            ("<script src=x />c", "c"),
            ("<style>a</styles></style\n>b", "b"),
            ("<title>a <b> &amp; </title>c", "<title>a &lt;b> &amp; </title>c"),
            ("<textarea><p></textarea>", "<textarea>&lt;p></textarea>"),
            ("<plaintext>a<frameset><frame>b</noframes>", "ab"),
            ("<a<b>c", "c"),
            ("<p", ""),
            ("<p class=\"a", ""),
            ("</p class='>'>a", "</p>a"),
            ("</p", ""),
        ] {
            assert_eq!(sieve(text), kept, "{text}");
        }
    }

    #[test]
    fn no_tag_has_more_than_was_asked_for() {
        let many = (0..100_000).map(|n| format!("a{n}")).collect::<Vec<_>>().join(" ");
        assert_eq!(sieve(&format!("<p {many}>")), "<p>");
        assert_eq!(
            sieve(&format!("<textarea><b c=\"</textarea {many}>\">")),
            "<textarea>&lt;b c=\"</textarea>\">"
        );
        assert_eq!(sieve(&format!("<img src='{}'>", "x".repeat(9000))), "<img>");
    }

    proptest! {
        #[test]
        fn every_tag_that_is_left_is_one_of_ours(text in "(?s)([<>/='\"! a-c-]|<!--|-->|<title>|</title>|<p |<script>|</script>|ü){0,60}") {
            let kept = sieve(&text);
            for tag in kept.split('<').skip(1) {
                let end = tag.find('>');
                prop_assert!(end.is_some(), "{text} -> {kept}");
                prop_assert!(!tag[..end.unwrap()].contains('<'), "{text} -> {kept}");
            }
        }
    }
}
