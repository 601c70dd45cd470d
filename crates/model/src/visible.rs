//! What people can see of a text: characters that steer, reorder or hide are written out.

use std::borrow::Cow;

/// The text for one line: control, bidirectional and invisible characters are written out.
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// The text for several lines: line breaks and tabs stay.
pub fn block(text: &str) -> Cow<'_, str> {
    escaped(text, |character| matches!(character, '\n' | '\t'))
}

fn escaped(text: &str, stays: impl Fn(char) -> bool) -> Cow<'_, str> {
    let hides = |character: char| is_hidden(character) && !stays(character);
    if !text.contains(hides) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if !hides(character) {
            out.push(character);
        } else if character.is_ascii() {
            out.extend(character.escape_default());
        } else {
            out.extend(character.escape_unicode());
        }
    }
    Cow::Owned(out)
}

/// Whether a terminal would do something else than show it: what steers one, what Unicode lets a font leave out
/// (`Default_Ignorable_Code_Point`), and what is drawn as nothing.
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d159}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}
