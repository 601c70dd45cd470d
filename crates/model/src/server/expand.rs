//! What `$VAR`, `${VAR}`, `${secret:NAME}` and `~` stand for in an entry. One pass: what was filled in is not read again.

use std::fmt::Write as _;

use crate::secret::Secret;

/// The most bytes a text may have once it is filled in; a program is not given more in one argument.
const LONGEST: usize = 128 * 1024 - 1;

/// Who knows the values.
pub trait Lookup {
    /// The value of an environment variable.
    fn variable(&self, name: &str) -> Option<String>;
    /// A secret.
    fn secret(&self, name: &str) -> Option<Secret>;
    /// The user's home directory.
    fn home(&self) -> Option<String>;
}

/// Who can see a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// Whoever lists processes: it must hold no secret.
    Open,
    /// Only the server.
    Private,
}

/// Why a text cannot be filled in: the end of a sentence that begins with the key it stands at. It quotes no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotExpanded {
    /// There is no such variable.
    #[error(
        "uses ${0}, which is not set where the daemon runs: set it there, or write `$$` for a dollar sign"
    )]
    Undefined(String),
    /// There is no such secret.
    #[error("uses the secret {0}, and there is none: set it with `covenant secrets set {0}`")]
    NoSecret(String),
    /// A secret where others would see it.
    #[error(
        "uses the secret {0}, and lists of processes would show it to others: put it into `env`, or into `headers` \
         where the server has a `url`"
    )]
    Visible(String),
    /// The closing brace is missing.
    #[error("has a `${{` that is not closed: add the `}}`, or write `$${{` for these two characters")]
    Unclosed,
    /// No name stands between the braces.
    #[error("has `${{{0}}}`, which is no name: write `${{VAR}}`, `${{VAR:-default}}` or `${{secret:NAME}}`")]
    NoName(String),
    /// There is no home directory.
    #[error("begins with `~`, and there is no home directory: set HOME, or write the path in full")]
    NoHome,
    /// It is too long once it is filled in.
    #[error("is longer than 128 KiB: keep such data in a file and name the file instead")]
    TooLong,
}

/// The text with everything in its place.
pub fn expand(text: &str, sight: Sight, lookup: &dyn Lookup) -> Result<String, NotExpanded> {
    fill(text, Filling { filled: String::new(), sight, is_url: false, lookup })
}

/// The same of a URL: a secret that is a part of one is escaped there, whatever its characters mean in URLs.
pub fn expand_url(text: &str, lookup: &dyn Lookup) -> Result<String, NotExpanded> {
    fill(text, Filling { filled: String::new(), sight: Sight::Private, is_url: true, lookup })
}

fn fill(text: &str, mut filling: Filling<'_>) -> Result<String, NotExpanded> {
    let mut rest = text;
    if let Some(behind) = text.strip_prefix('~')
        && (behind.is_empty() || behind.starts_with('/'))
    {
        let home = filling.lookup.home().ok_or(NotExpanded::NoHome)?;
        filling.push(&home)?;
        rest = behind;
    }
    while let Some((before, after)) = rest.split_once('$') {
        filling.push(before)?;
        rest = filling.reference(after)?;
    }
    filling.push(rest)?;
    Ok(filling.filled)
}

/// A text that is being filled in.
struct Filling<'a> {
    filled: String,
    sight: Sight,
    is_url: bool,
    lookup: &'a dyn Lookup,
}

impl Filling<'_> {
    fn push(&mut self, text: &str) -> Result<(), NotExpanded> {
        if self.filled.len().saturating_add(text.len()) > LONGEST {
            return Err(NotExpanded::TooLong);
        }
        self.filled.push_str(text);
        Ok(())
    }

    /// Fills in what stands behind a dollar sign, and gives back what follows it.
    fn reference<'t>(&mut self, after: &'t str) -> Result<&'t str, NotExpanded> {
        if let Some(rest) = after.strip_prefix('$') {
            self.push("$")?;
            return Ok(rest);
        }
        if let Some(open) = after.strip_prefix('{') {
            let (inside, rest) = open.split_once('}').ok_or(NotExpanded::Unclosed)?;
            self.braced(inside, rest)?;
            return Ok(rest);
        }
        let end = after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(after.len());
        let (name, rest) = after.split_at(end);
        if is_name(name) {
            self.variable(name, None)?;
            return Ok(rest);
        }
        // A dollar sign before anything else is one: the end of a pattern, an amount.
        self.push("$")?;
        Ok(after)
    }

    fn braced(&mut self, inside: &str, rest: &str) -> Result<(), NotExpanded> {
        let (name, otherwise) = match inside.split_once(":-") {
            Some((name, otherwise)) => (name, Some(otherwise)),
            None => (inside, None),
        };
        if is_name(name) {
            return self.variable(name, otherwise);
        }
        match inside.strip_prefix("secret:") {
            Some(secret) if is_name(secret) => self.secret(secret, rest),
            _ => Err(NotExpanded::NoName(inside.chars().take(64).flat_map(char::escape_debug).collect())),
        }
    }

    fn variable(&mut self, name: &str, otherwise: Option<&str>) -> Result<(), NotExpanded> {
        let value = self.lookup.variable(name);
        let value = match otherwise {
            // As in a shell: an empty one counts as none.
            Some(otherwise) => value.filter(|value| !value.is_empty()).or(Some(otherwise.to_owned())),
            None => value,
        };
        let value = value.ok_or_else(|| NotExpanded::Undefined(name.to_owned()))?;
        // A secret that is taken from the environment can be written as a variable as well.
        let secret = || self.lookup.secret(name).is_some_and(|secret| secret.reveal() == value);
        if self.sight == Sight::Open && secret() {
            return Err(NotExpanded::Visible(name.to_owned()));
        }
        self.push(&value)
    }

    fn secret(&mut self, name: &str, rest: &str) -> Result<(), NotExpanded> {
        match (self.sight, self.lookup.secret(name)) {
            (Sight::Open, _) => Err(NotExpanded::Visible(name.to_owned())),
            (Sight::Private, Some(secret)) if self.is_url && is_part(&self.filled, rest) => {
                self.push(&escaped(secret.reveal()))
            }
            (Sight::Private, Some(secret)) => self.push(secret.reveal()),
            (Sight::Private, None) => Err(NotExpanded::NoSecret(name.to_owned())),
        }
    }
}

/// Whether what stands between these two is a user, a password, a piece of the path or a value of the query of a URL; a
/// whole URL and a host are none.
fn is_part(before: &str, after: &str) -> bool {
    let Some((_, behind)) = before.split_once("://") else { return false };
    let ends = ['/', '?', '#'];
    behind.contains(ends) || after.split(ends).next().is_some_and(|authority| authority.contains('@'))
}

/// The text with everything escaped that means something in a URL.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

fn is_name(text: &str) -> bool {
    text.len() <= 128
        && text.chars().next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::server::fixture::Known;

    fn private(text: &str) -> Result<String, NotExpanded> {
        expand(text, Sight::Private, &Known)
    }

    #[test]
    fn a_secret_that_is_a_part_of_a_url_is_escaped_there_and_a_whole_one_is_not() {
        let odd = "p%40ss%2Fw%3Fr%23d%2541%20%C3%BC";
        for (url, filled) in [
            ("https://ada:${secret:ODD}@h/mcp", format!("https://ada:{odd}@h/mcp")),
            ("https://${secret:ODD}@h", format!("https://{odd}@h")),
            ("https://h/${secret:ODD}/mcp", format!("https://h/{odd}/mcp")),
            ("https://h/?key=${secret:ODD}&x=$DIR", format!("https://h/?key={odd}&x=/srv")),
            ("https://h?key=${secret:API_KEY}", "https://h?key=value-of-the-key".to_owned()),
            ("${secret:PLACE}", "https://h:1/mcp?x=y".to_owned()),
            ("http://${secret:HOST}/a@b", "http://h:1/a@b".to_owned()),
        ] {
            assert_eq!(expand_url(url, &Known).unwrap(), filled, "{url}");
        }
        assert_eq!(private("${secret:ODD}").unwrap(), "p@ss/w?r#d%41 ü");
    }

    #[test]
    fn variables_secrets_and_the_home_directory_are_filled_in() {
        for (text, filled) in [
            ("", ""),
            ("plain", "plain"),
            ("$DIR/notes", "/srv/notes"),
            ("${DIR}x", "/srvx"),
            ("a$DIR-b", "a/srv-b"),
            ("$DIR$DIR", "/srv/srv"),
            ("$EMPTY", ""),
            ("${EMPTY:-other}", "other"),
            ("${NOWHERE:-other}", "other"),
            ("${NOWHERE:-}", ""),
            ("${DIR:-other}", "/srv"),
            ("~", "/users/ada"),
            ("~/notes", "/users/ada/notes"),
            ("~bob/notes", "~bob/notes"),
            ("a~/b", "a~/b"),
            ("Bearer ${secret:API_KEY}", "Bearer value-of-the-key"),
            ("$$DIR", "$DIR"),
            ("$$$DIR", "$/srv"),
            ("$${DIR}", "${DIR}"),
            ("^a$", "^a$"),
            ("$5 and $ä", "$5 and $ä"),
            ("$TRICK", "${secret:API_KEY}$DIR"),
        ] {
            assert_eq!(private(text).as_deref(), Ok(filled), "{text}");
        }
    }

    #[test]
    fn what_is_not_there_is_named() {
        for (text, part) in [
            ("$NOWHERE", "uses $NOWHERE, which is not set"),
            ("a${NOWHERE}b", "uses $NOWHERE, which is not set"),
            ("${secret:NONE}", "`covenant secrets set NONE`"),
            ("${", "not closed"),
            ("a${DIR", "not closed"),
            ("${}", "no name"),
            ("${a b}", "no name"),
            ("${secret:}", "no name"),
            ("${secret:a-b}", "no name"),
            ("${DIR-x}", "no name"),
            ("${\u{1b}[31m}", "\\u{1b}"),
        ] {
            let refused = private(text).unwrap_err().to_string();
            assert!(refused.contains(part), "{text}: {refused}");
        }
    }

    #[test]
    fn no_secret_goes_where_lists_of_processes_show_it() {
        let open = |text| expand(text, Sight::Open, &Known);
        for text in ["${secret:API_KEY}", "${secret:NONE}", "--key=$API_KEY", "${API_KEY}"] {
            let refused = open(text).unwrap_err();
            assert!(matches!(refused, NotExpanded::Visible(_)), "{text}: {refused}");
        }
        assert_eq!(open("$DIR/a").as_deref(), Ok("/srv/a"));
    }

    #[test]
    fn a_text_does_not_grow_without_bound() {
        assert_eq!(private(&"$DIR".repeat(LONGEST / 4 + 1)), Err(NotExpanded::TooLong));
        assert_eq!(private(&"x".repeat(LONGEST + 1)), Err(NotExpanded::TooLong));
        assert!(private(&"x".repeat(LONGEST)).is_ok());
    }

    proptest! {
        #[test]
        fn any_text_can_be_written_with_double_dollars(text in "[^~].{0,40}") {
            prop_assert_eq!(private(&text.replace('$', "$$")), Ok(text));
        }

        #[test]
        fn no_text_panics_or_gives_a_secret_away(text in ".*", references in "([$~{}:-]|secret:|API_KEY|DIR){0,12}") {
            let _ = private(&text);
            let _ = private(&references);
            if let Ok(open) = expand(&references, Sight::Open, &Known) {
                prop_assert!(!open.contains("value-of-the-key"));
            }
        }
    }
}
