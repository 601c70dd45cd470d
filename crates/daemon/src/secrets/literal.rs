//! Credentials that people wrote where no secret stands: which keys look like one, and what of it is secret.

use covenant_model::secret::{SHORTEST, Secret};

/// Words that make a key look like a credential, in capitals.
const WORDS: &[&str] =
    &["TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "AUTH", "COOKIE", "BEARER"];

/// How long a value is that nobody would type by hand.
const TOKEN: usize = 16;

/// Whether a parameter of a URL is likely to be a credential. Ordinary words must not be: they would be hidden in every
/// result.
pub(crate) fn is_likely(key: &str, value: &str) -> bool {
    is_named_so(key) || value.chars().count() >= TOKEN
}

/// Whether a key is called what credentials are called.
pub fn is_named_so(key: &str) -> bool {
    let name = name(key);
    WORDS.iter().any(|word| name.contains(word))
}

/// The value, and what stands behind a scheme such as `Bearer`; nothing of what is taken from elsewhere or too short.
pub(crate) fn forms(name: &str, value: &str) -> Vec<(String, Secret)> {
    if value.contains("${") || value.starts_with('$') {
        return Vec::new();
    }
    spoken(name, value)
}

/// The same of a value that is taken as it is.
pub(crate) fn spoken(name: &str, value: &str) -> Vec<(String, Secret)> {
    let behind = value.split_once(' ').map(|(_, rest)| rest.trim_start());
    let long = |text: &&str| text.chars().count() >= SHORTEST;
    let forms = std::iter::once(value).chain(behind).filter(long);
    forms.map(|text| (name.to_owned(), Secret::new(text.to_owned()))).collect()
}

/// A key as a secret's name: capitals, digits and `_`.
pub fn name(key: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    key.chars().take(64).map(plain).collect()
}
