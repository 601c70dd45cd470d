//! Reading one note: its text, what it says of itself, where it leads and what leads to it.

use covenant_gate::Veil;
use serde_json::{Value, json};

use super::Vault;
use super::place::has_ending;
use crate::files::{FileError, Root, Why, plain};
use crate::note::Note;

/// The most bytes of a note that is read.
const MOST: u64 = 2 << 20;

/// A note that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// Its text.
    pub text: String,
    /// What programs want to know of it.
    pub facts: Value,
}

impl Vault {
    /// The note at that path, with or without `.md`; a name alone is enough where it is in no doubt. Blocks.
    pub(crate) fn read(&self, path: &str, remark: Option<String>, veil: &Veil) -> Result<Reading, String> {
        let (root, inside) = self.place(path)?;
        let (inside, bytes) = self.found(&root, &inside).map_err(|error| told(path, &error))?;
        let text = String::from_utf8(bytes).map_err(|_| {
            format!("{} is not text: only notes can be read here; open it with another program", plain(path))
        })?;
        // What it says of itself are pieces of it.
        let text = veil.without_secrets(&text).into_owned();
        let note = Note::read(&text);
        let mut remarks: Vec<String> = remark.into_iter().chain(note.remark.clone()).collect();
        // A note can be read whatever becomes of its index.
        let leads = self
            .library
            .followed(&inside, &note.links)
            .and_then(|leads| Ok((leads, self.library.backlinks(&inside)?)));
        let (leads, backlinks) = leads.unwrap_or_else(|error| {
            remarks.push(format!("links are not followed: {error}"));
            (vec![None; note.links.len()], Vec::new())
        });
        let links: Vec<Value> =
            note.links.iter().zip(leads).map(|(link, path)| link.told(path.as_deref())).collect();
        let mut facts = json!({
            "path": inside,
            "title": note.title_at(&inside),
            "frontmatter": note.front,
            "tags": note.tags,
            "links": links,
            "backlinks": backlinks,
        });
        if let (Some(members), false) = (facts.as_object_mut(), remarks.is_empty()) {
            members.insert("remarks".to_owned(), remarks.into());
        }
        Ok(Reading { text, facts })
    }

    /// The text of a note that was found. Blocks.
    pub(crate) fn text(&self, inside: &str) -> Result<String, String> {
        let bytes = self.place(inside)?.0.read(inside, MOST).map_err(|error| error.to_string())?;
        Ok(String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
    }

    /// The file that is meant, and its bytes.
    fn found(&self, root: &Root, inside: &str) -> Result<(String, Vec<u8>), FileError> {
        let missing = match root.read(inside, MOST) {
            Err(error) if error.why == Why::Missing => error,
            other => return other.map(|bytes| (inside.to_owned(), bytes)),
        };
        if has_ending(inside) && !inside.to_ascii_lowercase().ends_with(".md") {
            return Err(missing);
        }
        let whole = format!("{inside}.md");
        match root.read(&whole, MOST) {
            Err(error) if error.why == Why::Missing => {}
            other => return other.map(|bytes| (whole, bytes)),
        }
        // As a link of that name would lead.
        let named = if inside.contains('/') { None } else { self.library.find(inside, "").ok().flatten() };
        let Some(path) = named else { return Err(missing) };
        root.read(&path, MOST).map(|bytes| (path, bytes))
    }
}

fn told(path: &str, error: &FileError) -> String {
    match error.why {
        Why::Missing => format!(
            "file not found: {} is not in the vault; look for it with vault_search or vault_list",
            plain(path)
        ),
        Why::Escapes | Why::Empty => error.to_string(),
        _ => format!("failed to read file: {error}"),
    }
}
