//! Whom a message is for: `channel:ID`, `user:ID`, or an id that says by itself what it is.

/// Whom a message is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target<'a> {
    /// A place where several read.
    Channel(&'a str),
    /// One person.
    User(&'a str),
    /// Either.
    Bare(&'a str),
}

impl<'a> Target<'a> {
    /// Reads it.
    pub(crate) fn of(text: &'a str) -> Result<Self, String> {
        let target = if let Some(id) = text.strip_prefix("channel:") {
            Self::Channel(id)
        } else if let Some(id) = text.strip_prefix("user:") {
            Self::User(id)
        } else {
            Self::Bare(text)
        };
        if target.id().is_empty() {
            return Err("`target` names nobody: write `channel:ID`, `user:ID` or an id".to_owned());
        }
        if target.id().chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(
                "`target` has blanks or control characters, and no id has: write `channel:ID`, `user:ID` or \
                        an id"
                    .to_owned(),
            );
        }
        Ok(target)
    }

    /// The id alone.
    pub(crate) fn id(self) -> &'a str {
        match self {
            Self::Channel(id) | Self::User(id) | Self::Bare(id) => id,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_channel_a_user_or_an_id() {
        for (text, target) in [
            ("channel:C1", Target::Channel("C1")),
            ("user:U1", Target::User("U1")),
            ("C1", Target::Bare("C1")),
            ("@ada:example.org", Target::Bare("@ada:example.org")),
            ("channel:#all:example.org", Target::Channel("#all:example.org")),
            ("user:user:x", Target::User("user:x")),
            ("Channel:C1", Target::Bare("Channel:C1")),
        ] {
            assert_eq!(Target::of(text), Ok(target));
        }
    }

    #[test]
    fn a_target_without_an_id_or_with_blanks_is_refused() {
        for text in ["", "channel:", "user:"] {
            assert!(Target::of(text).unwrap_err().contains("names nobody"), "{text:?}");
        }
        for text in [" ", "C1 ", "channel: C1", "C1\n", "user:\u{0}", "C\u{a0}1", "C\u{2028}1"] {
            assert!(Target::of(text).unwrap_err().contains("blanks or control"), "{text:?}");
        }
    }
}
