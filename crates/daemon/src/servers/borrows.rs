//! Whether an entry asks for what only this machine knows: variables, secrets, the home. Who sends such an entry has it
//! handed to a server of their choice.

use std::cell::Cell;

use covenant_model::secret::Secret;
use covenant_model::server::{Entry, Lookup, Sight, expand};

/// Whether any text of the entry that is filled in asks for something of this machine.
pub(crate) fn borrows(entry: &Entry) -> bool {
    let sandbox = entry.sandbox.iter().flat_map(|sandbox| sandbox.read.iter().chain(&sandbox.write));
    let texts = [&entry.command, &entry.url, &entry.cwd].into_iter();
    let texts = texts.chain(&entry.args).chain(entry.env.values()).chain(entry.headers.values());
    texts.chain(sandbox).any(|text| {
        let asked = Asked::default();
        // Where it cannot be filled in, the entry is refused later; what it asked for before that still counts.
        drop(expand(text, Sight::Private, &asked));
        asked.0.get()
    })
}

/// Remembers that it was asked.
#[derive(Default)]
struct Asked(Cell<bool>);

impl Lookup for Asked {
    fn variable(&self, _: &str) -> Option<String> {
        self.0.set(true);
        Some(String::new())
    }

    fn secret(&self, _: &str) -> Option<Secret> {
        self.0.set(true);
        Some(Secret::new(String::new()))
    }

    fn home(&self) -> Option<String> {
        self.0.set(true);
        Some(String::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(value: &str) -> Entry {
        let headers = [("Authorization".to_owned(), value.to_owned())].into();
        Entry { url: "https://h/mcp".to_owned(), headers, ..Entry::default() }
    }

    #[test]
    fn variables_and_secrets_are_borrowed_wherever_they_stand() {
        for text in ["$HOME", "Bearer ${secret:KEY}", "${A:-b}", "x$A", "$A ${", "~"] {
            assert!(borrows(&header(text)), "{text}");
            assert!(borrows(&Entry { url: text.to_owned(), ..Entry::default() }), "{text}");
            let env = [("A".to_owned(), text.to_owned())].into();
            assert!(borrows(&Entry { env, ..Entry::default() }), "{text}");
        }
    }

    #[test]
    fn texts_that_only_look_so_are_not() {
        for text in ["", "Bearer token", "$$HOME", "$$${secret", "5 $", "a~"] {
            assert!(!borrows(&header(text)), "{text}");
        }
    }
}
