//! Patterns held against every short path there is, and those that are refused.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Pattern {
    Pattern::read(text).unwrap_or_else(|reason| panic!("{text} {reason}"))
}

fn meet(one: &str, two: &str) -> bool {
    let mut effort = Effort::ordinary();
    let meet = read(one).meets(&read(two), &mut effort);
    assert!(!effort.is_spent());
    meet
}

#[test]
fn what_people_claim_meets_what_they_mean() {
    for (one, two, expected) in [
        ("src/a.rs", "src/a.rs", true),
        ("src/a.rs", "src/b.rs", false),
        ("src", "src/auth/login.rs", true),
        ("src", "srcs/a.rs", false),
        ("src/auth/**", "src/auth/login.rs", true),
        ("src/auth/**", "src/author/login.rs", false),
        ("src/*", "src/a.rs", true),
        ("src/*", "src/auth/login.rs", false),
        ("src/*", "src/auth", true),
        ("src/**/*.rs", "src/a.rs", true),
        ("src/**/*.rs", "src/a/b/c.rs", true),
        ("src/**/*.rs", "src/a/b/c.ts", false),
        ("src/**/*.rs", "**/mod.*", true),
        ("src/**/*.rs", "src", true),
        ("**/*.rs", "docs/readme.md", false),
        ("conf.d", "conf.d/a.conf", true),
        ("conf.d", "conf.d/*.conf", true),
        ("conf.d", "conf.d/**", true),
        (".github", ".github/**", true),
        (".github", "**/*.yml", true),
        ("src/**/*.rs", "docs/**", false),
        ("**/tests/**", "crates/*/tests/it", true),
        ("**/tests/**", "crates/gate/test/it.rs", false),
        ("a*c", "ab*", true),
        ("a*c", "b*", false),
        ("[a-c]x", "[c-e]x", true),
        ("[a-c]x", "[d-e]x", false),
        ("[!a]x", "ax", false),
        ("[!a]x", "bx", true),
        ("[]a]x", "]x", true),
        ("[a-]x", "-x", true),
        ("a[+-9]b", "a/b", false),
        ("app/[id]/page.tsx", "app/[id]/page.tsx", true),
        ("app/[id]/page.tsx", "app/[slug]/page.tsx", false),
        ("app/[id]/page.tsx", "app/*/page.tsx", true),
        ("a?", "aä", true),
        ("a?", "a", false),
    ] {
        assert_eq!(meet(one, two), expected, "{one} and {two}");
        assert_eq!(meet(two, one), expected, "{two} and {one}");
    }
    let file = Pattern::file("app/[id]/page.tsx");
    assert!(read("app/[id]").meets(&file, &mut Effort::ordinary()), "a name with brackets is a name");
    assert!(!read("app/x").meets(&file, &mut Effort::ordinary()));
}

#[test]
fn what_nobody_means_is_refused_with_a_reason() {
    let (deep, stars, long) = ("**/".repeat(40) + "a", "*".repeat(512), "a".repeat(513));
    for (bad, reason) in [
        ("", "empty"),
        ("/etc/passwd", "absolute"),
        ("../a", "`..`"),
        ("a/../b", "`..`"),
        ("a//b", "normalised"),
        ("a/", "normalised"),
        ("*", "nearly everything"),
        ("**", "nearly everything"),
        ("**/*", "nearly everything"),
        ("*/?/**", "nearly everything"),
        ("**/*.*", "nearly everything"),
        ("**/[!x]*", "nearly everything"),
        ("a/**/**/b", "write it once"),
        ("a/b**", "stands alone"),
        ("a[bc", "without its `]`"),
        ("a[", "without its `]`"),
        ("a[]", "without its `]`"),
        ("a[b/c]", "without its `]`"),
        ("a[z-a]", "wrong way round"),
        ("a[!\u{1}-\u{10ffff}]", "control"),
        ("src/{a,b}.rs", "braces"),
        ("src/{a,b}/*", "braces"),
        (&*deep, "at most 16"),
        (&*stars, "at most 16"),
        (&*long, "longer than 512"),
    ] {
        let told = Pattern::read(bad).expect_err(bad);
        assert!(told.contains(reason), "{bad}: {told}");
    }
    for good in ["{{ name }}/a", "a/{b}", "...", "…/x", "**/a", "*.rs", "a*/b", ".github/**"] {
        read(good);
    }
}

#[test]
fn a_spent_effort_is_told_and_takes_patterns_to_meet() {
    let (one, two) = (format!("{}b", "*a".repeat(16)), format!("{}c", "a".repeat(400)));
    let mut effort = Effort::ordinary();
    assert!(!read(&one).meets(&read(&two), &mut effort) && !effort.is_spent(), "a bomb is defused");
    let mut none = Effort::ordinary();
    for _ in 0..10_000 {
        read(&one).meets(&read(&two), &mut none);
    }
    assert!(none.is_spent());
    assert!(read("a").meets(&read("b"), &mut none));
}

/// Every path of up to five names of up to two of these letters: enough for two patterns of three short segments each.
static EVERY_PATH: LazyLock<Vec<String>> = LazyLock::new(|| {
    let names = ["a", "b", "aa", "ab", "ba", "bb"];
    let mut all: Vec<String> = names.map(ToOwned::to_owned).to_vec();
    let mut last = all.clone();
    for _ in 1..5 {
        last = last.iter().flat_map(|path| names.map(|name| format!("{path}/{name}"))).collect();
        all.extend(last.iter().cloned());
    }
    all
});

/// Whether a glob covers a path, found by trying: written without a look at how patterns are compared.
fn covers(glob: &str, path: &str) -> bool {
    let plain = !glob.contains(['*', '?', '[']);
    if plain {
        return path == glob || path.starts_with(&format!("{glob}/"));
    }
    let (glob, path): (Vec<&str>, Vec<&str>) = (glob.split('/').collect(), path.split('/').collect());
    folders(&glob, &path)
}

fn folders(glob: &[&str], path: &[&str]) -> bool {
    match glob.split_first() {
        None => path.is_empty(),
        Some((&"**", [])) => !path.is_empty(),
        Some((&"**", rest)) => (0..=path.len()).any(|skip| folders(rest, &path[skip..])),
        Some((name, rest)) => path.split_first().is_some_and(|(first, beneath)| {
            fits(name.as_bytes(), first.as_bytes()) && folders(rest, beneath)
        }),
    }
}

/// Of letters, `*`, `?`, `[ab]` and `[!a]`.
fn fits(glob: &[u8], name: &[u8]) -> bool {
    match glob {
        [] => name.is_empty(),
        [b'*', rest @ ..] => (0..=name.len()).any(|skip| fits(rest, &name[skip..])),
        [b'[', b'a', b'b', b']', rest @ ..] | [b'?', rest @ ..] => !name.is_empty() && fits(rest, &name[1..]),
        [b'[', b'!', b'a', b']', rest @ ..] => {
            name.first().is_some_and(|sign| *sign != b'a') && fits(rest, &name[1..])
        }
        [sign, rest @ ..] => name.first() == Some(sign) && fits(rest, &name[1..]),
    }
}

fn glob() -> impl Strategy<Value = String> {
    let piece = prop_oneof![Just("a"), Just("b"), Just("*"), Just("?"), Just("[ab]"), Just("[!a]")];
    let name = prop::collection::vec(piece, 1..3).prop_map(|pieces| pieces.concat());
    let segment = prop_oneof![4 => name, 1 => Just("**".to_owned())];
    prop::collection::vec(segment, 1..4)
        .prop_map(|segments| segments.join("/"))
        .prop_filter("one that is taken", |glob| Pattern::read(glob).is_ok())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn two_patterns_meet_exactly_where_some_path_is_covered_by_both(one in glob(), two in glob()) {
        let both = EVERY_PATH.iter().find(|path| covers(&one, path) && covers(&two, path));
        let globs = [&one, &two].map(|text| Pattern { readings: read(text).readings[..1].to_vec() });
        let meet = globs[0].meets(&globs[1], &mut Effort::ordinary());
        prop_assert_eq!(meet, both.is_some(), "{} and {}: {:?}", one, two, both);
    }

    #[test]
    fn nothing_that_is_written_panics(text in "[a/*?\\[\\]!^{},.~-]{0,40}") {
        if let Ok(pattern) = Pattern::read(&text) {
            prop_assert!(pattern.meets(&pattern, &mut Effort::ordinary()), "{} does not meet itself", text);
        }
    }
}
