//! Reads from tests which requirements their comments name. Comments at the top of a file name nothing.

use super::list::split;
use crate::tree::Source;

/// A test, or something that claims to be one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Claim {
    /// What it is called.
    pub(super) name: String,
    /// The requirements its comment names.
    pub(super) ids: Vec<String>,
    /// Whether a test runner would run it.
    pub(super) runs: bool,
}

/// Everything in a file that names a requirement.
pub(super) fn tests(source: &Source) -> Vec<Claim> {
    if source.ends("rs") {
        claims(
            &source.text,
            &["///"],
            |line| line.contains("fn "),
            |line| line.starts_with("#[") && line.contains("test"),
        )
    } else if source.ends("py") {
        claims(&source.text, &["#"], |line| line.contains("def "), |line| line.contains("def test"))
    } else if source.ends("mjs") {
        claims(&source.text, &["//", "/**", "*"], |line| !line.is_empty(), |line| line.contains("test("))
    } else {
        Vec::new()
    }
}

/// Goes through a file line by line: comment lines gather numbers, `body` ends the head of an item, and `marks`
/// recognises a line of the head that makes it a test.
fn claims(text: &str, comments: &[&str], body: fn(&str) -> bool, marks: fn(&str) -> bool) -> Vec<Claim> {
    let (mut found, mut claim) = (Vec::new(), Claim::default());
    for line in text.lines().map(str::trim) {
        if comments.iter().any(|comment| line.starts_with(comment)) && !marks(line) {
            claim.ids.extend(ids(line));
            continue;
        }
        claim.runs |= marks(line);
        if line.is_empty() || line.starts_with("//!") {
            claim = Claim::default();
        } else if body(line) {
            let claim = std::mem::take(&mut claim);
            if !claim.ids.is_empty() {
                found.push(Claim { name: name(line), ..claim });
            }
        }
    }
    found
}

/// The numbers in a comment, each once.
fn ids(line: &str) -> Vec<String> {
    let words =
        line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).filter(|word| split(word).is_some());
    words.map(str::to_owned).collect()
}

/// What the line defines: the word after `fn` or `def`, or the line.
fn name(line: &str) -> String {
    let after = ["fn ", "def "].iter().find_map(|word| line.split_once(word)).map_or(line, |(_, rest)| rest);
    after.split(['(', '<']).next().unwrap_or(after).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<(String, Vec<String>, bool)> {
        let source = Source { path: path.to_owned(), text: text.to_owned() };
        tests(&source).into_iter().map(|claim| (claim.name, claim.ids, claim.runs)).collect()
    }

    #[test]
    fn a_rust_test_claims_what_its_doc_comment_names() {
        let text = "//! PACT-99 is prose.\n\n/// Lists. PACT-16, COV-MCP-05.\n#[tokio::test]\nasync fn tools_are_listed() {\n}\n\n\
                    /// VIBE-01.\nfn no_test() {}\n\n/// Nothing.\n#[test]\nfn plain() {}\n";
        assert_eq!(
            found("a.rs", text),
            [
                ("tools_are_listed".to_owned(), vec!["PACT-16".to_owned(), "COV-MCP-05".to_owned()], true),
                ("no_test".to_owned(), vec!["VIBE-01".to_owned()], false),
            ]
        );
    }

    #[test]
    fn tests_in_other_languages_claim_in_comments_before_them() {
        let python = "# PACT-01\ndef test_it():\n    pass\n";
        assert_eq!(found("a.py", python), [("test_it".to_owned(), vec!["PACT-01".to_owned()], true)]);
        let node = "// PACT-02\ntest('it', () => {});\n";
        assert_eq!(found("a.mjs", node), [("test".to_owned(), vec!["PACT-02".to_owned()], true)]);
    }
}
