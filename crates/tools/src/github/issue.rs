//! An issue as GitHub writes it and as we tell it, and the page it stands on.

use covenant_gate::Veil;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

/// An entry of GitHub's list: an issue, or a pull request.
#[derive(Debug, Deserialize)]
pub(super) struct Entry {
    number: u64,
    title: String,
    html_url: String,
    #[serde(default)]
    state: String,
    #[serde(default)]
    created_at: String,
    #[serde(default)]
    labels: Vec<Value>,
    #[serde(default)]
    pull_request: Option<IgnoredAny>,
}

impl Entry {
    /// Takes secrets out of its texts, before any of them is cut or put in one line.
    pub(super) fn hide(&mut self, veil: &Veil) {
        for text in [&mut self.title, &mut self.html_url, &mut self.state, &mut self.created_at] {
            *text = veil.without_secrets(text).into_owned();
        }
        for label in &mut self.labels {
            let name = if label.is_object() { label.get_mut("name") } else { Some(label) };
            if let Some(Value::String(name)) = name {
                *name = veil.without_secrets(name).into_owned();
            }
        }
    }
}

/// An issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Issue {
    pub(crate) number: u64,
    pub(crate) title: String,
    pub(crate) url: String,
    pub(crate) state: String,
    pub(crate) created_at: String,
    pub(crate) labels: Vec<String>,
}

impl From<Entry> for Issue {
    fn from(entry: Entry) -> Self {
        // A label is written as an object, or as its name.
        let name = |label: &Value| label.get("name").unwrap_or(label).as_str().map(line);
        Self {
            number: entry.number,
            title: line(&entry.title),
            url: line(&entry.html_url),
            state: line(&entry.state),
            created_at: line(&entry.created_at),
            labels: entry.labels.iter().filter_map(name).collect(),
        }
    }
}

impl Issue {
    /// It as people read it: two lines.
    pub(crate) fn told(&self) -> String {
        let labels =
            if self.labels.is_empty() { String::new() } else { format!(" [{}]", self.labels.join(", ")) };
        let date = self.created_at.get(..10).unwrap_or(&self.created_at);
        format!("#{}: {}{labels} ({}, {date})\n  {}", self.number, self.title, self.state, self.url)
    }

    /// It as programs read it.
    pub(crate) fn json(&self) -> Value {
        json!({
            "number": self.number,
            "title": self.title,
            "state": self.state,
            "labels": self.labels,
            "url": self.url,
            "created_at": self.created_at,
        })
    }
}

/// A text in one line, so that no title passes for another issue.
fn line(text: &str) -> String {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    text.chars().map(|c| if breaks(c) { ' ' } else { c }).collect()
}

/// A page of issues, as it is filled.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) issues: Vec<Issue>,
    /// Whether GitHub's list went on where we stopped looking.
    pub(crate) cut: bool,
    number: usize,
    size: usize,
    /// How many issues come before it.
    before: usize,
    /// Whether one comes after it.
    more: bool,
}

impl Page {
    /// That page, empty.
    pub(crate) fn new(number: usize, size: usize) -> Self {
        let before = number.saturating_sub(1).saturating_mul(size);
        Self { issues: Vec::new(), cut: false, number, size, before, more: false }
    }

    /// Takes what belongs to it of the next entries.
    pub(super) fn take(&mut self, entries: Vec<Entry>) {
        for entry in entries.into_iter().filter(|entry| entry.pull_request.is_none()) {
            if self.before > 0 {
                self.before -= 1;
            } else if self.issues.len() < self.size {
                self.issues.push(entry.into());
            } else {
                self.more = true;
                return;
            }
        }
    }

    /// Whether it is full, and known to be followed by another.
    pub(super) fn is_full(&self) -> bool {
        self.more
    }

    /// The number of the page after it, if there is one.
    pub(crate) fn next(&self) -> Option<usize> {
        self.more.then(|| self.number + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(value: Value) -> Entry {
        serde_json::from_value(value).unwrap()
    }

    fn entries(numbers: impl IntoIterator<Item = u64>, pulls: &[u64]) -> Vec<Entry> {
        let one = |number: u64| {
            let mut written =
                json!({"number": number, "title": format!("t{number}"), "html_url": "https://x"});
            if pulls.contains(&number) {
                written["pull_request"] = json!({"url": "https://x"});
            }
            entry(written)
        };
        numbers.into_iter().map(one).collect()
    }

    #[test]
    fn an_issue_is_two_lines_whatever_its_title_holds() {
        let issue = Issue::from(entry(json!({
            "number": 7,
            "title": "a\n#8: b\u{2028}c\u{1b}[2J",
            "html_url": "https://github.com/o/r/issues/7",
            "state": "open",
            "created_at": "2026-01-02T03:04:05Z",
            "labels": [{"name": "bug"}, "plain", {"color": "red"}, 5],
            "body": "not told",
        })));
        assert_eq!(
            issue.told(),
            "#7: a #8: b c [2J [bug, plain] (open, 2026-01-02)\n  https://github.com/o/r/issues/7"
        );
        assert_eq!(issue.json()["labels"], json!(["bug", "plain"]));
    }

    #[test]
    fn pages_hold_every_issue_once_and_no_pull_request() {
        let pulls = [1, 2, 3, 7, 10, 11];
        for size in 1..=12 {
            let mut seen = Vec::new();
            let mut number = Some(1);
            while let Some(wanted) = number {
                let mut page = Page::new(wanted, size);
                for start in [1, 5, 9] {
                    page.take(entries(start..start + 4, &pulls));
                    if page.is_full() {
                        break;
                    }
                }
                assert!(page.issues.len() <= size && (page.next().is_none() || page.issues.len() == size));
                seen.extend(page.issues.iter().map(|issue| issue.number));
                number = page.next();
            }
            assert_eq!(seen, [4, 5, 6, 8, 9, 12], "pages of {size}");
        }
    }
}
