//! The names that a server's tools are called by here, and which of them are offered at all.

use super::plan::Prefix;
use super::prefix;
use crate::constraint::glob;
use crate::tool::{NAME_LIMIT, ToolName};

/// How many characters of a hash stand in the middle of a name that was shortened.
const HASH: usize = 6;

/// The longest name that patterns are held against: the name is the server's, and the time is ours.
const LONGEST_MATCHED: usize = 4096;

/// The name a tool is called by: `<prefix>__<tool>`, with `_` for every character that hosts do not take. One that is too
/// long loses its middle to a hash; the prefix and the end of the name stay.
///
/// Two names that differ only in such characters become one. Whoever registers them says so; it is not hidden here.
pub fn exposed(prefix: &Prefix, tool: &str) -> ToolName {
    let before = match prefix {
        Prefix::Named(prefix) => format!("{}__", plain(prefix.chars().take(prefix::LONGEST))),
        Prefix::None => String::new(),
    };
    let own = if tool.is_empty() { "_".to_owned() } else { plain(tool.chars()) };
    let room = NAME_LIMIT.saturating_sub(before.len());
    let name = if own.len() <= room { own } else { shortened(&own, room) };
    ToolName::of_plain(&format!("{before}{name}"))
}

/// Whether a tool of that name is offered: some pattern includes it, or there is none, and no pattern excludes it.
pub fn offered(include: &[String], exclude: &[String], tool: &str) -> bool {
    if tool.len() > LONGEST_MATCHED {
        return include.is_empty() && exclude.is_empty();
    }
    let any = |patterns: &[String]| patterns.iter().any(|pattern| glob(pattern, tool));
    (include.is_empty() || any(include)) && !any(exclude)
}

fn plain(text: impl Iterator<Item = char>) -> String {
    text.map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

/// The beginning, a hash of the whole, and the end, which says most and gets two thirds of what is left.
fn shortened(name: &str, room: usize) -> String {
    let middle = format!("-{}-", prefix::hash(name, HASH));
    let left = room.saturating_sub(middle.len());
    let tail = left * 2 / 3;
    let head = name.get(..left - tail).unwrap_or_default();
    let tail = name.get(name.len().saturating_sub(tail)..).unwrap_or_default();
    format!("{head}{middle}{tail}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn named(prefix: &str) -> Prefix {
        Prefix::Named(prefix.to_owned())
    }

    fn list(patterns: &[&str]) -> Vec<String> {
        patterns.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_name_that_fits_is_kept() {
        for (prefix, tool, name) in [
            (named("fs"), "read_file", "fs__read_file"),
            (named("fs"), "a.b/c d", "fs__a_b_c_d"),
            (named("fs"), "größe", "fs__gr__e"),
            (named("fs"), "", "fs___"),
            (Prefix::None, "read_file", "read_file"),
            (Prefix::None, "", "_"),
            (Prefix::None, "\u{1b}[2J", "__2J"),
        ] {
            assert_eq!(exposed(&prefix, tool).as_str(), name, "{tool}");
        }
        let exact = "x".repeat(NAME_LIMIT - 4);
        assert_eq!(exposed(&named("fs"), &exact).as_str(), format!("fs__{exact}"));
    }

    #[test]
    fn a_long_name_loses_its_middle_and_nothing_else() {
        let prefix = named("exactly-16-chars");
        let long = "repositories_and_projects_create_pull_request";
        let name = exposed(&prefix, long);
        assert_eq!(name.as_str().len(), NAME_LIMIT);
        assert!(name.as_str().starts_with("exactly-16-chars__reposit-"), "{name}");
        assert!(name.as_str().ends_with("-e_pull_request"), "{name}");
        // In people's grants: it must never change.
        assert_eq!(name, exposed(&prefix, long));
        let other = exposed(&prefix, "repositories_or_projects_create_pull_request");
        assert_ne!(name, other, "the hash tells them apart");
    }

    #[test]
    fn names_that_differ_only_in_strange_characters_collide_and_are_not_hidden() {
        assert_eq!(exposed(&named("a"), "x.y"), exposed(&named("a"), "x y"));
        let (long, alike) = ("x.".repeat(40), "x/".repeat(40));
        assert_eq!(exposed(&named("a"), &long), exposed(&named("a"), &alike));
    }

    #[test]
    fn patterns_choose_which_tools_are_offered() {
        for (include, exclude, tool, yes) in [
            (&[][..], &[][..], "read_file", true),
            (&["read_*"], &[], "read_file", true),
            (&["read_*"], &[], "write_file", false),
            (&["read_*", "write_*"], &["*_secret"], "write_file", true),
            (&["*"], &["write_*"], "write_file", false),
            (&[], &["write_?"], "write_file", true),
            (&["Read_*"], &[], "read_file", false),
        ] {
            assert_eq!(offered(&list(include), &list(exclude), tool), yes, "{include:?} {exclude:?} {tool}");
        }
    }

    #[test]
    fn a_name_too_long_to_be_matched_slips_past_no_pattern() {
        let long = "delete_".repeat(1000);
        assert!(!offered(&[], &list(&["delete_*"]), &long));
        assert!(!offered(&list(&["read_*"]), &[], &long));
        assert!(offered(&[], &[], &long));
    }

    proptest! {
        #[test]
        fn every_tool_gets_a_sound_name(prefix in "[a-z0-9-]{1,16}", tool in ".{0,120}", bare in any::<bool>()) {
            let prefix = if bare { Prefix::None } else { Prefix::Named(prefix) };
            let name = exposed(&prefix, &tool);
            prop_assert!(name.as_str().parse::<ToolName>().is_ok(), "{}", name);
            let before = if bare { String::new() } else { format!("{}__", prefix.as_str()) };
            prop_assert!(name.as_str().starts_with(&before), "{}", name);
            prop_assert_eq!(name, exposed(&prefix, &tool));
        }

        #[test]
        fn different_plain_names_stay_different(prefix in "[a-z0-9-]{1,16}", one in "[a-z_]{0,80}", two in "[a-z_]{1,80}") {
            prop_assume!(one != two && !(one.is_empty() && two == "_"));
            let prefix = Prefix::Named(prefix);
            prop_assert_ne!(exposed(&prefix, &one), exposed(&prefix, &two));
        }

        #[test]
        fn a_prefix_from_anywhere_gives_a_sound_name(prefix in ".{0,60}", tool in ".{0,80}") {
            let name = exposed(&Prefix::Named(prefix), &tool);
            prop_assert!(name.as_str().parse::<ToolName>().is_ok(), "{}", name);
        }
    }
}
