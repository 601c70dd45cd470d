//! Whether a licence expression can be satisfied with the licences we accept.

/// Whether one way through the expression uses only accepted licences. `A/B` is the old spelling of `A OR B`.
pub(crate) fn satisfied(expression: &str, accepted: impl Fn(&str) -> bool) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    let verdict = any(&mut words, &accepted);
    verdict && words.next().is_none()
}

type Words<'t> = std::iter::Peekable<std::str::SplitWhitespace<'t>>;

fn any(words: &mut Words<'_>, accepted: &impl Fn(&str) -> bool) -> bool {
    let mut verdict = all(words, accepted);
    while words.next_if_eq(&"OR").is_some() {
        verdict |= all(words, accepted);
    }
    verdict
}

fn all(words: &mut Words<'_>, accepted: &impl Fn(&str) -> bool) -> bool {
    let mut verdict = one(words, accepted);
    while words.next_if_eq(&"AND").is_some() {
        verdict &= one(words, accepted);
    }
    verdict
}

fn one(words: &mut Words<'_>, accepted: &impl Fn(&str) -> bool) -> bool {
    match words.next() {
        Some("(") => {
            let verdict = any(words, accepted);
            words.next() == Some(")") && verdict
        }
        Some(licence) if words.next_if_eq(&"WITH").is_some() => {
            let exception = words.next().unwrap_or_default();
            accepted(&format!("{licence} WITH {exception}")) || accepted(licence)
        }
        Some(licence) => accepted(licence),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::satisfied;

    #[test]
    fn one_accepted_way_is_enough_and_every_part_of_it_is_needed() {
        let accepted = |licence: &str| ["MIT", "Apache-2.0"].contains(&licence);
        for expression in [
            "MIT",
            "MIT OR GPL-3.0",
            "GPL-3.0 OR (MIT AND Apache-2.0)",
            "MIT/GPL-2.0",
            "Apache-2.0 WITH LLVM-exception",
        ] {
            assert!(satisfied(expression, accepted), "{expression}");
        }
        for expression in
            ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR ISC) AND ISC", "", "OR MIT", "(MIT", "MIT )"]
        {
            assert!(!satisfied(expression, accepted), "{expression}");
        }
    }
}
