//! A page as a tree: what the markup means, by the rules of browsers. Nodes lie in one list, so that no page is too deep to
//! be walked or thrown away, and there are not more of them than we say.

mod sink;

use std::cell::Cell;
use std::rc::Rc;

use html5ever::tendril::{StrTendril, TendrilSink as _};
use html5ever::tree_builder::{QuirksMode, TreeBuilderOpts};
use html5ever::{LocalName, ParseOpts, QualName, ns, parse_document};

use self::sink::Sink;

/// The most nodes of a page.
const NODES: usize = 150_000;

/// How deep a page may be: what it costs to read one more tag grows with it.
const DEPTH: u16 = 400;

/// The most tags and entities of a page: each is a step of the parser, also where no node comes of it.
const TOKENS: usize = 400_000;

/// How many bytes are read before all that is looked at again.
const PIECE: usize = 1024;

/// Which node.
pub(super) type Id = usize;

/// The node that holds all others.
pub(super) const ROOT: Id = 0;

/// A page.
pub(super) struct Tree {
    nodes: Vec<Node>,
    /// Whether it was too large or too deep to be read to its end.
    pub(super) stopped: bool,
}

struct Node {
    parent: Option<Id>,
    previous: Option<Id>,
    next: Option<Id>,
    first: Option<Id>,
    last: Option<Id>,
    depth: u16,
    kind: Kind,
}

enum Kind {
    Nothing,
    Text(String),
    Element(QualName, Vec<(LocalName, String)>),
}

/// Reads one, for as long as anyone waits for it.
pub(super) fn parse(markup: &str, going: &dyn Fn() -> bool) -> Tree {
    let full = Rc::new(Cell::new(false));
    let options = ParseOpts {
        tree_builder: TreeBuilderOpts {
            scripting_enabled: false,
            drop_doctype: true,
            quirks_mode: QuirksMode::NoQuirks,
            ..TreeBuilderOpts::default()
        },
        ..ParseOpts::default()
    };
    let mut parser = parse_document(Sink::new(Rc::clone(&full)), options);
    let mut rest = markup;
    let mut tokens = 0;
    while !rest.is_empty() && !full.get() && tokens < TOKENS && going() {
        let Some((piece, after)) = rest.split_at_checked(rest.floor_char_boundary(PIECE)) else { break };
        tokens += piece.bytes().filter(|byte| matches!(byte, b'<' | b'&')).count();
        parser.process(StrTendril::from(piece));
        rest = after;
    }
    let nodes = parser.finish();
    Tree { nodes, stopped: !rest.is_empty() }
}

impl Tree {
    fn node(&self, id: Id) -> Option<&Node> {
        self.nodes.get(id)
    }

    /// How many nodes there are.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn parent(&self, id: Id) -> Option<Id> {
        self.node(id)?.parent
    }

    /// The name of an element of HTML (or of formulas); of anything else an empty one.
    pub(super) fn name(&self, id: Id) -> &str {
        match self.node(id).map(|node| &node.kind) {
            Some(Kind::Element(name, _)) if name.ns == ns!(html) => &name.local,
            Some(Kind::Element(name, _)) if &*name.local == "svg" => "svg",
            Some(Kind::Element(name, _)) if &*name.local == "math" => "math",
            _ => "",
        }
    }

    pub(super) fn attribute(&self, id: Id, name: &str) -> Option<&str> {
        let Some(Kind::Element(_, attributes)) = self.node(id).map(|node| &node.kind) else { return None };
        attributes.iter().find(|(known, _)| &**known == name).map(|(_, value)| value.as_str())
    }

    /// The text of a node that is text.
    pub(super) fn text(&self, id: Id) -> Option<&str> {
        match self.node(id).map(|node| &node.kind) {
            Some(Kind::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// Puts another text in place of that one.
    pub(super) fn set_text(&mut self, id: Id, text: String) {
        if let Some(node) = self.nodes.get_mut(id) {
            node.kind = Kind::Text(text);
        }
    }

    /// Puts other values in place of attributes, where there are any.
    pub(super) fn change_attributes(&mut self, change: impl Fn(&str) -> Option<String>) {
        let attributes = self.nodes.iter_mut().filter_map(|node| match &mut node.kind {
            Kind::Element(_, attributes) => Some(attributes),
            _ => None,
        });
        for (_, value) in attributes.flatten() {
            if let Some(changed) = change(value) {
                *value = changed;
            }
        }
    }

    /// The elements of that name, in their order.
    pub(super) fn named<'t>(&'t self, name: &'static str) -> impl Iterator<Item = Id> + 't {
        let enters = self.walk(ROOT).filter_map(|step| match step {
            Step::Enter(id) => Some(id),
            Step::Leave(_) => None,
        });
        enters.filter(move |id| self.name(*id) == name)
    }

    /// Everything from there down, in order.
    pub(super) fn walk(&self, root: Id) -> Walk<'_> {
        Walk { tree: self, root, next: Some(Step::Enter(root)) }
    }
}

/// A step of a walk: each node is entered once, and left once when all within it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Enter(Id),
    Leave(Id),
}

/// A walk through a tree.
pub(super) struct Walk<'t> {
    tree: &'t Tree,
    root: Id,
    next: Option<Step>,
}

impl Walk<'_> {
    /// Passes over what is within the node that was just entered.
    pub(super) fn pass_over(&mut self, id: Id) {
        self.next = Some(Step::Leave(id));
    }

    fn following(&self, step: Step) -> Option<Step> {
        match step {
            Step::Enter(id) => Some(self.tree.node(id)?.first.map_or(Step::Leave(id), Step::Enter)),
            Step::Leave(id) if id == self.root => None,
            Step::Leave(id) => {
                let node = self.tree.node(id)?;
                node.next.map(Step::Enter).or_else(|| node.parent.map(Step::Leave))
            }
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        let step = self.next?;
        self.next = self.following(step);
        Some(step)
    }
}
