//! What follows a value: attributes, calls, indices, slices.

use super::Parser;
use crate::fault::{Fault, Outcome};
use crate::lexer::Token;
use crate::syntax::{Argument, Expr, Kind, Span, Step, StepKind};
use std::sync::Arc;

/// Arguments of a call, and parameters of a function.
pub(super) const MAX_ARGUMENTS: usize = 255;

impl Parser {
    /// A value with all that follows it.
    pub(super) fn operand(&mut self) -> Outcome<Expr> {
        let base = self.atom()?;
        let mut steps = Vec::new();
        loop {
            let span = self.span();
            let kind = match self.token() {
                Token::Sign(".") => {
                    self.advance();
                    StepKind::Attribute(self.expect_name()?)
                }
                Token::Sign("(") => StepKind::Call(self.arguments()?),
                Token::Sign("[") => self.index()?,
                _ => break,
            };
            steps.push(Step { span, kind });
        }
        if steps.is_empty() {
            return Ok(base);
        }
        Ok(Expr { span: base.span, kind: Kind::Path { base: Box::new(base), steps } })
    }

    fn index(&mut self) -> Outcome<StepKind> {
        self.advance();
        let start = if self.is_sign(":") { None } else { Some(self.expressions()?) };
        if let Some(index) = start {
            if self.takes_sign("]") {
                return Ok(StepKind::Index(index));
            }
            return self.slice(Some(index));
        }
        self.slice(None)
    }

    fn slice(&mut self, start: Option<Expr>) -> Outcome<StepKind> {
        self.expect_sign(":")?;
        let end = if self.is_sign(":") || self.is_sign("]") { None } else { Some(self.expression()?) };
        let mut step = None;
        if self.takes_sign(":") && !self.is_sign("]") {
            step = Some(self.expression()?);
        }
        self.expect_sign("]")?;
        Ok(StepKind::Slice(Box::new([start, end, step])))
    }

    fn arguments(&mut self) -> Outcome<Vec<Argument>> {
        self.advance();
        let mut arguments = Vec::new();
        while !self.takes_sign(")") {
            let span = self.span();
            let argument = self.argument()?;
            if arguments.len() >= MAX_ARGUMENTS {
                return Err(Fault::at(format!("a call has more than {MAX_ARGUMENTS} arguments"), span));
            }
            in_order(&arguments, &argument, span)?;
            arguments.push(argument);
            if !self.is_sign(")") && !self.takes_sign(",") {
                return Err(self.unexpected("`,` or `)`"));
            }
        }
        Ok(arguments)
    }

    fn argument(&mut self) -> Outcome<Argument> {
        if self.takes_sign("*") {
            return Ok(Argument::Sequence(self.expression()?));
        }
        if self.takes_sign("**") {
            return Ok(Argument::Mapping(self.expression()?));
        }
        if let (Token::Name(name), Token::Sign("=")) = (self.token(), self.following()) {
            let name = Arc::clone(name);
            self.at += 2;
            return Ok(Argument::Named(name, self.expression()?));
        }
        Ok(Argument::Positional(self.expression()?))
    }
}

/// Positional arguments come first, then named ones, then `*`, then `**`; no name twice.
fn in_order(before: &[Argument], next: &Argument, span: Span) -> Outcome<()> {
    let rank = |argument: &Argument| match argument {
        Argument::Positional(_) => 0,
        Argument::Named(..) => 1,
        Argument::Sequence(_) => 2,
        Argument::Mapping(_) => 3,
    };
    let most = before.iter().map(rank).max().unwrap_or(0);
    let fits = match next {
        Argument::Positional(_) => most == 0,
        // A named argument may follow `*`, as in Python.
        Argument::Named(..) => most <= 2,
        Argument::Sequence(_) => most < 2,
        Argument::Mapping(_) => most < 3,
    };
    if !fits {
        let said = "arguments come in this order: positional, named, one `*`, one `**`";
        return Err(Fault::at(said, span));
    }
    if let Argument::Named(name, _) = next
        && before.iter().any(|other| matches!(other, Argument::Named(known, _) if known == name))
    {
        return Err(Fault::at(format!("the argument `{name}` is given twice"), span));
    }
    Ok(())
}
