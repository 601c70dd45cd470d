//! Credentials that people wrote straight into an entry, or that its variables stand for: they are hidden like secrets.

use covenant_model::secret::Secret;
use covenant_model::server::{Lookup, NotExpanded, Sight, expand, expand_url};
use reqwest::Url;
use serde_json::{Map, Value};

use crate::secrets::literal::{is_likely, is_named_so, name, spoken};

/// What in the keys of an entry must not be shown, under the name it stands at. Whether the entry is sound does not
/// matter.
pub(crate) fn credentials(keys: &Map<String, Value>, lookup: &dyn Lookup) -> Vec<(String, Secret)> {
    let mut found = Vec::new();
    for part in ["env", "headers", "header"] {
        for (key, value) in keys.get(part).and_then(Value::as_object).into_iter().flatten() {
            if let Some(text) = value.as_str()
                && is_named_so(key)
                // The secret is hidden under its own name already.
                && !text.contains("${secret:")
                && let Some(value) = value_of(text, lookup)
            {
                found.extend(spoken(&name(key), &value));
            }
        }
    }
    let url = keys.get("url").and_then(Value::as_str).and_then(|url| told(url, expand_url(url, lookup)));
    found.extend(url.into_iter().flat_map(|url| in_url(&url)));
    found
}

/// What a text stands for; the text itself where it cannot be filled in and yet says something.
fn value_of(text: &str, lookup: &dyn Lookup) -> Option<String> {
    told(text, expand(text, Sight::Private, lookup))
}

fn told(text: &str, filled: Result<String, NotExpanded>) -> Option<String> {
    match filled {
        Ok(value) => Some(value),
        Err(_) if text.starts_with('$') => None,
        Err(_) => Some(text.to_owned()),
    }
}

/// The password, or a user without one, and the parameters of the query that look like credentials.
fn in_url(url: &str) -> Vec<(String, Secret)> {
    let Ok(url) = Url::parse(url.trim()) else { return Vec::new() };
    let mut found = Vec::new();
    let user = Some(url.username()).filter(|user| !user.is_empty());
    if let Some(password) = url.password().or(user) {
        found.extend(spoken("URL_PASSWORD", password));
        // Escapes of a value are found; the value of its escapes is not.
        found.extend(spoken("URL_PASSWORD", &unescaped(password)));
    }
    for (key, value) in url.query_pairs() {
        if is_likely(&key, &value) {
            found.extend(spoken(&name(&key), &value));
        }
    }
    found
}

/// The text with `%41` read as `A`.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).filter(|two| *first == b'%' && two.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|two| std::str::from_utf8(two).ok());
        let byte = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { behind.get(2..).unwrap_or_default() } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::secrets::Secrets;
    use crate::servers::known::Known;

    fn found(keys: Value) -> Vec<(String, String)> {
        let environment = |name: &str| (name == "TOKEN_OF_ADA").then(|| "$from-the-environment".to_owned());
        let known = Known { secrets: &Secrets::default(), environment: &environment, plugin: None };
        let Value::Object(keys) = keys else { panic!("no object") };
        let found = credentials(&keys, &known).into_iter();
        found.map(|(name, secret)| (name, secret.reveal().to_owned())).collect()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn values_under_names_that_look_like_credentials_are_found() {
        let env =
            json!({"env": {"API_KEY": "key-value-1", "LEVEL": "not-a-secret", "TOKEN": "short", "N_KEY": 7}});
        assert_eq!(found(env), pairs(&[("API_KEY", "key-value-1")]));
        let header = json!({"header": {"Authorization": "Bearer header-value"}});
        assert_eq!(
            found(header),
            pairs(&[("AUTHORIZATION", "Bearer header-value"), ("AUTHORIZATION", "header-value")])
        );
        let named =
            json!({"env": {"API_KEY": "${secret:NAMED}", "OTHER_KEY": "$NOWHERE"}, "headers": [1], "url": 1});
        assert_eq!(found(named), []);
    }

    #[test]
    fn what_a_variable_stands_for_is_found() {
        let env = json!({"env": {"API_KEY": "$TOKEN_OF_ADA"}});
        assert_eq!(found(env), pairs(&[("API_KEY", "$from-the-environment")]));
    }

    #[test]
    fn credentials_in_urls_are_found() {
        for (url, expected) in [
            (
                "https://ada:pass%20word@h/mcp",
                &[("URL_PASSWORD", "pass%20word"), ("URL_PASSWORD", "pass word")][..],
            ),
            (
                "https://token-of-ada@h/mcp",
                &[("URL_PASSWORD", "token-of-ada"), ("URL_PASSWORD", "token-of-ada")],
            ),
            ("https://h/?api-key=abcdefg&page=second", &[("API_KEY", "abcdefg")]),
            ("https://h/?x=0123456789abcdef", &[("X", "0123456789abcdef")]),
            ("https://h/mcp", &[]),
            ("no url: key=abcdefgh", &[]),
        ] {
            assert_eq!(found(json!({"url": url})), pairs(expected), "{url}");
        }
    }
}
