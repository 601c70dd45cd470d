//! Which part of a page people came for, and what of it is furniture.
//!
//! A page that marks its content (`main`, `article`) is believed. In any other the way leads from the body inward for as
//! long as one element holds nearly all the text that is not a link.

mod furniture;

use std::collections::HashMap;

pub(super) use self::furniture::is_section;
use self::furniture::{has_word, is_skipped};
use super::tree::{Id, ROOT, Step, Tree};

/// The longest title.
const TITLE: usize = 300;

/// What is known of the text within an element.
#[derive(Debug, Clone, Copy, Default)]
struct Measure {
    /// Letters, links included.
    text: usize,
    /// Letters of links.
    linked: usize,
}

/// What a table looks like.
#[derive(Debug, Clone, Copy, Default)]
struct Shape {
    rows: usize,
    cells: usize,
    /// The most cells of a row, and those of the current one.
    columns: usize,
    current: usize,
    /// Whether it holds what no cell of a table can.
    rich: bool,
}

/// The part of a page that is read.
pub(super) struct Content {
    /// Where it begins.
    pub(super) root: Id,
    /// Whether that is an element that says so itself.
    pub(super) marked: bool,
    measures: Vec<Measure>,
    tables: HashMap<Id, Shape>,
}

/// Finds it.
pub(super) fn find(tree: &Tree) -> Content {
    let mut content = Content {
        root: tree.named("body").next().unwrap_or(ROOT),
        marked: false,
        measures: vec![Measure::default(); tree.len()],
        tables: HashMap::new(),
    };
    content.measure(tree);
    let marked = content.marked_part(tree);
    content.marked = marked.is_some();
    content.root = marked.unwrap_or_else(|| content.densest(tree));
    content
}

/// What a page is called.
pub(super) fn title(tree: &Tree) -> Option<String> {
    let inside = |id| {
        let texts = tree.walk(id).filter_map(|step| match step {
            Step::Enter(id) => tree.text(id),
            Step::Leave(_) => None,
        });
        texts.flat_map(str::split_whitespace).fold(String::new(), |mut title, word| {
            if title.len() < TITLE {
                title.push_str(if title.is_empty() { "" } else { " " });
                title.push_str(word);
            }
            title
        })
    };
    let named = |id: &Id| tree.attribute(*id, "property") == Some("og:title");
    let shared =
        || tree.named("meta").find(named).and_then(|id| tree.attribute(id, "content")).map(str::to_owned);
    let written = |name| tree.named(name).map(inside).find(|title| !title.is_empty());
    let title = written("title").or_else(shared).or_else(|| written("h1"))?;
    Some(title.chars().filter(|letter| !letter.is_control()).take(TITLE).collect())
}

impl Content {
    /// Whether an element is furniture, or seen by nobody.
    pub(super) fn leaves_out(&self, tree: &Tree, id: Id, sectioned: bool) -> bool {
        if is_skipped(tree, id, sectioned) {
            return true;
        }
        let (own, all) = (self.of(id), self.of(self.root));
        let small = |of: usize| own.text.saturating_mul(of) < all.text;
        match tree.name(id) {
            // Some pages are one form from beginning to end.
            "form" => small(2),
            "div" | "section" | "ul" | "ol" | "p" => {
                small(4) && own.linked.saturating_mul(2) > own.text && has_word(tree, id)
            }
            _ => false,
        }
    }

    /// Whether a table holds rows of a table, and not the parts of a page.
    pub(super) fn is_table(&self, tree: &Tree, id: Id) -> bool {
        let shape = self.tables.get(&id).copied().unwrap_or_default();
        let role = tree.attribute(id, "role").unwrap_or_default();
        let wordy = self.of(id).text > shape.cells.saturating_mul(400);
        shape.rows > 1
            && (2..=64).contains(&shape.columns)
            && !shape.rich
            && !wordy
            && !matches!(role, "presentation" | "none")
    }

    fn of(&self, id: Id) -> Measure {
        self.measures.get(id).copied().unwrap_or_default()
    }

    /// Counts the letters of every element that is not left out.
    fn measure(&mut self, tree: &Tree) {
        let mut walk = tree.walk(self.root);
        let (mut links, mut sections) = (0_usize, 0_usize);
        let mut tables: Vec<Id> = Vec::new();
        while let Some(step) = walk.next() {
            match step {
                Step::Enter(id) => {
                    let name = tree.name(id);
                    links += usize::from(name == "a");
                    sections += usize::from(is_section(tree, id));
                    if let Some(text) = tree.text(id) {
                        let letters = text.chars().filter(|letter| !letter.is_whitespace()).count();
                        let linked = if links > 0 { letters } else { 0 };
                        self.add(Some(id), Measure { text: letters, linked });
                    } else if id != self.root && is_skipped(tree, id, sections > 0) {
                        walk.pass_over(id);
                    } else {
                        self.shape(&mut tables, id, name);
                    }
                }
                Step::Leave(id) => {
                    links -= usize::from(tree.name(id) == "a");
                    sections -= usize::from(is_section(tree, id));
                    tables.pop_if(|table| *table == id);
                    if id != self.root {
                        self.add(tree.parent(id), self.of(id));
                    }
                }
            }
        }
    }

    fn add(&mut self, id: Option<Id>, more: Measure) {
        if let Some(measure) = id.and_then(|id| self.measures.get_mut(id)) {
            measure.text += more.text;
            measure.linked += more.linked;
        }
    }

    /// Notes what an element means to the table it stands in.
    fn shape(&mut self, open: &mut Vec<Id>, id: Id, name: &str) {
        if let Some(shape) = open.last().and_then(|table| self.tables.get_mut(table)) {
            match name {
                "tr" => (shape.rows, shape.current) = (shape.rows + 1, 0),
                "td" | "th" => {
                    (shape.cells, shape.current) = (shape.cells + 1, shape.current + 1);
                    shape.columns = shape.columns.max(shape.current);
                }
                "table" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "pre" | "hr" | "article" | "section"
                | "main" => {
                    shape.rich = true;
                }
                _ => {}
            }
        }
        if name == "table" {
            self.tables.insert(id, Shape::default());
            open.push(id);
        }
    }

    /// The part that the page itself calls its content.
    fn marked_part(&self, tree: &Tree) -> Option<Id> {
        let all = self.of(self.root).text;
        let largest = |found: &mut dyn Iterator<Item = Id>| found.max_by_key(|id| self.of(*id).text);
        let role = |id: &Id| tree.attribute(*id, "role") == Some("main");
        let mut roles = ["div", "section", "td"].into_iter().flat_map(|name| tree.named(name)).filter(role);
        let main = largest(&mut tree.named("main").chain(&mut roles));
        // What is marked but nearly empty is filled by scripts.
        if let Some(main) = main.filter(|id| self.of(*id).text.saturating_mul(5) > all) {
            return Some(main);
        }
        let article = largest(&mut tree.named("article"))?;
        (self.of(article).text.saturating_mul(2) > all).then_some(article)
    }

    /// The innermost element that holds nearly all the text.
    fn densest(&self, tree: &Tree) -> Id {
        let weight = |id: Id| self.of(id).text - self.of(id).linked;
        let all = weight(self.root);
        let mut best = self.root;
        // Its heading belongs to a text, even where it stands beside it.
        let heading = tree.named("h1").find(|id| self.of(*id).text > 0);
        let around: Vec<Id> = std::iter::successors(heading, |id| tree.parent(*id)).collect();
        let mut walk = tree.walk(self.root);
        while let Some(step) = walk.next() {
            let Step::Enter(id) = step else { continue };
            let holds = weight(id).saturating_mul(10) > all.saturating_mul(8) && all > 0;
            let block = matches!(tree.name(id), "div" | "section" | "article" | "td" | "center" | "form");
            let headed = around.is_empty() || around.contains(&id);
            if holds && block && headed {
                best = id;
            } else if !holds {
                walk.pass_over(id);
            }
        }
        best
    }
}
