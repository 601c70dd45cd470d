//! What a server sent, as text that can be read: HTML becomes Markdown, text stays text, anything else is refused.
//!
//! HTML passes five files: `sieve` leaves markup that cannot cost much, `tree` is what it means, `veiled` takes secrets out
//! of that, `content` says which part of it people came for, and `markdown` writes that down. Each is bounded, whoever
//! wrote the page.

mod charset;
mod content;
mod kind;
mod markdown;
mod sieve;
#[cfg(test)]
mod tests;
mod tree;
mod veiled;

use covenant_gate::Veil;
use url::Url;

pub use self::kind::{Kind, NotText};

/// The most bytes of a page that are looked at.
pub const MOST_BYTES: usize = 4 << 20;

/// How much is left out at the end of a page that was cut: longer than any form of a secret that is looked for.
const MARGIN: usize = 4096;

/// A page as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// What it is called, where it says.
    pub title: Option<String>,
    /// What it says.
    pub text: String,
    /// What a reader should know of how it was read: a sentence.
    pub remark: Option<String>,
    /// Whether there was more.
    pub cut: bool,
}

/// How a page is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// HTML as Markdown.
    Readable,
    /// As it was sent.
    Source,
}

/// How a page is to be read.
pub struct Reading<'a> {
    /// Where it is from.
    pub base: &'a Url,
    /// How it is shown.
    pub shown: Shown,
    /// How many bytes of text are enough. It stops some way after them; whoever shows it cuts.
    pub most: usize,
    /// What must not be shown of it.
    pub veil: &'a Veil,
    /// Whether anyone still waits for it.
    pub going: &'a dyn Fn() -> bool,
}

/// Reads what was sent as that kind.
pub fn read(bytes: &[u8], kind: &Kind, reading: &Reading<'_>) -> Page {
    let within = bytes.get(..MOST_BYTES).unwrap_or(bytes);
    let (text, remark) = charset::decode(within, kind);
    let cut = within.len() == MOST_BYTES;
    let mut text = reading.veil.without_secrets(&text).into_owned();
    if cut {
        // A secret may begin there of which the rest did not come.
        text.truncate(text.floor_char_boundary(text.len().saturating_sub(MARGIN)));
    }
    if reading.shown == Shown::Source || !kind.is_html() {
        return Page { title: None, text, remark, cut };
    }
    let mut tree = tree::parse(&sieve::sieve(&text), reading.going);
    veiled::hide(&mut tree, reading.veil);
    let content = content::find(&tree);
    let (text, stopped) = markdown::write(&tree, &content, &base_of(&tree, reading.base), reading.most);
    let remark = remark.or_else(|| text.is_empty().then(|| EMPTY.to_owned()));
    Page { title: content::title(&tree), text, remark, cut: cut || stopped || tree.stopped }
}

/// What is said of a page without text.
const EMPTY: &str = "The page has no text of its own: perhaps it is made by scripts, which are not run here.";

/// Where relative addresses of a page begin.
fn base_of(tree: &tree::Tree, base: &Url) -> Url {
    let written = tree.named("base").find_map(|node| tree.attribute(node, "href"));
    let joined = written.and_then(|href| base.join(href).ok());
    joined.filter(|url| matches!(url.scheme(), "http" | "https")).unwrap_or_else(|| base.clone())
}
