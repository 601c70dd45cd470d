//! Which patterns are patterns, and what they cover.

use proptest::prelude::*;

use super::*;

#[test]
fn patterns_cover_one_segment_and_nothing_deeper() {
    for (pattern, action, covered) in [
        ("tool.call.echo", "tool.call.echo", true),
        ("tool.call.echo", "tool.call.echo2", false),
        ("tool.call.*", "tool.call.echo", true),
        ("tool.*", "tool.call.echo", false),
        ("tool.call.github__*", "tool.call.github__issues", true),
        ("tool.call.github__*", "tool.call.gitlab__issues", false),
        ("tool.call.github__*", "tool.call.github__", false),
        ("tool.call.*", "tool.call.", false),
        ("tool.call.*", "tool.resource.x", false),
    ] {
        assert_eq!(pattern.parse::<ActionPattern>().unwrap().covers(action), covered, "{pattern} {action}");
    }
}

#[test]
fn only_the_last_segment_may_be_a_pattern() {
    for text in
        ["", "*", "tool", "tool.", ".echo", "tool.*.echo", "tool.call.e*o", "tool.call.**", "a b.c", "a.b\n"]
    {
        assert!(text.parse::<ActionPattern>().is_err(), "{text:?}");
    }
}

#[test]
fn an_exact_name_is_closer_than_any_prefix_and_a_longer_prefix_than_a_shorter() {
    let of = |text: &str| text.parse::<ActionPattern>().unwrap().specificity();
    assert!(of("tool.call.a") > of("tool.call.abcdef*"));
    assert!(of("tool.call.ab*") > of("tool.call.a*"));
    assert!(of("tool.call.a*") > of("tool.call.*"));
}

proptest! {
    #[test]
    fn covering_is_what_it_says(front in "[a-z]{1,3}\\.[a-z]{1,3}", literal in "[a-z_]{0,4}", action in "[a-z]{1,3}\\.[a-z]{1,3}\\.[a-z_.]{0,6}") {
        let pattern: ActionPattern = format!("{front}.{literal}*").parse().unwrap();
        let head = format!("{front}.{literal}");
        let plain = action.starts_with(&head) && action.len() > head.len() && !action[head.len()..].contains('.');
        prop_assert_eq!(pattern.covers(&action), plain);
    }

    #[test]
    fn arbitrary_text_never_panics(text in ".{0,80}", action in ".{0,80}") {
        if let Ok(pattern) = text.parse::<ActionPattern>() {
            let _ = (pattern.covers(&action), pattern.specificity());
        }
    }
}
