//! How a question is asked: what somebody wrote becomes parameters and quoted texts, never syntax.

use std::fmt::Write as _;

use covenant_model::note::{Query, What};

/// The parts of a statement.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// What the words must fit.
    pub(super) matching: Option<String>,
    /// The same for what stands out: title, headings, tags and path, and the title alone.
    pub(super) standing_out: [String; 2],
    /// Further conditions on `note`, each with its parameters.
    conditions: Vec<String>,
    values: Vec<String>,
}

impl Plan {
    /// How that question is asked.
    pub(super) fn of(query: &Query) -> Self {
        let mut plan = Self::default();
        let (mut wanted, mut unwanted) = (Vec::new(), Vec::new());
        for term in &query.terms {
            match &term.what {
                What::Word(text) | What::Phrase(text) if !text.chars().any(char::is_alphanumeric) => {}
                // Two letters begin too much.
                What::Word(text) if term.wanted && text.len() > 2 => {
                    // The word itself counts twice, so that it comes before longer ones that begin so.
                    wanted.push(format!("({0} OR {0} *)", quoted(text)));
                }
                What::Word(text) | What::Phrase(text) => {
                    if term.wanted { &mut wanted } else { &mut unwanted }.push(quoted(text));
                }
                What::Tag(tag) => plan.tagged(tag, term.wanted),
                What::Path(part) => {
                    let test = if term.wanted { "> 0" } else { "= 0" };
                    plan.condition(&format!("instr(note.folded, ?) {test}"), [part.clone()]);
                }
            }
        }
        if let Some(under) = &query.under {
            plan.condition("note.path >= ? AND note.path < ?", range(under));
        }
        plan.words(&wanted, &unwanted);
        plan
    }

    fn tagged(&mut self, tag: &str, wanted: bool) {
        // The plus keeps the set from being gone through for every note.
        let [from, to] = range(tag);
        let test = if wanted { "IN" } else { "NOT IN" };
        let sql = format!("+note.id {test} (SELECT note FROM tag WHERE tag = ? OR (tag >= ? AND tag < ?))");
        self.condition(&sql, [tag.to_owned(), from, to]);
    }

    fn words(&mut self, wanted: &[String], unwanted: &[String]) {
        let not = unwanted.join(" OR ");
        match (wanted, unwanted) {
            ([], []) => {}
            ([], _) => {
                self.condition("+note.id NOT IN (SELECT rowid FROM words WHERE words MATCH ?)", [not]);
            }
            _ => {
                let (all, not) =
                    (wanted.join(" AND "), if not.is_empty() { not } else { format!(" NOT ({not})") });
                self.standing_out = ["title headings tags path", "title"]
                    .map(|columns| format!("({{{columns}}} : ({all})){not}"));
                self.matching = Some(format!("({all}){not}"));
            }
        }
    }

    /// Adds a condition, whose marks become those of its parameters.
    fn condition<const N: usize>(&mut self, sql: &str, values: [String; N]) {
        let mut written = String::new();
        let mut number = self.values.len() + 1;
        for (index, part) in sql.split('?').enumerate() {
            if index > 0 {
                number += 1;
                // Writing to a `String` cannot fail.
                let _ = write!(written, "?{number}");
            }
            written.push_str(part);
        }
        self.conditions.push(written);
        self.values.extend(values);
    }

    /// The further conditions, to stand behind a first one. Their parameters begin with the second.
    pub(super) fn tail(&self) -> String {
        let mut tail = String::new();
        for condition in &self.conditions {
            let _ = write!(tail, " AND ({condition})");
        }
        tail
    }

    pub(super) fn values(&self) -> &[String] {
        &self.values
    }
}

/// What begins with that and a slash: `/` comes right before `0`.
fn range(path: &str) -> [String; 2] {
    [format!("{path}/"), format!("{path}0")]
}

/// A text as FTS5 takes it as words, whatever it holds.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}
