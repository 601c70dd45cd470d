//! Where in a file something stands, as editors count: lines and columns from one.

use std::path::Path;

/// The line and column of that byte of the text.
pub(crate) fn of(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    (line, before.get(line_start..).unwrap_or_default().chars().count() + 1)
}

/// The file, and where in it the value of that dotted key stands.
pub(super) fn origin(path: &Path, text: &str, document: &toml_edit::Document<&str>, key: &str) -> String {
    let item = key.split('.').try_fold(document.as_item(), |item, part| item.get(part));
    match item.and_then(toml_edit::Item::span) {
        Some(span) => {
            let (line, column) = of(text, span.start);
            format!("{}, line {line}, column {column}", path.display())
        }
        None => path.display().to_string(),
    }
}

/// The dotted key in whose value that byte stands. A list of tables reaches from its first to its last, over whatever
/// stands between them, so the shortest counts.
pub(super) fn key(root: &toml_edit::Table, offset: usize) -> Option<String> {
    let sections = root.iter().filter_map(|(section, item)| Some((section, item.as_table_like()?)));
    let keys =
        sections.flat_map(|(section, table)| table.iter().map(move |(key, item)| (section, key, item)));
    let holding = keys.filter_map(|(section, key, item)| {
        let span = item.span().filter(|span| span.contains(&offset))?;
        Some((span.len(), format!("{section}.{key}")))
    });
    holding.min_by_key(|(length, _)| *length).map(|(_, key)| key)
}

#[cfg(test)]
mod tests {
    use super::{key, of};

    #[test]
    fn a_value_is_found_under_its_key() {
        let text = "[http]\nlisten = \"x\"\nbehind_proxy = \"yes\"\n[rate_limit]\ntools = { echo = \"x\" }\n";
        let document = toml_edit::Document::parse(text).unwrap();
        let at = |part: &str| key(document.as_table(), text.find(part).unwrap());
        assert_eq!(at("\"yes\"").as_deref(), Some("http.behind_proxy"));
        assert_eq!(at("echo").as_deref(), Some("rate_limit.tools"));
        assert_eq!(at("[rate_limit]"), None);
    }

    #[test]
    fn what_stands_between_two_tables_of_a_list_is_none_of_it() {
        let text =
            "[[mcp.servers]]\nname = \"a\"\n[limits]\noutput_bytes = \"x\"\n[[mcp.servers]]\nname = \"b\"\n";
        let document = toml_edit::Document::parse(text).unwrap();
        let at = |part: &str| key(document.as_table(), text.find(part).unwrap());
        assert_eq!(at("\"x\"").as_deref(), Some("limits.output_bytes"));
    }

    #[test]
    fn places_are_counted_in_characters_from_one() {
        let text = "a\nbä = 1\n";
        assert_eq!(of(text, 0), (1, 1));
        assert_eq!(of(text, 2), (2, 1));
        assert_eq!(of(text, text.find('=').unwrap()), (2, 4));
        assert_eq!(of(text, text.len()), (3, 1));
        assert_eq!(of(text, 4), (3, 1), "inside a character: the end of the text");
        assert_eq!(of(text, 1000), (3, 1));
    }
}
