//! What was tried, in which language, and what stopped it: the table a run of the suite prints.

use std::fmt::Write as _;

/// Rows in the order they came.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<Row>,
}

struct Row {
    tried: String,
    answers: [String; 3],
    means: String,
}

impl Table {
    /// Writes down what one language was told.
    pub(crate) fn tell(&mut self, tried: &str, language: super::Language, answer: &str, means: &str) {
        let place = self.rows.iter().position(|row| row.tried == tried).unwrap_or_else(|| {
            let answers = [const { String::new() }; 3];
            self.rows.push(Row { tried: tried.to_owned(), answers, means: means.to_owned() });
            self.rows.len() - 1
        });
        let column = super::Language::ALL.iter().position(|known| *known == language).unwrap();
        let cell = &mut self.rows[place].answers[column];
        if !cell.contains(answer) {
            let between = if cell.is_empty() { "" } else { "|" };
            cell.push_str(between);
            cell.push_str(answer);
        }
    }

    /// All of it.
    pub(crate) fn text(&self, title: &str) -> String {
        let mut text = format!("\n== {title}: {} attacks\n", self.rows.len());
        writeln!(text, "{:<52} {:<24} {:<24} {:<24} by", "tried", "rust", "python", "node").unwrap();
        for Row { tried, answers: [rust, python, node], means } in &self.rows {
            let cut = |cell: &str| cell.chars().take(24).collect::<String>();
            let (rust, python, node) = (cut(rust), cut(python), cut(node));
            let tried: String = tried.chars().take(52).collect();
            writeln!(text, "{tried:<52} {rust:<24} {python:<24} {node:<24} {means}").unwrap();
        }
        text
    }
}
