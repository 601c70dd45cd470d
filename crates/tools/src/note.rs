//! One note as Obsidian writes it: its front matter, its title, headings and tags, and where it leads.

mod front;
mod lines;
mod links;
mod resolve;
mod snippet;
mod tags;

pub use links::Link;
pub use resolve::resolve;
pub(crate) use snippet::Sought;

use serde_json::{Map, Value};

use lines::Lines;

/// The most of each thing that is taken from one note.
const MOST: usize = 2000;

/// A note that was read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Note {
    /// Its front matter; empty where there is none.
    pub front: Map<String, Value>,
    /// What is wrong with its front matter, which is text then.
    pub remark: Option<String>,
    /// What it calls itself: in its front matter, else in its first heading.
    pub title: Option<String>,
    /// Its headings, in order.
    pub headings: Vec<String>,
    /// Its tags without `#`, each once, in order.
    pub tags: Vec<String>,
    /// Its links and embeds, in order.
    pub links: Vec<Link>,
}

impl Note {
    /// Reads one. Every text is a note.
    pub fn read(text: &str) -> Self {
        let (read, body) = front::split(text);
        let (front, remark) = match read {
            Ok(front) => (front, None),
            Err(error) => (Map::new(), Some(format!("the front matter is read as text: {error}"))),
        };
        let mut note = Self { remark, ..Self::default() };
        let mut tags = tags::Tags::default();
        for name in ["tags", "tag"] {
            tags.written(front.get(name));
        }
        for value in front.values() {
            links::written(value, &mut note.links);
        }
        for line in Lines::of(body) {
            if let Some(heading) = line.heading() {
                note.headings.push(heading.to_owned());
            }
            for piece in line.prose() {
                tags.inline(piece);
                links::inline(piece, &mut note.links);
            }
        }
        note.headings.truncate(MOST);
        note.links.truncate(MOST);
        note.title = titled(&front).or_else(|| note.headings.first().cloned());
        note.tags = tags.all();
        note.front = front;
        note
    }

    /// What it is called, given where it lies.
    pub fn title_at(&self, path: &str) -> String {
        let name = || covenant_model::note::without_md(path.rsplit('/').next().unwrap_or(path)).to_owned();
        self.title.clone().unwrap_or_else(name)
    }
}

fn titled(front: &Map<String, Value>) -> Option<String> {
    match front.get("title")? {
        Value::String(title) if !title.trim().is_empty() => Some(title.trim().to_owned()),
        Value::Number(title) => Some(title.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
