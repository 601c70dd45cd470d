//! What is remembered of a server from one run to the next: its tools, and the era it speaks.

use std::fmt::Write as _;

use covenant_model::server::{EraChoice, Plan, Reach};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

/// The form of what is kept; another one is not read.
const FORM: u32 = 1;

/// The most bytes that are kept of one server.
const MOST: usize = 16 * 1024 * 1024;

/// What is remembered.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Remembered {
    form: u32,
    /// The era it spoke.
    pub(super) era: EraChoice,
    /// Its tools, as it wrote them.
    pub(super) tools: Vec<Box<RawValue>>,
}

impl Remembered {
    pub(super) fn new(era: EraChoice, tools: Vec<Box<RawValue>>) -> Self {
        Self { form: FORM, era, tools }
    }

    /// Reads it; nothing where it cannot be read.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok().filter(|read: &Self| read.form == FORM)
    }

    /// Writes it; nothing where it is too large.
    pub(super) fn written(&self) -> Option<Vec<u8>> {
        serde_json::to_vec(self).ok().filter(|bytes| bytes.len() <= MOST)
    }
}

/// What a plan's notes are kept under: its name, and where the server is. Values of its environment and its headers are
/// not in it: a new password does not make a new server.
pub(super) fn key(plan: &Plan) -> String {
    let mut hash = Sha256::new();
    let mut part = |text: &str| {
        hash.update(text.len().to_be_bytes());
        hash.update(text.as_bytes());
    };
    part(&plan.name);
    match &plan.reach {
        Reach::Program(program) => {
            part("program");
            part(&program.command);
            program.args.iter().for_each(|argument| part(argument));
            part(program.cwd.as_deref().unwrap_or_default());
            program.env.keys().for_each(|name| part(name));
        }
        Reach::Web(web) => {
            part("web");
            part(web.url.reveal());
            web.headers.keys().for_each(|name| part(name));
        }
    }
    hash.finalize().iter().take(16).fold("tools-".to_owned(), |mut key, byte| {
        let _ = write!(key, "{byte:02x}");
        key
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::plan;
    use super::*;

    #[test]
    fn what_is_kept_reads_back_and_what_is_not_ours_does_not() {
        let tool = RawValue::from_string(r#"{"name":"a","x":1.50}"#.to_owned()).unwrap();
        let written = Remembered::new(EraChoice::Modern, vec![tool]).written().unwrap();
        let read = Remembered::read(&written).unwrap();
        assert_eq!((read.era, read.tools[0].get()), (EraChoice::Modern, r#"{"name":"a","x":1.50}"#));
        for other in ["", "{}", r#"{"form":2,"era":"auto","tools":[]}"#] {
            assert!(Remembered::read(other.as_bytes()).is_none(), "{other}");
        }
    }

    #[test]
    fn a_server_elsewhere_has_other_notes_and_a_new_password_has_not() {
        let with = |password: &str, command: &str| {
            let mut plan = plan("a");
            if let Reach::Program(program) = &mut plan.reach {
                let password = covenant_model::secret::Secret::new(password.to_owned());
                program.env.insert("TOKEN".to_owned(), password);
                program.command = command.to_owned();
            }
            plan
        };
        let (one, other, moved) = (with("one", "run"), with("other", "run"), with("one", "elsewhere"));
        assert_eq!(key(&one), key(&other));
        assert_ne!(key(&one), key(&moved));
        assert_ne!(key(&one), key(&plan("b")));
    }
}
