//! Numbers as they are written: `12`, `0x1f`, `0o17`, `0b101`, `1.5e3`.

use super::{Lexer, Token};
use crate::fault::{Fault, Outcome};
use crate::number::{self, Whole};
use crate::syntax::Span;

impl Lexer {
    pub(super) fn number(&mut self, span: Span) -> Outcome<()> {
        let radix = match (self.cursor.peek(), self.cursor.ahead(1)) {
            (Some('0'), Some('x' | 'X')) => 16,
            (Some('0'), Some('o' | 'O')) => 8,
            (Some('0'), Some('b' | 'B')) => 2,
            _ => 10,
        };
        let token = if radix == 10 { self.decimal(span)? } else { self.prefixed(radix, span)? };
        self.push(token, span);
        Ok(())
    }

    fn prefixed(&mut self, radix: u32, span: Span) -> Outcome<Token> {
        self.cursor.skip(2);
        let digits = self.cursor.take_while(|c| c.is_digit(radix));
        whole(&digits, radix, span)
    }

    fn decimal(&mut self, span: Span) -> Outcome<Token> {
        let mut text = self.cursor.take_while(|c| c.is_ascii_digit());
        let mut float = false;
        if self.cursor.peek() == Some('.') {
            float = true;
            self.cursor.skip(1);
            text.push('.');
            text.push_str(&self.cursor.take_while(|c| c.is_ascii_digit()));
        }
        if matches!(self.cursor.peek(), Some('e' | 'E')) {
            float = true;
            self.cursor.skip(1);
            text.push('e');
            if let Some(sign) = self.cursor.peek().filter(|c| matches!(c, '+' | '-')) {
                self.cursor.skip(1);
                text.push(sign);
            }
            text.push_str(&self.cursor.take_while(|c| c.is_ascii_digit()));
        }
        if float {
            let value = text.parse::<f64>().ok().filter(|value| value.is_finite());
            return value
                .map(Token::Float)
                .ok_or_else(|| Fault::at("this is not a number that a float can hold", span));
        }
        if text.len() > 1 && text.starts_with('0') {
            return Err(Fault::at("a number begins with 0; octal numbers are written 0o17", span));
        }
        whole(&text, 10, span)
    }
}

fn whole(digits: &str, radix: u32, span: Span) -> Outcome<Token> {
    match number::parse(digits, radix).map_err(|fault| fault.passing(span))? {
        Some(Whole::Small(value)) => Ok(Token::Int(value)),
        Some(Whole::Big(value)) => Ok(Token::Big(value)),
        None => Err(Fault::at("a number has no digits", span)),
    }
}
