//! What a script says of itself in the comments at its top: `# @description: …`, `@author`, `@version`, `@secrets: A, B`.

use serde::Serialize;

/// How many lines a header has at most, and how many characters one of them.
const LINES: usize = 64;
const LONGEST: usize = 500;

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

impl Header {
    /// Reads the comments before the first line that is none.
    pub fn of(text: &str) -> Self {
        let mut header = Self::default();
        let lines = text.trim_start_matches('\u{feff}').lines().take(LINES).map(str::trim);
        for line in lines.take_while(|line| line.is_empty() || line.starts_with('#')) {
            let said =
                line.trim_start_matches('#').trim().strip_prefix('@').and_then(|said| said.split_once(':'));
            let Some((key, value)) = said else { continue };
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

    fn name_secrets(&mut self, value: &str) {
        for name in value.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            if self.secrets.len() < SECRETS && !self.secrets.iter().any(|known| known == name) {
                self.secrets.push(name.to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
