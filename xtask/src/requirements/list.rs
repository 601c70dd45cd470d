//! Reads docs/requirements.md, and short lists of numbers such as `COV-MCP-01..24 PACT-19..23 48`.

use std::collections::BTreeMap;

const UNTESTABLE: &str = " — not testable: ";

/// One line of the list.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Requirement {
    /// Which document it comes from.
    pub(super) prefix: String,
    /// What it says.
    pub(super) text: String,
    /// Why no test can show it.
    pub(super) untestable: Option<String>,
}

/// The list, by number.
pub(super) fn parse(page: &str) -> Result<BTreeMap<String, Requirement>, String> {
    let mut requirements = BTreeMap::new();
    for line in page.lines() {
        let Some((id, text)) = line.strip_prefix("- ").and_then(|line| line.split_once(' ')) else {
            continue;
        };
        let Some((prefix, _)) = split(id) else { continue };
        let (text, untestable) = match text.split_once(UNTESTABLE) {
            Some((text, reason)) => (text, Some(reason.to_owned())),
            None => (text, None),
        };
        let requirement = Requirement { prefix: prefix.to_owned(), text: text.to_owned(), untestable };
        if requirements.insert(id.to_owned(), requirement).is_some() {
            return Err(format!("{id} stands twice in the list of requirements"));
        }
    }
    if requirements.is_empty() {
        Err("the list of requirements is empty".to_owned())
    } else {
        Ok(requirements)
    }
}

/// `COV-MCP-01` as its document and its digits.
pub(super) fn split(id: &str) -> Option<(&str, &str)> {
    let (prefix, digits) = id.rsplit_once('-')?;
    let known = ["COV-MCP", "COV-AGENT", "ARAWN", "PACT", "VIBE"].contains(&prefix);
    let sound = known && (2..=3).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    sound.then_some((prefix, digits))
}

/// The numbers of a short list: single ones, ranges, and both without a prefix after one that had it.
pub(super) fn expand(text: &str) -> Result<Vec<String>, String> {
    let (mut ids, mut prefix) = (Vec::new(), String::new());
    for word in text.split([' ', ',', '\n']).filter(|word| !word.is_empty()) {
        let wrong = || {
            format!("`{word}` is no requirement: write COV-MCP-01, COV-MCP-01..24, or 48 after one of those")
        };
        let (first, last) = word.split_once("..").map_or((word, None), |(first, last)| (first, Some(last)));
        let digits = match split(first) {
            Some((named, digits)) => {
                named.clone_into(&mut prefix);
                digits
            }
            None if !prefix.is_empty() => first,
            None => return Err(wrong()),
        };
        let from: u32 = digits.parse().map_err(|_| wrong())?;
        let to: u32 = last.unwrap_or(digits).parse().map_err(|_| wrong())?;
        if from > to {
            return Err(wrong());
        }
        ids.extend((from..=to).map(|number| format!("{prefix}-{number:02}")));
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_requirements_and_prose_does_not() {
        let page = "# x\n- a list\n- PACT-01 MCP links.\n- ARAWN-09 Not now. — not testable: a non-goal\n";
        let list = parse(page).unwrap();
        assert_eq!(list.len(), 2);
        assert_eq!(list["PACT-01"].untestable, None);
        assert_eq!(list["ARAWN-09"].text, "Not now.");
        assert_eq!(list["ARAWN-09"].untestable.as_deref(), Some("a non-goal"));
        assert!(parse("- PACT-01 a\n- PACT-01 b\n").is_err());
    }

    #[test]
    fn short_lists_are_expanded() {
        assert_eq!(
            expand("COV-MCP-01..03, PACT-09 11..12").unwrap(),
            ["COV-MCP-01", "COV-MCP-02", "COV-MCP-03", "PACT-09", "PACT-11", "PACT-12"]
        );
        assert_eq!(expand("VIBE-99..101").unwrap(), ["VIBE-99", "VIBE-100", "VIBE-101"]);
        for list in ["7", "PACT-3..1", "PACT-x", "NONE-01"] {
            assert!(expand(list).is_err(), "{list}");
        }
    }
}
