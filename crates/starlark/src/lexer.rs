//! Text into tokens: lines, indentation, names, numbers, strings and signs.

use crate::fault::{Fault, Outcome};
use crate::syntax::Span;
use num_bigint::BigInt;
use std::sync::Arc;

mod cursor;
mod number;
mod string;

use cursor::Cursor;

/// Blocks within blocks.
const MAX_INDENTS: usize = 100;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Token {
    Name(Arc<str>),
    /// A word with a meaning of its own.
    Word(&'static str),
    Sign(&'static str),
    Int(i64),
    Big(BigInt),
    Float(f64),
    Text(String),
    Newline,
    Indent,
    Dedent,
    End,
}

impl Token {
    /// How an error names it.
    pub(crate) fn shown(&self) -> String {
        match self {
            Self::Name(name) => format!("`{name}`"),
            Self::Word(text) | Self::Sign(text) => format!("`{text}`"),
            Self::Int(_) | Self::Big(_) | Self::Float(_) => "a number".to_owned(),
            Self::Text(_) => "a string".to_owned(),
            Self::Newline => "the end of the line".to_owned(),
            Self::Indent => "an indented line".to_owned(),
            Self::Dedent => "the end of the block".to_owned(),
            Self::End => "the end of the script".to_owned(),
        }
    }
}

/// The words of the grammar.
const WORDS: &[&str] = &[
    "and", "break", "continue", "def", "elif", "else", "for", "if", "in", "lambda", "load", "not", "or",
    "pass", "return",
];

/// Words that mean something in Python and nothing here.
const RESERVED: &[&str] = &[
    "as", "assert", "async", "await", "class", "del", "except", "finally", "from", "global", "import", "is",
    "nonlocal", "raise", "try", "while", "with", "yield",
];

/// Longest first, so that the first that fits is the one meant.
const SIGNS: &[&str] = &[
    "//=", "<<=", ">>=", "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "+=", "-=", "*=", "/=", "%=", "&=",
    "|=", "^=", "->", "+", "-", "*", "/", "%", "&", "|", "^", "~", "<", ">", "=", ",", ";", ":", ".", "(",
    ")", "[", "]", "{", "}",
];

/// Reads a whole text.
pub(crate) fn tokens(text: &str) -> Outcome<Vec<(Token, Span)>> {
    let mut lexer =
        Lexer { cursor: Cursor::new(text), tokens: Vec::new(), indents: vec![0], brackets: Vec::new() };
    lexer.all()?;
    Ok(lexer.tokens)
}

struct Lexer {
    cursor: Cursor,
    tokens: Vec<(Token, Span)>,
    /// The columns of the open blocks.
    indents: Vec<usize>,
    /// The open brackets.
    brackets: Vec<(&'static str, Span)>,
}

impl Lexer {
    fn push(&mut self, token: Token, span: Span) {
        self.tokens.push((token, span));
    }

    fn all(&mut self) -> Outcome<()> {
        self.indentation()?;
        while let Some(next) = self.cursor.peek() {
            let span = self.cursor.span();
            match next {
                ' ' | '\t' | '\r' => self.cursor.skip(1),
                '\\' => self.continuation(span)?,
                '#' => self.cursor.skip_line(),
                '\n' => self.line_end(span)?,
                c if c.is_ascii_digit() => self.number(span)?,
                '.' if self.cursor.ahead(1).is_some_and(|c| c.is_ascii_digit()) => self.number(span)?,
                '"' | '\'' => self.string("", span)?,
                c if c == '_' || c.is_ascii_alphabetic() => self.word(span)?,
                _ => self.sign(next, span)?,
            }
        }
        self.finish()
    }

    fn finish(&mut self) -> Outcome<()> {
        if let Some((open, span)) = self.brackets.last() {
            return Err(Fault::at(format!("`{open}` is never closed"), *span));
        }
        let span = self.cursor.span();
        self.newline(span);
        while self.indents.len() > 1 {
            self.indents.pop();
            self.push(Token::Dedent, span);
        }
        self.push(Token::End, span);
        Ok(())
    }

    /// A backslash at the end of a line joins it with the next.
    fn continuation(&mut self, span: Span) -> Outcome<()> {
        self.cursor.skip(1);
        if self.cursor.peek() == Some('\r') {
            self.cursor.skip(1);
        }
        if self.cursor.peek() != Some('\n') {
            return Err(Fault::at("a backslash stands only at the end of a line", span));
        }
        self.cursor.skip(1);
        Ok(())
    }

    /// Ends a line that says something.
    fn newline(&mut self, span: Span) {
        if !matches!(self.tokens.last(), None | Some((Token::Newline | Token::Indent | Token::Dedent, _))) {
            self.push(Token::Newline, span);
        }
    }

    fn line_end(&mut self, span: Span) -> Outcome<()> {
        self.cursor.skip(1);
        if self.brackets.is_empty() {
            self.newline(span);
            self.indentation()?;
        }
        Ok(())
    }

    /// Measures the beginning of a line, passing over lines that say nothing.
    fn indentation(&mut self) -> Outcome<()> {
        let mut width = 0_usize;
        loop {
            match self.cursor.peek() {
                Some(' ') => width += 1,
                Some('\t') => width = width / 8 * 8 + 8,
                Some('\r') => {}
                Some('\n') => width = 0,
                Some('#') => {
                    self.cursor.skip_line();
                    continue;
                }
                Some(_) => break,
                None => return Ok(()),
            }
            self.cursor.skip(1);
        }
        self.set_indent(width)
    }

    fn set_indent(&mut self, width: usize) -> Outcome<()> {
        let span = self.cursor.span();
        let current = self.indents.last().copied().unwrap_or(0);
        if width > current {
            if self.indents.len() > MAX_INDENTS {
                return Err(Fault::at(format!("blocks are nested more than {MAX_INDENTS} deep"), span));
            }
            self.indents.push(width);
            self.push(Token::Indent, span);
            return Ok(());
        }
        while self.indents.last().is_some_and(|open| *open > width) {
            self.indents.pop();
            self.push(Token::Dedent, span);
        }
        if self.indents.last() == Some(&width) {
            Ok(())
        } else {
            Err(Fault::at("this line is indented like no block around it", span))
        }
    }

    /// Names are ASCII: of two that look alike, whoever approves a script could take one for the other.
    fn word(&mut self, span: Span) -> Outcome<()> {
        let text = self.cursor.take_while(|c| c == '_' || c.is_ascii_alphanumeric());
        if matches!(self.cursor.peek(), Some('"' | '\'')) {
            return self.string(&text, span);
        }
        if let Some(word) = WORDS.iter().find(|word| **word == text) {
            self.push(Token::Word(word), span);
        } else if RESERVED.contains(&text.as_str()) {
            return Err(Fault::at(format!("`{text}` is not part of Starlark"), span));
        } else {
            self.push(Token::Name(text.into()), span);
        }
        Ok(())
    }

    fn sign(&mut self, next: char, span: Span) -> Outcome<()> {
        let Some(sign) = SIGNS.iter().find(|sign| self.cursor.begins(sign)) else {
            return Err(Fault::at(format!("unexpected character {next:?}"), span));
        };
        self.cursor.skip(sign.len());
        match *sign {
            "(" | "[" | "{" => self.brackets.push((sign, span)),
            ")" | "]" | "}" => self.close(sign, span)?,
            _ => {}
        }
        self.push(Token::Sign(sign), span);
        Ok(())
    }

    fn close(&mut self, sign: &str, span: Span) -> Outcome<()> {
        match (self.brackets.pop(), sign) {
            (Some(("(", _)), ")") | (Some(("[", _)), "]") | (Some(("{", _)), "}") => Ok(()),
            (Some((open, _)), _) => Err(Fault::at(format!("`{sign}` does not close `{open}`"), span)),
            (None, _) => Err(Fault::at(format!("`{sign}` closes nothing"), span)),
        }
    }
}
