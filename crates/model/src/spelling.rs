//! How near two words are, for those who mistype.

/// How many characters must be put in, taken out or changed; a large number for a word that is long.
pub fn distance(one: &str, two: &str) -> usize {
    if one.len() > 64 || two.len() > 64 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=two.chars().count()).collect();
    for (line, a) in one.chars().enumerate() {
        let mut corner = line;
        let mut left = line + 1;
        let mut next = vec![left];
        for (b, above) in two.chars().zip(row.iter().skip(1)) {
            left = (corner + usize::from(a != b)).min(above + 1).min(left + 1);
            corner = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

/// Of these words the nearest one, if a slip of the hand could have made one of the other.
pub fn nearest<'w>(typed: &str, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let near = words.into_iter().map(|word| (distance(typed, word), word));
    near.filter(|(distance, word)| *distance <= 2 && *distance < word.chars().count())
        .min()
        .map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_is_counted_in_characters() {
        for (one, two, far) in [("", "abc", 3), ("kitten", "sitting", 3), ("grün", "grun", 1), ("a", "a", 0)]
        {
            assert_eq!(distance(one, two), far, "{one} {two}");
        }
        assert_eq!(distance(&"a".repeat(65), "a"), usize::MAX);
    }

    #[test]
    fn a_slip_is_told_from_another_word() {
        let words = ["agent", "capabilities", "resources"];
        assert_eq!(nearest("capabilites", words), Some("capabilities"));
        assert_eq!(nearest("agents", words), Some("agent"));
        assert_eq!(nearest("tools", words), None);
        assert_eq!(nearest("x", ["y"]), None, "nothing in common");
    }
}
