//! Where the lexer is in its text.

use crate::syntax::Span;

pub(super) struct Cursor {
    text: Vec<char>,
    at: usize,
    span: Span,
}

impl Cursor {
    pub(super) fn new(text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Self { text: text.chars().collect(), at: 0, span: Span { line: 1, column: 1 } }
    }

    /// The place of the next character.
    pub(super) fn span(&self) -> Span {
        self.span
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.ahead(0)
    }

    pub(super) fn ahead(&self, by: usize) -> Option<char> {
        self.text.get(self.at + by).copied()
    }

    /// Whether the text goes on with that.
    pub(super) fn begins(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(at, c)| self.ahead(at) == Some(c))
    }

    pub(super) fn take(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += 1;
        if next == '\n' {
            self.span = Span { line: self.span.line.saturating_add(1), column: 1 };
        } else {
            self.span.column = self.span.column.saturating_add(1);
        }
        Some(next)
    }

    pub(super) fn skip(&mut self, count: usize) {
        for _ in 0..count {
            self.take();
        }
    }

    /// Passes over all up to the end of the line, which stays.
    pub(super) fn skip_line(&mut self) {
        while self.peek().is_some_and(|c| c != '\n') {
            self.take();
        }
    }

    pub(super) fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> String {
        let mut text = String::new();
        while let Some(next) = self.peek().filter(|c| wanted(*c)) {
            text.push(next);
            self.take();
        }
        text
    }
}
