//! What stands by itself: names, literals, lists, dicts, tuples, comprehensions.

use super::Parser;
use crate::fault::{Fault, Outcome};
use crate::lexer::Token;
use crate::syntax::{Body, Clause, Comprehension, Expr, Kind, Literal, Name, Place, Span};

impl Parser {
    pub(super) fn atom(&mut self) -> Outcome<Expr> {
        let span = self.span();
        let kind = match self.token().clone() {
            Token::Name(text) => {
                self.advance();
                match &*text {
                    "None" => Kind::None,
                    "True" => Kind::Bool(true),
                    "False" => Kind::Bool(false),
                    _ => Kind::Name(Name { text, place: Place::Outside(0) }),
                }
            }
            Token::Int(value) => {
                self.advance();
                Kind::Int(value)
            }
            Token::Float(value) => {
                self.advance();
                Kind::Float(value)
            }
            Token::Big(value) => {
                self.advance();
                self.literal(Literal::Big(value))
            }
            Token::Text(text) => {
                self.advance();
                if let Token::Text(_) = self.token() {
                    return Err(Fault::at("two strings stand side by side; join them with `+`", self.span()));
                }
                self.literal(Literal::Text(text))
            }
            Token::Sign("(") => self.parentheses()?,
            Token::Sign("[") => self.list()?,
            Token::Sign("{") => self.dict()?,
            Token::Word("load") => return Err(no_load(span)),
            _ => return Err(self.unexpected("an expression")),
        };
        Ok(Expr { span, kind })
    }

    fn literal(&mut self, literal: Literal) -> Kind {
        self.literals.push(literal);
        Kind::Literal(self.literals.len() - 1)
    }

    fn parentheses(&mut self) -> Outcome<Kind> {
        self.advance();
        if self.takes_sign(")") {
            return Ok(Kind::Tuple(Vec::new()));
        }
        let inner = self.expression()?;
        if self.takes_sign(")") {
            return Ok(inner.kind);
        }
        let items = self.items(inner, ")")?;
        Ok(Kind::Tuple(items))
    }

    fn list(&mut self) -> Outcome<Kind> {
        self.advance();
        if self.takes_sign("]") {
            return Ok(Kind::List(Vec::new()));
        }
        let first = self.expression()?;
        if self.is_word("for") {
            return self.comprehension(Body::Item(first), "]");
        }
        Ok(Kind::List(self.items(first, "]")?))
    }

    /// The items after the first, up to the bracket that closes.
    fn items(&mut self, first: Expr, close: &str) -> Outcome<Vec<Expr>> {
        let mut items = vec![first];
        while self.takes_sign(",") && !self.is_sign(close) {
            items.push(self.expression()?);
        }
        if self.takes_sign(close) { Ok(items) } else { Err(self.unexpected(&format!("`,` or `{close}`"))) }
    }

    fn dict(&mut self) -> Outcome<Kind> {
        self.advance();
        let mut entries = Vec::new();
        while !self.takes_sign("}") {
            let key = self.expression()?;
            self.expect_sign(":")?;
            let value = self.expression()?;
            if entries.is_empty() && self.is_word("for") {
                return self.comprehension(Body::Entry(key, value), "}");
            }
            entries.push((key, value));
            if !self.is_sign("}") && !self.takes_sign(",") {
                return Err(self.unexpected("`,` or `}`"));
            }
        }
        Ok(Kind::Dict(entries))
    }

    fn comprehension(&mut self, body: Body, close: &str) -> Outcome<Kind> {
        let mut clauses = Vec::new();
        loop {
            if self.takes_word("for") {
                let target = self.loop_target()?;
                self.expect_word("in")?;
                clauses.push(Clause::For(target, self.deeper(|parser| parser.operators(0))?));
            } else if self.takes_word("if") {
                clauses.push(Clause::If(self.deeper(|parser| parser.operators(0))?));
            } else {
                break;
            }
        }
        self.expect_sign(close)?;
        if clauses.len() > super::MAX_DEPTH {
            return Err(self.unexpected("fewer clauses"));
        }
        Ok(Kind::Comprehension(Box::new(Comprehension { body, clauses, slots: (0, 0) })))
    }
}

/// What `load` is answered with.
pub(super) fn no_load(span: Span) -> Fault {
    Fault::at("`load` is not available: a script is one file and loads no other", span)
}
