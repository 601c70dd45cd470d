//! `[database]`: where things are kept.

use serde::{Deserialize, Serialize};

use super::Invalid;

/// The keys of this section.
pub(super) const KEYS: &[&str] = &["url"];

/// Where things are kept.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Database {
    /// `sqlite:FILE`, relative to the home, or `postgres://…`.
    pub url: String,
}

impl Default for Database {
    fn default() -> Self {
        Self { url: "sqlite:covenant.db".to_owned() }
    }
}

impl std::fmt::Debug for Database {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Database").field("url", &self.shown()).finish()
    }
}

impl Database {
    /// Whether it is a server, which other daemons may use as well.
    pub fn is_server(&self) -> bool {
        !self.url.starts_with("sqlite:")
    }

    /// The URL without its password.
    pub fn shown(&self) -> String {
        let spans = self.password_spans();
        let mut shown = self.url.clone();
        for (start, end) in spans.into_iter().rev() {
            shown.replace_range(start..end, "[REDACTED]");
        }
        shown
    }

    /// The passwords in the URL, before the host or among the parameters, as they are written there.
    pub fn passwords(&self) -> Vec<&str> {
        self.password_spans().into_iter().filter_map(|(start, end)| self.url.get(start..end)).collect()
    }

    fn password_spans(&self) -> Vec<(usize, usize)> {
        let Some(start) = self.url.find("://").map(|at| at + 3) else { return Vec::new() };
        let rest = self.url.get(start..).unwrap_or_default();
        let (place, parameters) =
            rest.split_once('?').map_or((rest, None), |(place, rest)| (place, Some(rest)));
        let mut spans = Vec::new();
        // A password may hold `@` or `/` where someone forgot to escape it: the last `@` ends it.
        if let Some(at) = place.rfind('@')
            && let Some(colon) = place.get(..at).and_then(|user| user.find(':'))
        {
            spans.push((start + colon + 1, start + at));
        }
        let mut offset = start + place.len() + 1;
        for parameter in parameters.into_iter().flat_map(|text| text.split('&')) {
            if let Some((name, value)) = parameter.split_once('=')
                && name.to_ascii_lowercase().contains("password")
            {
                spans.push((offset + name.len() + 1, offset + name.len() + 1 + value.len()));
            }
            offset += parameter.len() + 1;
        }
        spans
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        let file = self.url.strip_prefix("sqlite:").is_some_and(|path| !path.is_empty());
        if file || self.url.starts_with("postgres://") || self.url.starts_with("postgresql://") {
            return Ok(());
        }
        let reason =
            "must be \"sqlite:FILE\", such as \"sqlite:covenant.db\", or \"postgres://USER@HOST/NAME\"";
        Err(Invalid::new("database.url", reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_hidden_wherever_they_stand() {
        for (url, shown) in [
            ("sqlite:covenant.db", "sqlite:covenant.db"),
            ("postgres://ada@db/covenant", "postgres://ada@db/covenant"),
            ("postgres://ada:hunter2hunter2@db:5432/c", "postgres://ada:[REDACTED]@db:5432/c"),
            (
                "postgres://ada:p@ss/wörd@db/c?sslmode=require",
                "postgres://ada:[REDACTED]@db/c?sslmode=require",
            ),
            (
                "postgres://db/c?user=ada&password=secret&x=1",
                "postgres://db/c?user=ada&password=[REDACTED]&x=1",
            ),
            ("postgres://a:one@db/c?sslpassword=two", "postgres://a:[REDACTED]@db/c?sslpassword=[REDACTED]"),
        ] {
            let database = Database { url: url.to_owned() };
            assert_eq!(database.shown(), shown);
            assert!(!format!("{database:?}").contains("hunter2"));
        }
    }
}
