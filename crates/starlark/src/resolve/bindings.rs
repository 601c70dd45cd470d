//! Which names a block binds: those it assigns, loops over or defines, but not those of functions within.

use crate::syntax::{Clause, Statement, StatementKind, Target, TargetKind};
use std::collections::HashSet;
use std::sync::Arc;

/// The names that statements bind, in order, each once.
pub(super) fn of(body: &[Statement]) -> Vec<Arc<str>> {
    let mut bound = Bound::default();
    bound.block(body);
    bound.names
}

/// The names that the clauses of a comprehension bind.
pub(super) fn of_clauses(clauses: &[Clause]) -> Vec<Arc<str>> {
    let mut bound = Bound::default();
    for clause in clauses {
        if let Clause::For(target, _) = clause {
            bound.target(target);
        }
    }
    bound.names
}

#[derive(Default)]
struct Bound {
    names: Vec<Arc<str>>,
    seen: HashSet<Arc<str>>,
}

impl Bound {
    fn name(&mut self, name: &Arc<str>) {
        if self.seen.insert(Arc::clone(name)) {
            self.names.push(Arc::clone(name));
        }
    }

    fn target(&mut self, target: &Target) {
        match &target.kind {
            TargetKind::Name(name) => self.name(&name.text),
            TargetKind::Index(..) => {}
            TargetKind::Several(several) => several.iter().for_each(|target| self.target(target)),
        }
    }

    fn block(&mut self, body: &[Statement]) {
        for statement in body {
            match &statement.kind {
                StatementKind::Assign(target, _) | StatementKind::Augment(target, ..) => self.target(target),
                StatementKind::If { branches, otherwise } => {
                    for (_, body) in branches {
                        self.block(body);
                    }
                    self.block(otherwise);
                }
                StatementKind::For { target, body, .. } => {
                    self.target(target);
                    self.block(body);
                }
                StatementKind::Def(name, _) => self.name(&name.text),
                _ => {}
            }
        }
    }
}
