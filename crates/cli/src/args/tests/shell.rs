//! As much of a shell as the examples of the help need: words, quotes, comments, redirections, pipes, substitution.

use std::iter::Peekable;
use std::str::Chars;

/// The simple commands of a text, each as its words. Those within `$(…)` come as commands of their own.
pub(super) fn commands(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    read(&mut text.chars().peekable(), &mut found);
    found
}

/// What is read so far of one command.
#[derive(Default)]
struct Reading {
    words: Vec<String>,
    word: Option<String>,
    /// The next word names a file, and is no argument.
    redirected: bool,
}

impl Reading {
    fn push(&mut self, character: char) {
        self.word.get_or_insert_default().push(character);
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if !std::mem::take(&mut self.redirected) {
            self.words.push(word);
        }
    }

    fn end_command(&mut self, found: &mut Vec<Vec<String>>) {
        self.end_word();
        if !self.words.is_empty() {
            found.push(std::mem::take(&mut self.words));
        }
    }
}

/// Reads to the end of the text, or of the substitution it is in.
fn read(text: &mut Peekable<Chars<'_>>, found: &mut Vec<Vec<String>>) {
    let mut reading = Reading::default();
    while let Some(character) = text.next() {
        match character {
            '\\' if text.next_if_eq(&'\n').is_some() => {}
            ' ' => reading.end_word(),
            '\n' | '|' | '&' | ';' => reading.end_command(found),
            '#' if reading.word.is_none() => while text.next_if(|&next| next != '\n').is_some() {},
            '>' | '<' => {
                reading.end_word();
                while text.next_if_eq(&'>').is_some() {}
                reading.redirected = true;
            }
            '\'' => {
                reading.word.get_or_insert_default();
                text.by_ref().take_while(|&next| next != '\'').for_each(|next| reading.push(next));
            }
            '"' => quoted(text, &mut reading, found),
            '$' if text.next_if_eq(&'(').is_some() => read(text, found),
            ')' => break,
            '*' | '?' | '[' | '{' | '…' => panic!("{character} stands unquoted"),
            other => reading.push(other),
        }
    }
    reading.end_command(found);
}

fn quoted(text: &mut Peekable<Chars<'_>>, reading: &mut Reading, found: &mut Vec<Vec<String>>) {
    reading.word.get_or_insert_default();
    while let Some(character) = text.next() {
        match character {
            '"' => return,
            '$' if text.next_if_eq(&'(').is_some() => read(text, found),
            other => reading.push(other),
        }
    }
}
