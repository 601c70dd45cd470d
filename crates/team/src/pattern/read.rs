//! Reads paths and globs: what each sign means, and which ones are refused because nobody means them.

use super::{Segment, Token};
use crate::input::{bounds, texts};

/// The one sign that no name has.
const SLASH: u32 = 0x2f;

/// Every character that can stand in a name.
const ALL: [(u32, u32); 3] = [(0, SLASH - 1), (SLASH + 1, 0xd7ff), (0xe000, 0x10_ffff)];

/// The ways to read it, or what is wrong with it.
pub(super) fn pattern(text: &str) -> Result<Vec<Vec<Segment>>, String> {
    texts::relative(text)?;
    refuse_choice(text)?;
    if !text.contains(['*', '?', '[']) {
        return Ok(vec![plain(text)]);
    }
    let stars = text.split('*').count().saturating_sub(1);
    if stars > bounds::STARS {
        return Err(format!("has {stars} `*`, and at most {} are taken", bounds::STARS));
    }
    let mut segments = Vec::new();
    let mut names_something = false;
    for part in text.split('/') {
        let segment = segment(part, &mut names_something)?;
        if segment == Segment::Deep && segments.last() == Some(&Segment::Deep) {
            return Err("has `**/**`, which is the same as `**`: write it once".to_owned());
        }
        segments.push(segment);
    }
    if !names_something {
        return Err("covers nearly everything: name a folder, such as `src/**`".to_owned());
    }
    if segments.last() == Some(&Segment::Deep) {
        // What is beneath a folder, not the folder.
        segments.push(Segment::Glob(vec![Token::Star]));
    }
    let mut readings = vec![segments];
    if text.contains('[') {
        readings.push(plain(text));
    }
    Ok(readings)
}

/// That path; and everything beneath it, unless its last name has an extension, as names of files have.
fn plain(path: &str) -> Vec<Segment> {
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_file = name.trim_start_matches('.').contains('.');
    exactly(path).into_iter().chain((!is_file).then_some(Segment::Deep)).collect()
}

/// That path and nothing else.
pub(super) fn exactly(path: &str) -> Vec<Segment> {
    path.split('/').map(|name| Segment::Name(name.to_owned())).collect()
}

/// Other programs read `{a,b}` as a choice; taken as a name it would silently cover nothing.
fn refuse_choice(text: &str) -> Result<(), String> {
    let choice = text.split('{').skip(1).any(|rest| {
        let inner = rest.split('}').next().unwrap_or_default();
        inner.len() < rest.len() && inner.contains(',')
    });
    if choice {
        return Err("has a choice in braces: write each alternative as a path of its own".to_owned());
    }
    Ok(())
}

fn segment(part: &str, names_something: &mut bool) -> Result<Segment, String> {
    if part == "**" {
        return Ok(Segment::Deep);
    }
    if part.contains("**") {
        return Err(format!(
            "has `**` within the name `{part}`: it stands alone between slashes, as in `src/**/*.rs`"
        ));
    }
    if !part.contains(['*', '?', '[']) {
        *names_something = true;
        return Ok(Segment::Name(part.to_owned()));
    }
    let (mut tokens, mut signs) = (Vec::new(), part.chars().peekable());
    while let Some(sign) = signs.next() {
        tokens.push(match sign {
            '*' => Token::Star,
            '?' => Token::One(ALL.to_vec()),
            '[' => Token::One(class(&mut signs)?),
            other => {
                *names_something |= other.is_alphanumeric();
                Token::One(vec![(u32::from(other), u32::from(other))])
            }
        });
    }
    Ok(Segment::Glob(tokens))
}

/// The characters of a class, from behind its bracket.
fn class(signs: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Vec<(u32, u32)>, String> {
    let unclosed = || "has a `[` without its `]`".to_owned();
    let negated = signs.next_if(|sign| matches!(sign, '!' | '^')).is_some();
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    loop {
        let from = signs.next().ok_or_else(unclosed)?;
        // A bracket at the beginning is one of the characters.
        if from == ']' && !ranges.is_empty() {
            break;
        }
        let mut ahead = signs.clone();
        let to = match (ahead.next(), ahead.next()) {
            (Some('-'), Some(to)) if to != ']' => {
                *signs = ahead;
                to
            }
            _ => from,
        };
        if to < from {
            return Err(format!("has the range `{from}-{to}`, which is the wrong way round"));
        }
        ranges.push((u32::from(from), u32::from(to)));
    }
    let ranges = if negated { without(&ALL, &ranges) } else { within(&ranges) };
    if ranges.is_empty() {
        return Err("has brackets that no character fits".to_owned());
    }
    Ok(ranges)
}

/// The ranges in order and apart, without what stands in no name.
fn within(ranges: &[(u32, u32)]) -> Vec<(u32, u32)> {
    without(&ALL, &without(&ALL, ranges))
}

/// What is left of ordered ranges without those.
fn without(all: &[(u32, u32)], less: &[(u32, u32)]) -> Vec<(u32, u32)> {
    let mut left = all.to_vec();
    for (from, to) in less {
        left = left
            .into_iter()
            .flat_map(|(start, end)| {
                let before = (start, end.min(from.wrapping_sub(1)));
                let after = (start.max(to.saturating_add(1)), end);
                let before = (*from > start).then_some(before);
                let after = (*to < end).then_some(after);
                // One that lies beside the range is untouched.
                if *to < start || *from > end { [Some((start, end)), None] } else { [before, after] }
            })
            .flatten()
            .collect();
    }
    left
}
