//! Which variable each name means: of its function, of one around it, of the module, or from outside.

use crate::fault::{Fault, Outcome};
use crate::parser::Parsed;
use crate::syntax::{
    Argument, Body, Capture, Clause, Comprehension, Expr, Function, Kind, Literal, Name, Place, Scope, Span,
    Statement, StatementKind, StepKind, Target, TargetKind,
};
use std::collections::HashMap;
use std::sync::Arc;

mod bindings;

/// A program whose names are all resolved.
#[derive(Debug)]
pub(crate) struct Code {
    pub(crate) body: Vec<Statement>,
    pub(crate) literals: Vec<Literal>,
    pub(crate) functions: usize,
    /// The names of the module's variables, by number.
    pub(crate) globals: Vec<Arc<str>>,
    /// Names that the program uses and does not define, with the place of their first use.
    pub(crate) outside: Vec<(Arc<str>, Span)>,
    /// The frame of the module itself: the variables of its comprehensions.
    pub(crate) scope: Scope,
}

/// Resolves every name.
pub(crate) fn resolve(parsed: Parsed) -> Outcome<Code> {
    let mut resolver = Resolver {
        globals: HashMap::new(),
        global_names: Vec::new(),
        outside: HashMap::new(),
        outside_names: Vec::new(),
        levels: vec![Level::default()],
    };
    let mut body = parsed.body;
    for name in bindings::of(&body) {
        let number = resolver.global_names.len();
        if resolver.globals.insert(Arc::clone(&name), number).is_none() {
            resolver.global_names.push(name);
        }
    }
    resolver.block(&mut body)?;
    let scope = resolver.levels.pop().map(|level| level.scope).unwrap_or_default();
    Ok(Code {
        body,
        literals: parsed.literals,
        functions: parsed.functions,
        globals: resolver.global_names,
        outside: resolver.outside_names,
        scope,
    })
}

/// One function, or the module, while its names are resolved.
#[derive(Default)]
struct Level {
    scope: Scope,
    /// Names to slots; the last are those of the innermost comprehension.
    blocks: Vec<HashMap<Arc<str>, usize>>,
}

struct Resolver {
    globals: HashMap<Arc<str>, usize>,
    global_names: Vec<Arc<str>>,
    outside: HashMap<Arc<str>, usize>,
    outside_names: Vec<(Arc<str>, Span)>,
    levels: Vec<Level>,
}

impl Resolver {
    fn place(&mut self, name: &Arc<str>, span: Span) -> Place {
        let top = self.levels.len() - 1;
        if let Some(place) = self.find(top, name) {
            return place;
        }
        if let Some(number) = self.globals.get(name) {
            return Place::Global(*number);
        }
        if let Some(number) = self.outside.get(name) {
            return Place::Outside(*number);
        }
        let number = self.outside_names.len();
        self.outside.insert(Arc::clone(name), number);
        self.outside_names.push((Arc::clone(name), span));
        Place::Outside(number)
    }

    /// Looks in a function and those around it, noting what is shared on the way back in.
    fn find(&mut self, level: usize, name: &Arc<str>) -> Option<Place> {
        let here = self.levels.get(level)?;
        if let Some(slot) = here.blocks.iter().rev().find_map(|block| block.get(name)) {
            return Some(Place::Local(*slot));
        }
        if let Some(known) = here.scope.captures.iter().position(|capture| capture.name() == name) {
            return Some(Place::Free(known));
        }
        let capture = match self.find(level.checked_sub(1)?, name)? {
            Place::Local(slot) => {
                let around = self.levels.get_mut(level - 1)?;
                if !around.scope.shared.contains(&slot) {
                    around.scope.shared.push(slot);
                }
                Capture::Local(slot, Arc::clone(name))
            }
            Place::Free(number) => Capture::Free(number, Arc::clone(name)),
            Place::Global(_) | Place::Outside(_) => return None,
        };
        let here = self.levels.get_mut(level)?;
        here.scope.captures.push(capture);
        Some(Place::Free(here.scope.captures.len() - 1))
    }

    /// Opens a block of new variables in the current function; the answer is its slots, from and to.
    fn open(&mut self, names: Vec<Arc<str>>) -> (usize, usize) {
        let Some(level) = self.levels.last_mut() else { return (0, 0) };
        let from = level.scope.slots.len();
        let mut block = HashMap::new();
        for name in names {
            if !block.contains_key(&name) {
                block.insert(Arc::clone(&name), level.scope.slots.len());
                level.scope.slots.push(name);
            }
        }
        level.blocks.push(block);
        (from, level.scope.slots.len())
    }

    fn close(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            level.blocks.pop();
        }
    }

    fn block(&mut self, body: &mut [Statement]) -> Outcome<()> {
        body.iter_mut().try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &mut Statement) -> Outcome<()> {
        match &mut statement.kind {
            StatementKind::Expr(value) | StatementKind::Return(Some(value)) => self.expression(value),
            StatementKind::Assign(target, value) | StatementKind::Augment(target, _, value) => {
                self.expression(value)?;
                self.target(target)
            }
            StatementKind::Return(None)
            | StatementKind::Break
            | StatementKind::Continue
            | StatementKind::Pass => Ok(()),
            StatementKind::If { branches, otherwise } => {
                for (condition, body) in branches {
                    self.expression(condition)?;
                    self.block(body)?;
                }
                self.block(otherwise)
            }
            StatementKind::For { target, over, body } => {
                self.expression(over)?;
                self.target(target)?;
                self.block(body)
            }
            StatementKind::Def(name, function) => {
                self.name(name, statement.span);
                self.function(function, statement.span)
            }
        }
    }

    fn name(&mut self, name: &mut Name, span: Span) {
        name.place = self.place(&name.text, span);
    }

    fn target(&mut self, target: &mut Target) -> Outcome<()> {
        match &mut target.kind {
            TargetKind::Name(name) => {
                self.name(name, target.span);
                Ok(())
            }
            TargetKind::Index(object, index) => {
                self.expression(object)?;
                self.expression(index)
            }
            TargetKind::Several(several) => several.iter_mut().try_for_each(|target| self.target(target)),
        }
    }

    fn function(&mut self, function: &mut Arc<Function>, span: Span) -> Outcome<()> {
        let Some(function) = Arc::get_mut(function) else {
            return Err(Fault::at("a function is shared before its names are resolved", span));
        };
        let parameters = &mut function.parameters;
        for default in parameters.names.iter_mut().filter_map(|parameter| parameter.default.as_mut()) {
            self.expression(default)?;
        }
        let mut names: Vec<_> =
            parameters.names.iter().map(|parameter| Arc::clone(&parameter.name)).collect();
        names.extend(parameters.rest.iter().chain(&parameters.keywords).cloned());
        names.extend(bindings::of(&function.body));
        self.levels.push(Level::default());
        self.open(names);
        let resolved = self.block(&mut function.body);
        function.scope = self.levels.pop().map(|level| level.scope).unwrap_or_default();
        resolved
    }

    fn comprehension(&mut self, comprehension: &mut Comprehension) -> Outcome<()> {
        // The first thing it goes over is not yet inside.
        if let Some(Clause::For(_, over)) = comprehension.clauses.first_mut() {
            self.expression(over)?;
        }
        comprehension.slots = self.open(bindings::of_clauses(&comprehension.clauses));
        for (at, clause) in comprehension.clauses.iter_mut().enumerate() {
            match clause {
                Clause::For(target, over) => {
                    if at > 0 {
                        self.expression(over)?;
                    }
                    self.target(target)?;
                }
                Clause::If(condition) => self.expression(condition)?,
            }
        }
        match &mut comprehension.body {
            Body::Item(item) => self.expression(item)?,
            Body::Entry(key, value) => {
                self.expression(key)?;
                self.expression(value)?;
            }
        }
        self.close();
        Ok(())
    }

    fn expression(&mut self, expression: &mut Expr) -> Outcome<()> {
        match &mut expression.kind {
            Kind::None | Kind::Bool(_) | Kind::Int(_) | Kind::Float(_) | Kind::Literal(_) => Ok(()),
            Kind::Name(name) => {
                self.name(name, expression.span);
                Ok(())
            }
            Kind::Chain { first, rest } => {
                self.expression(first)?;
                rest.iter_mut().try_for_each(|(_, right)| self.expression(right))
            }
            Kind::Unary(_, operand) => self.expression(operand),
            Kind::Conditional(parts) => parts.iter_mut().try_for_each(|part| self.expression(part)),
            Kind::List(items) | Kind::Tuple(items) => {
                items.iter_mut().try_for_each(|item| self.expression(item))
            }
            Kind::Dict(entries) => entries.iter_mut().try_for_each(|(key, value)| {
                self.expression(key)?;
                self.expression(value)
            }),
            Kind::Comprehension(comprehension) => self.comprehension(comprehension),
            Kind::Lambda(function) => self.function(function, expression.span),
            Kind::Path { base, steps } => {
                self.expression(base)?;
                steps.iter_mut().try_for_each(|step| self.step(&mut step.kind))
            }
        }
    }

    fn step(&mut self, step: &mut StepKind) -> Outcome<()> {
        match step {
            StepKind::Attribute(_) => Ok(()),
            StepKind::Call(arguments) => arguments.iter_mut().try_for_each(|argument| match argument {
                Argument::Positional(value)
                | Argument::Named(_, value)
                | Argument::Sequence(value)
                | Argument::Mapping(value) => self.expression(value),
            }),
            StepKind::Index(index) => self.expression(index),
            StepKind::Slice(parts) => parts.iter_mut().flatten().try_for_each(|part| self.expression(part)),
        }
    }
}
