//! What is left of an English word without its ending: little is cut, so that little is confused.

/// Endings, longest first, and what stands for them.
const ENDINGS: [(&str, &str); 12] = [
    ("ations", "ate"),
    ("ation", "ate"),
    ("sses", "ss"),
    ("ings", ""),
    ("edly", ""),
    ("ment", ""),
    ("ies", "y"),
    ("ing", ""),
    ("ed", ""),
    ("es", ""),
    ("ly", ""),
    ("s", ""),
];

/// The stem of a word in lower case. Words of other alphabets stay as they are.
pub(super) fn stem(word: &str) -> String {
    if word.len() <= 3 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word.to_owned();
    }
    let ending = ENDINGS.iter().find_map(|(ending, instead)| {
        let root = word.strip_suffix(ending).filter(|root| root.len() >= 3)?;
        // `class`, `status`: no plural.
        let plural = *ending == "s" && (root.ends_with('s') || root.ends_with('u') || root.ends_with('i'));
        (!plural).then(|| format!("{root}{instead}"))
    });
    let mut stem = ending.unwrap_or_else(|| word.to_owned());
    let mut last = stem.bytes().rev();
    let (one, two) = (last.next(), last.next());
    // `stopped`, `stopping`; but `call`, `pass`.
    if stem.len() > 3 && one == two && one != Some(b'l') && one != Some(b's') {
        stem.pop();
    }
    if stem.len() > 3 && stem.ends_with('e') {
        stem.pop();
    }
    stem
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_one_word_have_one_stem() {
        let families: [&[&str]; 8] = [
            &["retry", "retries"],
            &["fail", "fails", "failed", "failing"],
            &["update", "updates", "updated", "updating"],
            &["stop", "stops", "stopped", "stopping"],
            &["migrate", "migration", "migrations", "migrating"],
            &["cache", "caches", "cached", "caching"],
            &["class", "classes"],
            &["token", "tokens"],
        ];
        for family in families {
            let stems: Vec<_> = family.iter().map(|word| stem(word)).collect();
            assert!(stems.windows(2).all(|pair| pair[0] == pair[1]), "{family:?}: {stems:?}");
        }
        assert_ne!(stem("status"), stem("stat"));
        assert_eq!(stem("naïve"), "naïve");
    }
}
