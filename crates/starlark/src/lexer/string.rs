//! Strings as they are written: quotes, triple quotes, raw ones, and escapes.

use super::{Lexer, Token};
use crate::fault::{Fault, Outcome};
use crate::syntax::Span;

impl Lexer {
    /// A string after its prefix.
    pub(super) fn string(&mut self, prefix: &str, span: Span) -> Outcome<()> {
        let raw = match prefix {
            "" => false,
            "r" => true,
            "b" | "rb" | "br" => return Err(Fault::at("bytes are not supported; use a string", span)),
            "f" | "fr" | "rf" => {
                return Err(Fault::at("f-strings are not part of Starlark; use `.format(…)` or `%`", span));
            }
            _ => return Err(Fault::at(format!("`{prefix}` stands before a string"), span)),
        };
        let Some(quote) = self.cursor.take() else { return Ok(()) };
        let long = self.cursor.peek() == Some(quote) && self.cursor.ahead(1) == Some(quote);
        if long {
            self.cursor.skip(2);
        }
        let text = self.contents(quote, long, raw, span)?;
        self.push(Token::Text(text), span);
        Ok(())
    }

    fn contents(&mut self, quote: char, long: bool, raw: bool, span: Span) -> Outcome<String> {
        let mut text = String::new();
        loop {
            let here = self.cursor.span();
            match self.cursor.take() {
                None | Some('\n') if !long => {
                    return Err(Fault::at("this string does not end on its line; use three quotes", span));
                }
                None => return Err(Fault::at("this string never ends", span)),
                Some('\r') if self.cursor.peek() == Some('\n') => {}
                Some('\\') if raw => {
                    text.push('\\');
                    match self.cursor.peek() {
                        Some(c) if c == quote => {
                            text.pop();
                            text.push(c);
                            self.cursor.skip(1);
                        }
                        Some(c @ ('\\' | '\n')) => {
                            text.push(c);
                            self.cursor.skip(1);
                        }
                        _ => {}
                    }
                }
                Some('\\') => self.escape(&mut text, here)?,
                Some(c) if c == quote => {
                    if !long {
                        return Ok(text);
                    }
                    if self.cursor.peek() == Some(quote) && self.cursor.ahead(1) == Some(quote) {
                        self.cursor.skip(2);
                        return Ok(text);
                    }
                    text.push(c);
                }
                Some(c) => text.push(c),
            }
        }
    }

    fn escape(&mut self, text: &mut String, span: Span) -> Outcome<()> {
        let made = match self.cursor.take() {
            Some('\n') => return Ok(()),
            Some('\r') if self.cursor.peek() == Some('\n') => {
                self.cursor.skip(1);
                return Ok(());
            }
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\u{b}',
            Some(c @ ('\\' | '"' | '\'')) => c,
            Some(c @ '0'..='7') => self.octal(c, span)?,
            Some('x') => self.coded(2, 0x7f, span)?,
            Some('u') => self.coded(4, 0xffff, span)?,
            Some('U') => self.coded(8, 0x0010_ffff, span)?,
            Some(c) => {
                return Err(Fault::at(
                    format!("`\\{c}` is no escape; write `\\\\{c}` for a backslash"),
                    span,
                ));
            }
            None => return Err(Fault::at("this string never ends", span)),
        };
        text.push(made);
        Ok(())
    }

    fn octal(&mut self, first: char, span: Span) -> Outcome<char> {
        let mut value = first.to_digit(8).unwrap_or(0);
        for _ in 0..2 {
            let Some(digit) = self.cursor.peek().and_then(|c| c.to_digit(8)) else { break };
            self.cursor.skip(1);
            value = value * 8 + digit;
        }
        character(value, 0x7f, span)
    }

    fn coded(&mut self, digits: u32, most: u32, span: Span) -> Outcome<char> {
        let mut value = 0_u32;
        for _ in 0..digits {
            let digit = self.cursor.peek().and_then(|c| c.to_digit(16));
            let Some(digit) = digit else {
                return Err(Fault::at(format!("this escape needs {digits} hexadecimal digits"), span));
            };
            self.cursor.skip(1);
            value = value.saturating_mul(16).saturating_add(digit);
        }
        character(value, most, span)
    }
}

fn character(value: u32, most: u32, span: Span) -> Outcome<char> {
    char::from_u32(value)
        .filter(|_| value <= most)
        .ok_or_else(|| Fault::at("this escape is not a character; use \\u or \\U beyond ASCII", span))
}
