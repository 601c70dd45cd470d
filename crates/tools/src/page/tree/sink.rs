//! Where the parser puts what it finds.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

use html5ever::interface::{ElemName, NodeOrText};
use html5ever::tendril::StrTendril;
use html5ever::tree_builder::{ElementFlags, QuirksMode, TreeSink};
use html5ever::{Attribute, LocalName, Namespace, QualName, local_name, ns};

use super::{DEPTH, Id, Kind, NODES, Node, ROOT};

/// A tree that grows.
pub(super) struct Sink {
    nodes: RefCell<Vec<Node>>,
    /// Whether nothing more should be read.
    full: Rc<Cell<bool>>,
}

/// The name of an element, for as long as the parser looks at it.
#[derive(Debug)]
pub(super) struct Name(QualName);

impl ElemName for Name {
    fn ns(&self) -> &Namespace {
        &self.0.ns
    }

    fn local_name(&self) -> &LocalName {
        &self.0.local
    }
}

impl Sink {
    pub(super) fn new(full: Rc<Cell<bool>>) -> Self {
        let sink = Self { nodes: RefCell::default(), full };
        sink.add(Kind::Nothing);
        sink
    }

    fn add(&self, kind: Kind) -> Id {
        let mut nodes = self.nodes.borrow_mut();
        nodes.push(Node {
            parent: None,
            previous: None,
            next: None,
            first: None,
            last: None,
            depth: 0,
            kind,
        });
        if nodes.len() >= NODES {
            self.full.set(true);
        }
        nodes.len() - 1
    }

    fn look<T>(&self, id: Id, look: impl FnOnce(&Node) -> T) -> Option<T> {
        self.nodes.borrow().get(id).map(look)
    }

    fn change(&self, id: Option<Id>, change: impl FnOnce(&mut Node)) {
        let mut nodes = self.nodes.borrow_mut();
        if let Some(node) = id.and_then(|id| nodes.get_mut(id)) {
            change(node);
        }
    }

    /// Puts a node into that parent: before that sibling, or at the end.
    fn put(&self, parent: Id, before: Option<Id>, child: NodeOrText<Id>) {
        let previous = match before {
            Some(sibling) => self.look(sibling, |node| node.previous),
            None => self.look(parent, |node| node.last),
        };
        let previous = previous.flatten();
        let id = match child {
            NodeOrText::AppendNode(id) => id,
            NodeOrText::AppendText(text) => {
                if previous.is_some_and(|previous| self.joined(previous, &text)) {
                    return;
                }
                self.add(Kind::Text(text.to_string()))
            }
        };
        let depth = self.look(parent, |node| node.depth).unwrap_or_default().saturating_add(1);
        if depth > DEPTH {
            self.full.set(true);
        }
        self.change(Some(id), |node| {
            (node.parent, node.previous, node.next, node.depth) = (Some(parent), previous, before, depth);
        });
        match previous {
            Some(_) => self.change(previous, |node| node.next = Some(id)),
            None => self.change(Some(parent), |node| node.first = Some(id)),
        }
        match before {
            Some(_) => self.change(before, |node| node.previous = Some(id)),
            None => self.change(Some(parent), |node| node.last = Some(id)),
        }
    }

    /// Adds to a text, if it is one.
    fn joined(&self, id: Id, more: &str) -> bool {
        match self.nodes.borrow_mut().get_mut(id).map(|node| &mut node.kind) {
            Some(Kind::Text(text)) => {
                text.push_str(more);
                true
            }
            _ => false,
        }
    }

    fn detach(&self, id: Id) {
        let Some((parent, previous, next)) = self.look(id, |node| (node.parent, node.previous, node.next))
        else {
            return;
        };
        match previous {
            Some(_) => self.change(previous, |node| node.next = next),
            None => self.change(parent, |node| node.first = next),
        }
        match next {
            Some(_) => self.change(next, |node| node.previous = previous),
            None => self.change(parent, |node| node.last = previous),
        }
        self.change(Some(id), |node| (node.parent, node.previous, node.next) = (None, None, None));
    }
}

fn texts(attributes: Vec<Attribute>) -> Vec<(LocalName, String)> {
    attributes.into_iter().map(|attribute| (attribute.name.local, attribute.value.to_string())).collect()
}

impl TreeSink for Sink {
    type Handle = Id;
    type Output = Vec<Node>;
    type ElemName<'a> = Name;

    fn finish(self) -> Vec<Node> {
        self.nodes.into_inner()
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn get_document(&self) -> Id {
        ROOT
    }

    fn elem_name<'a>(&'a self, target: &'a Id) -> Name {
        let name = self.look(*target, |node| match &node.kind {
            Kind::Element(name, _) => Some(name.clone()),
            _ => None,
        });
        // It asks for the names of elements alone.
        Name(name.flatten().unwrap_or_else(|| QualName::new(None, ns!(), local_name!(""))))
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, _: ElementFlags) -> Id {
        self.add(Kind::Element(name, texts(attributes)))
    }

    fn create_comment(&self, _: StrTendril) -> Id {
        self.add(Kind::Nothing)
    }

    fn create_pi(&self, _: StrTendril, _: StrTendril) -> Id {
        self.add(Kind::Nothing)
    }

    fn append(&self, parent: &Id, child: NodeOrText<Id>) {
        self.put(*parent, None, child);
    }

    fn append_based_on_parent_node(&self, element: &Id, previous: &Id, child: NodeOrText<Id>) {
        if self.look(*element, |node| node.parent).flatten().is_some() {
            self.append_before_sibling(element, child);
        } else {
            self.append(previous, child);
        }
    }

    fn append_doctype_to_document(&self, _: StrTendril, _: StrTendril, _: StrTendril) {}

    /// What is within a template lies within it, and is left out with it.
    fn get_template_contents(&self, target: &Id) -> Id {
        *target
    }

    fn same_node(&self, one: &Id, other: &Id) -> bool {
        one == other
    }

    fn set_quirks_mode(&self, _: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &Id, child: NodeOrText<Id>) {
        if let NodeOrText::AppendNode(id) = child {
            self.detach(id);
        }
        if let Some(parent) = self.look(*sibling, |node| node.parent).flatten() {
            self.put(parent, Some(*sibling), child);
        }
    }

    fn add_attrs_if_missing(&self, target: &Id, attributes: Vec<Attribute>) {
        self.change(Some(*target), |node| {
            if let Kind::Element(_, there) = &mut node.kind {
                for (name, value) in texts(attributes) {
                    if !there.iter().any(|(known, _)| *known == name) {
                        there.push((name, value));
                    }
                }
            }
        });
    }

    fn remove_from_parent(&self, target: &Id) {
        self.detach(*target);
    }

    fn reparent_children(&self, node: &Id, new_parent: &Id) {
        while let Some(child) = self.look(*node, |node| node.first).flatten() {
            self.detach(child);
            self.put(*new_parent, None, NodeOrText::AppendNode(child));
        }
    }
}
