//! `def` and `lambda`, with their parameters.

use super::Parser;
use super::suffixes::MAX_ARGUMENTS;
use crate::fault::{Fault, Outcome};
use crate::syntax::{
    Expr, Function, Kind, Name, Parameter, Parameters, Place, Scope, Statement, StatementKind,
};
use std::sync::Arc;

impl Parser {
    pub(super) fn definition(&mut self) -> Outcome<Statement> {
        let span = self.span();
        self.advance();
        let name = self.expect_name()?;
        self.expect_sign("(")?;
        let parameters = self.parameters(")")?;
        self.expect_sign(")")?;
        self.expect_sign(":")?;
        let id = self.next_function();
        let (loops, in_function) = (self.loops, self.in_function);
        (self.loops, self.in_function) = (0, true);
        let body = self.suite();
        (self.loops, self.in_function) = (loops, in_function);
        let function =
            Function { id, name: Arc::clone(&name), parameters, body: body?, scope: Scope::default() };
        let name = Name { text: name, place: Place::Outside(0) };
        Ok(Statement { span, kind: StatementKind::Def(name, Arc::new(function)) })
    }

    pub(super) fn lambda(&mut self) -> Outcome<Expr> {
        let span = self.span();
        self.advance();
        let parameters = self.parameters(":")?;
        self.expect_sign(":")?;
        let id = self.next_function();
        let value = self.expression()?;
        let body = vec![Statement { span: value.span, kind: StatementKind::Return(Some(value)) }];
        let function = Function { id, name: "lambda".into(), parameters, body, scope: Scope::default() };
        Ok(Expr { span, kind: Kind::Lambda(Arc::new(function)) })
    }

    fn next_function(&mut self) -> usize {
        self.functions += 1;
        self.functions - 1
    }

    /// Parameters up to what closes them, which stays.
    fn parameters(&mut self, close: &str) -> Outcome<Parameters> {
        let mut parameters = Parameters::default();
        let mut starred = None;
        while !self.is_sign(close) {
            let span = self.span();
            if parameters.keywords.is_some() {
                return Err(Fault::at("no parameter follows `**`", span));
            }
            if self.takes_sign("**") {
                parameters.keywords = Some(self.expect_name()?);
            } else if self.takes_sign("*") {
                if starred.replace(span).is_some() {
                    return Err(Fault::at("there is only one `*` among parameters", span));
                }
                if !self.is_sign(",") && !self.is_sign(close) {
                    parameters.rest = Some(self.expect_name()?);
                }
            } else {
                self.parameter(&mut parameters, starred.is_some())?;
            }
            if !self.is_sign(close) {
                self.expect_sign(",")?;
            }
        }
        if let Some(span) = starred
            && parameters.rest.is_none()
            && parameters.names.len() == parameters.positional
        {
            return Err(Fault::at("a bare `*` is followed by a parameter", span));
        }
        self.unique(&parameters)?;
        Ok(parameters)
    }

    fn parameter(&mut self, parameters: &mut Parameters, after_star: bool) -> Outcome<()> {
        let span = self.span();
        let name = self.expect_name()?;
        let default = if self.takes_sign("=") { Some(self.expression()?) } else { None };
        if parameters.names.len() >= MAX_ARGUMENTS {
            return Err(Fault::at(format!("a function has more than {MAX_ARGUMENTS} parameters"), span));
        }
        if !after_star {
            if default.is_none() && parameters.names.iter().any(|earlier| earlier.default.is_some()) {
                return Err(Fault::at(format!("`{name}` needs a default, as one before it has"), span));
            }
            parameters.positional += 1;
        }
        parameters.names.push(Parameter { name, default });
        Ok(())
    }

    fn unique(&self, parameters: &Parameters) -> Outcome<()> {
        let mut seen = std::collections::HashSet::new();
        let names = parameters.names.iter().map(|parameter| &parameter.name);
        for name in names.chain(&parameters.rest).chain(&parameters.keywords) {
            if !seen.insert(name) {
                return Err(Fault::at(format!("there are two parameters `{name}`"), self.span()));
            }
        }
        Ok(())
    }
}
