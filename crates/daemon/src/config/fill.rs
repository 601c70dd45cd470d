//! Texts of the configuration in which `${secret:NAME}` stands for a secret.

use covenant_model::secret::{Secret, check_name};

use crate::outbound::{Address, HIDDEN};
use crate::secrets::Secrets;

/// A text with its secrets in their places; the error says which is missing, or cannot be one, or that a place is not
/// closed.
pub(crate) fn filled_in(text: &str, secret: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${secret:") {
        let (name, behind) = after.split_once('}').ok_or("`${secret:` is not closed by `}`")?;
        check_name(name).map_err(|error| error.to_string())?;
        let Some(value) = secret(name) else {
            return Err(format!("there is no secret {name}; set it with: covenant secrets set {name}"));
        };
        filled.push_str(before);
        filled.push_str(&value);
        rest = behind;
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The name of the first secret that stands in a text.
pub(crate) fn named(text: &str) -> Option<&str> {
    text.split_once("${secret:")?.1.split_once('}').map(|(name, _)| name)
}

/// Whether every place for a secret can hold one: the text with something in them, or the end of a sentence.
pub(super) fn could_be_filled(text: &str) -> Result<String, String> {
    filled_in(text, |_| Some("x".to_owned())).map_err(|reason| format!("cannot be used: {reason}"))
}

/// The same with the secrets in effect.
pub(crate) fn with(text: &str, secrets: &Secrets) -> Result<Secret, String> {
    filled_in(text, |name| secrets.get(name).map(|value| value.reveal().to_owned())).map(Secret::new)
}

/// An address with the secrets in effect. The error never quotes it.
pub(crate) fn address(text: &str, secrets: &Secrets) -> Result<Address, String> {
    let whole = with(text, secrets)?;
    Address::parse(whole.reveal()).map_err(|error| error.to_string())
}

/// Whether that could be an address once its secrets are in their places.
pub(super) fn could_be_address(text: &str) -> Result<(), String> {
    let whole = could_be_filled(text)?;
    if text.starts_with("${secret:") {
        // What it begins with is not known before the secret is.
        return Ok(());
    }
    Address::parse(&whole).map(drop).map_err(|error| error.to_string())
}

/// A credential as people may see it: which secret it is, or that it is one.
pub(super) fn hidden(text: &str) -> String {
    let named = text.starts_with("${secret:") && text.find('}').is_some_and(|end| end + 1 == text.len());
    if text.is_empty() || named { text.to_owned() } else { HIDDEN.to_owned() }
}

/// An address as people may see it: its origin.
pub(super) fn hidden_address(text: &str) -> String {
    match Address::parse(text) {
        _ if text.is_empty() => String::new(),
        Ok(address) if address.shown() == text || address.shown() == format!("{text}/") => text.to_owned(),
        Ok(address) => format!("{}/{HIDDEN}", address.origin()),
        Err(_) => hidden(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stand_in_their_places() {
        let filled = filled_in("a ${secret:X}-${secret:Y} b", |name| Some(name.to_lowercase()));
        assert_eq!(filled.as_deref(), Ok("a x-y b"));
        assert!(filled_in("${secret:X", |_| Some(String::new())).unwrap_err().contains("not closed"));
        let odd = filled_in("${secret:nope}", |_| Some(String::new())).unwrap_err();
        assert!(odd.starts_with("`nope` cannot name a secret: use capital letters"), "{odd}");
        assert_eq!(named("Bearer ${secret:X} ${secret:Y}"), Some("X"));
        assert_eq!(named("xoxb-hunter2"), None);
        let missing = with("Bearer ${secret:NOT_THERE}", &Secrets::default()).unwrap_err();
        assert_eq!(missing, "there is no secret NOT_THERE; set it with: covenant secrets set NOT_THERE");
    }

    #[test]
    fn a_credential_is_shown_by_its_name_or_not_at_all() {
        assert_eq!(hidden("${secret:SLACK_TOKEN}"), "${secret:SLACK_TOKEN}");
        for text in ["xoxb-hunter2", "Bearer ${secret:X} hunter2", "${secret:X}hunter2"] {
            assert_eq!(hidden(text), "[REDACTED]", "{text}");
        }
        assert_eq!(hidden_address("https://a.example/path"), "https://a.example/path");
        assert_eq!(hidden_address("https://a.example/?key=hunter2"), "https://a.example/[REDACTED]");
        assert_eq!(hidden_address("https://u:hunter2@a.example/x"), "https://a.example/[REDACTED]");
        assert_eq!(hidden_address("hunter2"), "[REDACTED]");
    }
}
