//! What elements mean to a line: which end it, and how others mark a part of it.

use super::inline::Mark;
use crate::page::tree::{Id, Step, Tree};

/// Elements that stand in lines of their own.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "body",
    "caption",
    "center",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hgroup",
    "html",
    "legend",
    "li",
    "main",
    "ol",
    "optgroup",
    "p",
    "pre",
    "search",
    "section",
    "summary",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "ul",
];

/// Whether an element stands in lines of its own.
pub(in crate::page) fn is_block(name: &str) -> bool {
    BLOCKS.contains(&name)
}

/// How an element marks what is in it.
pub(super) fn mark(tree: &Tree, id: Id) -> Mark {
    match tree.name(id) {
        "strong" | "b" | "dt" => Mark::Around("**", "**"),
        "em" | "i" | "cite" | "dfn" | "var" => Mark::Around("*", "*"),
        "del" | "s" | "strike" => Mark::Around("~~", "~~"),
        "sup" => Mark::Around("<sup>", "</sup>"),
        "sub" => Mark::Around("<sub>", "</sub>"),
        "q" => Mark::Around("\"", "\""),
        "code" | "kbd" | "samp" | "tt" => Mark::Code,
        "a" => tree.attribute(id, "href").map_or(Mark::None, |href| Mark::Link(href.to_owned())),
        _ => Mark::None,
    }
}

/// The language that a block of code says it is in.
pub(super) fn language(tree: &Tree, pre: Id) -> String {
    let parent = tree.parent(pre);
    let around = [Some(pre), parent, parent.and_then(|parent| tree.parent(parent))];
    let inside = tree.walk(pre).take(6).filter_map(|step| match step {
        Step::Enter(id) if tree.name(id) == "code" => Some(id),
        _ => None,
    });
    let found = inside.chain(around.into_iter().flatten()).find_map(|id| {
        let named = ["data-lang", "data-language"].into_iter().find_map(|name| tree.attribute(id, name));
        named.or_else(|| {
            let classes = tree.attribute(id, "class").unwrap_or_default().split_whitespace();
            let prefixes = ["language-", "lang-", "highlight-source-", "brush:"];
            classes
                .into_iter()
                .find_map(|class| prefixes.iter().find_map(|prefix| class.strip_prefix(prefix)))
        })
    });
    let sound =
        |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '+' | '#' | '-' | '_' | '.');
    found.unwrap_or_default().chars().filter(sound).take(30).collect()
}
