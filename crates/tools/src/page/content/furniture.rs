//! What of a page is furniture: menus, forms, hidden things.

use crate::page::tree::{Id, Tree};

/// Elements that hold nothing to read.
const SKIPPED: &[&str] = &[
    "aside", "audio", "base", "button", "canvas", "datalist", "dialog", "embed", "head", "input", "link",
    "map", "menu", "meta", "nav", "noscript", "object", "option", "script", "select", "style", "svg",
    "template", "textarea", "title", "video",
];

/// Roles of elements that are furniture.
const ROLES: &[&str] =
    &["alert", "banner", "complementary", "contentinfo", "dialog", "menu", "navigation", "search", "tooltip"];

/// Words in a class or an id that furniture has.
const WORDS: &[&str] = &[
    "ad",
    "ads",
    "advert",
    "advertisement",
    "breadcrumb",
    "breadcrumbs",
    "comments",
    "cookie",
    "cookies",
    "menu",
    "modal",
    "nav",
    "navbar",
    "navigation",
    "newsletter",
    "pager",
    "pagination",
    "popup",
    "promo",
    "related",
    "share",
    "sharing",
    "sidebar",
    "skip",
    "social",
    "sponsor",
    "toolbar",
];

/// Whether an element is one that says what it is about.
pub(in crate::page) fn is_section(tree: &Tree, id: Id) -> bool {
    matches!(tree.name(id), "article" | "main")
}

/// Whether an element is furniture by what it is, or seen by nobody.
pub(super) fn is_skipped(tree: &Tree, id: Id, sectioned: bool) -> bool {
    let name = tree.name(id);
    if name.is_empty() {
        return false;
    }
    if SKIPPED.contains(&name) || (matches!(name, "header" | "footer") && !sectioned) {
        return true;
    }
    let role = tree.attribute(id, "role").is_some_and(|role| ROLES.contains(&role));
    let hidden = tree.attribute(id, "hidden").is_some() || tree.attribute(id, "aria-hidden") == Some("true");
    role || hidden || tree.attribute(id, "style").is_some_and(is_invisible)
}

fn is_invisible(style: &str) -> bool {
    let style: String = style.chars().filter(|letter| !letter.is_whitespace()).collect();
    let style = style.to_ascii_lowercase();
    style.contains("display:none") || style.contains("visibility:hidden")
}

/// Whether an element is called what furniture is called.
pub(super) fn has_word(tree: &Tree, id: Id) -> bool {
    let names = [tree.attribute(id, "class"), tree.attribute(id, "id")];
    let words = names
        .into_iter()
        .flatten()
        .flat_map(|name| name.split(|letter: char| !letter.is_ascii_alphanumeric()));
    words.into_iter().any(|word| WORDS.iter().any(|known| known.eq_ignore_ascii_case(word)))
}
