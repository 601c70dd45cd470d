//! Operators: which binds how closely, conditional expressions, lambdas.

use super::Parser;
use crate::fault::{Fault, Outcome};
use crate::lexer::Token;
use crate::syntax::{Binary, Expr, Kind, Unary};

/// How closely `not` binds; comparisons bind one closer.
const NOT: u8 = 3;
const COMPARISON: u8 = 4;

impl Parser {
    /// One expression, without commas.
    pub(super) fn expression(&mut self) -> Outcome<Expr> {
        self.deeper(|parser| {
            if parser.is_word("lambda") {
                return parser.lambda();
            }
            let value = parser.operators(0)?;
            if !parser.takes_word("if") {
                return Ok(value);
            }
            let condition = parser.operators(0)?;
            parser.expect_word("else")?;
            let otherwise = parser.expression()?;
            let span = value.span;
            Ok(Expr { span, kind: Kind::Conditional(Box::new([condition, value, otherwise])) })
        })
    }

    /// An expression, or several with commas, which are a tuple.
    pub(super) fn expressions(&mut self) -> Outcome<Expr> {
        let first = self.expression()?;
        if !self.is_sign(",") {
            return Ok(first);
        }
        let span = first.span;
        let mut items = vec![first];
        while self.takes_sign(",") {
            if !self.begins_expression() {
                break;
            }
            items.push(self.expression()?);
        }
        Ok(Expr { span, kind: Kind::Tuple(items) })
    }

    fn begins_expression(&self) -> bool {
        match self.token() {
            Token::Name(_) | Token::Int(_) | Token::Big(_) | Token::Float(_) | Token::Text(_) => true,
            Token::Word(word) => matches!(*word, "not" | "lambda"),
            Token::Sign(sign) => matches!(*sign, "(" | "[" | "{" | "+" | "-" | "~"),
            _ => false,
        }
    }

    /// Operands joined by operators that bind at least that closely, as one left fold.
    pub(super) fn operators(&mut self, least: u8) -> Outcome<Expr> {
        let first = self.prefixed(least)?;
        let span = first.span;
        let mut rest = Vec::new();
        let mut compared = false;
        while let Some((operator, closeness, width)) = self.operator() {
            if closeness < least {
                break;
            }
            if closeness == COMPARISON && compared {
                return Err(Fault::at("comparisons do not chain; join them with `and`", self.span()));
            }
            compared = closeness == COMPARISON;
            self.at += width;
            let right = self.deeper(|parser| parser.operators(closeness + 1))?;
            rest.push((operator, right));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(Expr { span, kind: Kind::Chain { first: Box::new(first), rest } })
    }

    /// An operand with the signs before it.
    fn prefixed(&mut self, least: u8) -> Outcome<Expr> {
        let span = self.span();
        if self.is_word("not") && least <= NOT {
            self.advance();
            let operand = self.deeper(|parser| parser.operators(NOT))?;
            return Ok(Expr { span, kind: Kind::Unary(Unary::Not, Box::new(operand)) });
        }
        let unary = match self.token() {
            Token::Sign("+") => Unary::Plus,
            Token::Sign("-") => Unary::Minus,
            Token::Sign("~") => Unary::Invert,
            _ => return self.operand(),
        };
        self.advance();
        let operand = self.deeper(|parser| parser.prefixed(u8::MAX))?;
        Ok(Expr { span, kind: Kind::Unary(unary, Box::new(operand)) })
    }

    /// The operator that is next, how closely it binds, and how many tokens it has.
    fn operator(&self) -> Option<(Binary, u8, usize)> {
        let (operator, closeness) = match self.token() {
            Token::Word("or") => (Binary::Or, 1),
            Token::Word("and") => (Binary::And, 2),
            Token::Word("in") => (Binary::In, COMPARISON),
            Token::Word("not") if *self.following() == Token::Word("in") => {
                return Some((Binary::NotIn, COMPARISON, 2));
            }
            Token::Sign(sign) => return binary(sign).map(|(operator, closeness)| (operator, closeness, 1)),
            _ => return None,
        };
        Some((operator, closeness, 1))
    }
}

/// An operator by its sign, and how closely it binds.
fn binary(sign: &str) -> Option<(Binary, u8)> {
    Some(match sign {
        "==" => (Binary::Equal, COMPARISON),
        "!=" => (Binary::Differ, COMPARISON),
        "<" => (Binary::Less, COMPARISON),
        ">" => (Binary::Greater, COMPARISON),
        "<=" => (Binary::AtMost, COMPARISON),
        ">=" => (Binary::AtLeast, COMPARISON),
        "|" => (Binary::BitOr, 5),
        "^" => (Binary::BitXor, 6),
        "&" => (Binary::BitAnd, 7),
        "<<" => (Binary::ShiftLeft, 8),
        ">>" => (Binary::ShiftRight, 8),
        "+" => (Binary::Add, 9),
        "-" => (Binary::Subtract, 9),
        "*" => (Binary::Multiply, 10),
        "/" => (Binary::Divide, 10),
        "//" => (Binary::FloorDivide, 10),
        "%" => (Binary::Remainder, 10),
        _ => return None,
    })
}
