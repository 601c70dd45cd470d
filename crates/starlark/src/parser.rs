//! Tokens into a tree, by recursive descent whose depth is counted.

use crate::fault::{Fault, Outcome};
use crate::lexer::Token;
use crate::syntax::{Literal, Span, Statement};
use std::sync::Arc;

mod atoms;
mod expressions;
mod functions;
mod statements;
mod suffixes;
mod targets;

/// Expressions and blocks within each other.
const MAX_DEPTH: usize = 100;

/// What was read, with names not yet resolved.
pub(crate) struct Parsed {
    pub(crate) body: Vec<Statement>,
    pub(crate) literals: Vec<Literal>,
    /// How many `def`s and `lambda`s there are.
    pub(crate) functions: usize,
}

/// Reads a whole program.
pub(crate) fn parse(tokens: Vec<(Token, Span)>) -> Outcome<Parsed> {
    let end = tokens.last().map_or(Span { line: 1, column: 1 }, |(_, span)| *span);
    let mut parser = Parser {
        tokens,
        at: 0,
        end,
        literals: Vec::new(),
        functions: 0,
        depth: 0,
        loops: 0,
        in_function: false,
    };
    let body = parser.file()?;
    Ok(Parsed { body, literals: parser.literals, functions: parser.functions })
}

struct Parser {
    tokens: Vec<(Token, Span)>,
    at: usize,
    end: Span,
    literals: Vec<Literal>,
    functions: usize,
    depth: usize,
    /// Loops around the current statement, within its function.
    loops: usize,
    in_function: bool,
}

impl Parser {
    fn token(&self) -> &Token {
        self.tokens.get(self.at).map_or(&Token::End, |(token, _)| token)
    }

    fn following(&self) -> &Token {
        self.tokens.get(self.at + 1).map_or(&Token::End, |(token, _)| token)
    }

    fn span(&self) -> Span {
        self.tokens.get(self.at).map_or(self.end, |(_, span)| *span)
    }

    fn advance(&mut self) {
        self.at += 1;
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.token(), Token::Sign(found) if *found == sign)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.token(), Token::Word(found) if *found == word)
    }

    /// Takes that sign if it is next.
    fn takes_sign(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        self.at += usize::from(found);
        found
    }

    /// Takes that word if it is next.
    fn takes_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    fn expect_sign(&mut self, sign: &str) -> Outcome<()> {
        if self.takes_sign(sign) { Ok(()) } else { Err(self.unexpected(&format!("`{sign}`"))) }
    }

    fn expect_word(&mut self, word: &str) -> Outcome<()> {
        if self.takes_word(word) { Ok(()) } else { Err(self.unexpected(&format!("`{word}`"))) }
    }

    fn expect_name(&mut self) -> Outcome<Arc<str>> {
        let Token::Name(name) = self.token() else { return Err(self.unexpected("a name")) };
        let name = Arc::clone(name);
        self.advance();
        Ok(name)
    }

    fn unexpected(&self, wanted: &str) -> Fault {
        Fault::at(format!("expected {wanted}, found {}", self.token().shown()), self.span())
    }

    /// Reads something one level deeper.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Outcome<T>) -> Outcome<T> {
        if self.depth >= MAX_DEPTH {
            return Err(Fault::at(format!("nested more than {MAX_DEPTH} deep"), self.span()));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }
}
