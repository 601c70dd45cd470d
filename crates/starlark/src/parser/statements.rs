//! Statements and blocks.

use super::Parser;
use super::atoms::no_load;
use super::targets::target;
use crate::fault::{Fault, Outcome};
use crate::lexer::Token;
use crate::syntax::{Binary, Span, Statement, StatementKind, TargetKind};

impl Parser {
    pub(super) fn file(&mut self) -> Outcome<Vec<Statement>> {
        let mut body = Vec::new();
        while *self.token() != Token::End {
            if *self.token() == Token::Newline {
                self.advance();
                continue;
            }
            self.statement(&mut body)?;
        }
        Ok(body)
    }

    /// A statement, or a line of several.
    fn statement(&mut self, into: &mut Vec<Statement>) -> Outcome<()> {
        let statement = match self.token() {
            Token::Word("def") => self.definition()?,
            Token::Word("if") => self.condition()?,
            Token::Word("for") => self.repetition()?,
            Token::Indent => return Err(Fault::at("this line is indented without a reason", self.span())),
            _ => return self.line(into),
        };
        into.push(statement);
        Ok(())
    }

    /// What follows a colon: a block, or the rest of the line.
    pub(super) fn suite(&mut self) -> Outcome<Vec<Statement>> {
        self.deeper(|parser| {
            let mut body = Vec::new();
            if *parser.token() != Token::Newline {
                parser.line(&mut body)?;
                return Ok(body);
            }
            parser.advance();
            if *parser.token() != Token::Indent {
                return Err(parser.unexpected("an indented block"));
            }
            parser.advance();
            while *parser.token() != Token::Dedent {
                parser.statement(&mut body)?;
            }
            parser.advance();
            Ok(body)
        })
    }

    fn condition(&mut self) -> Outcome<Statement> {
        let span = self.span();
        let mut branches = Vec::new();
        let mut otherwise = Vec::new();
        loop {
            self.advance();
            let condition = self.expression()?;
            self.expect_sign(":")?;
            branches.push((condition, self.suite()?));
            if !self.is_word("elif") {
                break;
            }
        }
        if self.takes_word("else") {
            self.expect_sign(":")?;
            otherwise = self.suite()?;
        }
        Ok(Statement { span, kind: StatementKind::If { branches, otherwise } })
    }

    fn repetition(&mut self) -> Outcome<Statement> {
        let span = self.span();
        self.advance();
        let target = self.loop_target()?;
        self.expect_word("in")?;
        let over = self.expressions()?;
        self.expect_sign(":")?;
        self.loops += 1;
        let body = self.suite();
        self.loops -= 1;
        Ok(Statement { span, kind: StatementKind::For { target, over, body: body? } })
    }

    /// Small statements up to the end of the line.
    fn line(&mut self, into: &mut Vec<Statement>) -> Outcome<()> {
        loop {
            let span = self.span();
            let kind = self.small(span)?;
            into.push(Statement { span, kind });
            let more = self.takes_sign(";");
            if *self.token() == Token::Newline {
                self.advance();
                return Ok(());
            }
            if !more {
                return Err(self.unexpected("the end of the line"));
            }
        }
    }

    fn small(&mut self, span: Span) -> Outcome<StatementKind> {
        match self.token() {
            Token::Word("pass") => {
                self.advance();
                Ok(StatementKind::Pass)
            }
            Token::Word(word @ ("break" | "continue")) => {
                let word = *word;
                if self.loops == 0 {
                    return Err(Fault::at(format!("`{word}` stands outside a loop"), span));
                }
                self.advance();
                Ok(if word == "break" { StatementKind::Break } else { StatementKind::Continue })
            }
            Token::Word("return") => self.give_back(span),
            Token::Word("load") => Err(no_load(span)),
            _ => self.assignment(),
        }
    }

    fn give_back(&mut self, span: Span) -> Outcome<StatementKind> {
        if !self.in_function {
            return Err(Fault::at("`return` stands outside a function", span));
        }
        self.advance();
        if *self.token() == Token::Newline || self.is_sign(";") {
            return Ok(StatementKind::Return(None));
        }
        Ok(StatementKind::Return(Some(self.expressions()?)))
    }

    fn assignment(&mut self) -> Outcome<StatementKind> {
        let left = self.expressions()?;
        if self.takes_sign("=") {
            let left = target(left)?;
            return Ok(StatementKind::Assign(left, self.expressions()?));
        }
        let Some(operator) = self.augmented() else { return Ok(StatementKind::Expr(left)) };
        self.advance();
        let left = target(left)?;
        if let TargetKind::Several(_) = left.kind {
            return Err(Fault::at("several values cannot be changed at once", left.span));
        }
        Ok(StatementKind::Augment(left, operator, self.expressions()?))
    }

    fn augmented(&self) -> Option<Binary> {
        let Token::Sign(sign) = self.token() else { return None };
        Some(match *sign {
            "+=" => Binary::Add,
            "-=" => Binary::Subtract,
            "*=" => Binary::Multiply,
            "/=" => Binary::Divide,
            "//=" => Binary::FloorDivide,
            "%=" => Binary::Remainder,
            "&=" => Binary::BitAnd,
            "|=" => Binary::BitOr,
            "^=" => Binary::BitXor,
            "<<=" => Binary::ShiftLeft,
            ">>=" => Binary::ShiftRight,
            _ => return None,
        })
    }
}
