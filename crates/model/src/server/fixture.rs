//! Variables and secrets that the tests of this folder know.

use super::expand::Lookup;
use crate::secret::Secret;

/// A few of each.
pub(super) struct Known;

impl Lookup for Known {
    fn variable(&self, name: &str) -> Option<String> {
        let value = match name {
            "DIR" => "/srv",
            "EMPTY" => "",
            "API_KEY" => "value-of-the-key",
            "TRICK" => "${secret:API_KEY}$DIR",
            "BREAK" => "a\nb",
            "NUL" => "a\0b",
            _ => return None,
        };
        Some(value.to_owned())
    }

    fn secret(&self, name: &str) -> Option<Secret> {
        let value = match name {
            "API_KEY" => "value-of-the-key",
            "ODD" => "p@ss/w?r#d%41 ü",
            "PLACE" => "https://h:1/mcp?x=y",
            "HOST" => "h:1",
            _ => return None,
        };
        Some(Secret::new(value.to_owned()))
    }

    fn home(&self) -> Option<String> {
        Some("/users/ada".to_owned())
    }
}
