//! What a script says of itself in the comments at its top: `# @description: …`, `@author`, `@version`, `@secrets: A, B`.

use covenant_model::secret::check_name;
use serde::Serialize;

/// How many lines a header has at most, and how many characters one of them.
const LINES: usize = 64;
const LONGEST: usize = 500;

/// What can be said.
const WORDS: [&str; 4] = ["description", "author", "version", "secrets"];

/// How many secrets it may name.
const SECRETS: usize = 32;

/// What a script says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Header {
    /// What it does.
    pub description: String,
    /// Who wrote it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub author: String,
    /// Which version it is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// The secrets it may ask for. It gets no other.
    pub secrets: Vec<String>,
}

/// Something at the top that will not do what it was written for, and where: lines and columns count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slip {
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) message: String,
    /// Whether the script cannot do its work because of it.
    pub(crate) grave: bool,
}

impl Header {
    /// Reads the comments before the first line that is none.
    pub fn of(text: &str) -> Self {
        let mut header = Self::default();
        for (_, said) in sayings(text) {
            let Some((key, value)) = said.split_once(':') else { continue };
            let value: String = value.trim().chars().filter(|c| !c.is_control()).take(LONGEST).collect();
            match key.trim() {
                "description" => header.description = value,
                "author" => header.author = value,
                "version" => header.version = value,
                "secrets" => header.name_secrets(&value),
                _ => {}
            }
        }
        header
    }

    /// What is wrong with those comments.
    pub(crate) fn slips(text: &str) -> Vec<Slip> {
        let mut slips = Vec::new();
        for (line, said) in sayings(text) {
            let written = text.lines().nth(line).unwrap_or_default();
            // A part of the line, so it is found there.
            let column = |part: &str| {
                let before = written.find(part).and_then(|start| written.get(..start)).unwrap_or_default();
                u32::try_from(before.chars().count() + 1).unwrap_or(u32::MAX)
            };
            let mut slip = |part: &str, grave, message| {
                let line = u32::try_from(line + 1).unwrap_or(u32::MAX);
                slips.push(Slip { line, column: column(part), message, grave });
            };
            let (key, value) = said.split_once(':').unwrap_or((said, ""));
            let word = key.split_whitespace().next().unwrap_or_default();
            if !WORDS.contains(&word) {
                let known = WORDS.map(|word| format!("@{word}")).join(", ");
                slip(key, false, format!("`@{}` says nothing: the words are {known}", shown(word)));
            } else if key.trim() != word || !said.contains(':') {
                slip(key, false, format!("`@{word}` says nothing without a colon: write `# @{word}: …`"));
            } else if word == "secrets" {
                for name in value.split(',').map(str::trim).filter(|name| !name.is_empty()) {
                    if check_name(name).is_err() {
                        let message = format!(
                            "`{}` cannot name a secret: use capital letters, digits and `_`, beginning with a letter, \
                             and commas between the names",
                            shown(name)
                        );
                        slip(name, true, message);
                    }
                }
            }
        }
        slips
    }

    fn name_secrets(&mut self, value: &str) {
        for name in value.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            if self.secrets.len() < SECRETS && !self.secrets.iter().any(|known| known == name) {
                self.secrets.push(name.to_owned());
            }
        }
    }
}

/// What stands behind `@` in the comments at the top, each with the number of its line, from 0.
fn sayings(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.trim_start_matches('\u{feff}').lines().take(LINES).map(str::trim).enumerate();
    let comments = lines.take_while(|(_, line)| line.is_empty() || line.starts_with('#'));
    comments
        .filter_map(|(number, line)| Some((number, line.trim_start_matches('#').trim().strip_prefix('@')?)))
}

/// A word as it may be repeated.
fn shown(word: &str) -> String {
    word.chars().take(64).flat_map(char::escape_debug).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_will_not_work_is_found_where_it_stands() {
        let slips = |text: &str| -> Vec<(u32, u32, bool, String)> {
            Header::slips(text)
                .into_iter()
                .map(|slip| (slip.line, slip.column, slip.grave, slip.message))
                .collect()
        };
        assert_eq!(slips("# @description: a\n# @secrets: A, B_2,\n# plain\nx = 1\n# @odd: x\n"), []);
        let name = |name: &str| {
            format!(
                "`{name}` cannot name a secret: use capital letters, digits and `_`, beginning with a letter, and \
                 commas between the names"
            )
        };
        assert_eq!(
            slips("# x\n# @secrets: lower, B C\n"),
            [(2, 13, true, name("lower")), (2, 20, true, name("B C"))]
        );
        assert_eq!(
            slips("# @descripton: x\n#@author Ada\n"),
            [
                (
                    1,
                    4,
                    false,
                    "`@descripton` says nothing: the words are @description, @author, @version, @secrets"
                        .to_owned()
                ),
                (2, 3, false, "`@author` says nothing without a colon: write `# @author: …`".to_owned()),
            ]
        );
    }

    #[test]
    fn comments_at_the_top_say_what_it_is() {
        let header = Header::of(
            "# Weather\n# @description: Says what the weather is.\n#@author:Ada\n\n# @version: 1.2\n\
             # @secrets: WEATHER_KEY, OTHER ,WEATHER_KEY,\n# @unknown: x\ndef main():\n  # @author: Eve\n  pass\n",
        );
        let expected = Header {
            description: "Says what the weather is.".to_owned(),
            author: "Ada".to_owned(),
            version: "1.2".to_owned(),
            secrets: vec!["WEATHER_KEY".to_owned(), "OTHER".to_owned()],
        };
        assert_eq!(header, expected);
    }

    #[test]
    fn anything_else_says_nothing() {
        for text in ["", "x = 1\n# @description: late", "# description: no", "\"\"\"\n# @secrets: A\n\"\"\""]
        {
            assert_eq!(Header::of(text), Header::default(), "{text}");
        }
        let long = format!("# @description: {}\n# @secrets: {}", "x".repeat(9000), "A,B,".repeat(500));
        let header = Header::of(&long);
        assert_eq!((header.description.len(), header.secrets.len()), (LONGEST, 2));
    }
}
