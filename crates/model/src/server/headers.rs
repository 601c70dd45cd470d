//! Which headers an entry may send to its server: legal ones that are not ours to set.

use std::collections::BTreeMap;

use super::expand::{Lookup, Sight};
use super::resolve::{BadEntry, filled_in, shown};
use crate::secret::Secret;

/// The most headers of one entry.
const MOST: usize = 64;

/// What a request has of its own, in lower case; so has everything that begins with `mcp-`.
const OURS: &[&str] = &[
    "accept",
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "keep-alive",
    "last-event-id",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The headers with their secrets in place.
pub(super) fn resolve(
    headers: &BTreeMap<String, String>,
    lookup: &dyn Lookup,
) -> Result<BTreeMap<String, Secret>, BadEntry> {
    if headers.len() > MOST {
        return Err(BadEntry::new("headers", format!("holds more than {MOST} headers")));
    }
    let mut resolved = BTreeMap::new();
    let mut seen = Vec::new();
    for (name, value) in headers {
        check_name(name)?;
        let lower = name.to_ascii_lowercase();
        if seen.contains(&lower) {
            let reason = format!("holds `{}` twice, once in another case: keep one", shown(name));
            return Err(BadEntry::new("headers", reason));
        }
        seen.push(lower);
        let key = format!("headers.{name}");
        let value = filled_in(&key, value, Sight::Private, lookup)?;
        if !value.bytes().all(|b| b == b'\t' || (b' '..=b'~').contains(&b)) {
            let reason = "has a value that cannot be sent: it must be one line of plain ASCII";
            return Err(BadEntry::new(key, reason));
        }
        resolved.insert(name.clone(), Secret::new(value.trim().to_owned()));
    }
    Ok(resolved)
}

fn check_name(name: &str) -> Result<(), BadEntry> {
    let wrong = |reason: &str| {
        let reason = format!("holds `{}`, {reason}", shown(name));
        Err(BadEntry::new("headers", reason))
    };
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if !(1..=128).contains(&name.len()) || !name.bytes().all(token) {
        return wrong("which is no name of a header");
    }
    let lower = name.to_ascii_lowercase();
    if lower.starts_with("mcp-") || OURS.contains(&lower.as_str()) {
        return wrong("which is set anew with each request: remove it");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::fixture::Known;

    fn tried(headers: &[(&str, &str)]) -> Result<BTreeMap<String, Secret>, BadEntry> {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        resolve(&headers.iter().map(pair).collect(), &Known)
    }

    #[test]
    fn legal_headers_get_their_secrets() {
        let resolved =
            tried(&[("Authorization", "Bearer ${secret:API_KEY}"), ("X-Dir", " $DIR\t"), ("X-None", "")]);
        let resolved = resolved.unwrap();
        assert_eq!(resolved["Authorization"].reveal(), "Bearer value-of-the-key");
        assert_eq!((resolved["X-Dir"].reveal(), resolved["X-None"].reveal()), ("/srv", ""));
        assert!(!format!("{resolved:?}").contains("value-of"));
    }

    #[test]
    fn what_cannot_be_sent_or_is_ours_is_refused_and_not_quoted() {
        for (name, value, part) in [
            ("", "hunter2", "no name of a header"),
            ("a b", "hunter2", "no name of a header"),
            ("a:b", "hunter2", "no name of a header"),
            ("ä", "hunter2", "no name of a header"),
            ("a\r\nHost", "hunter2", "no name of a header"),
            ("Host", "hunter2", "set anew"),
            ("CONTENT-LENGTH", "hunter2", "set anew"),
            ("Transfer-Encoding", "hunter2", "set anew"),
            ("Connection", "hunter2", "set anew"),
            ("Accept", "hunter2", "set anew"),
            ("Content-Type", "hunter2", "set anew"),
            ("MCP-Protocol-Version", "hunter2", "set anew"),
            ("Mcp-Session-Id", "hunter2", "set anew"),
            ("mcp-anything", "hunter2", "set anew"),
            ("X-A", "hunter2\nhunter2", "one line of plain ASCII"),
            ("X-A", "hunter2$BREAK", "one line of plain ASCII"),
            ("X-A", "hunter2 ä", "one line of plain ASCII"),
            ("X-A", "hunter2$NOWHERE", "`headers.X-A` uses $NOWHERE"),
        ] {
            let refused = tried(&[(name, value)]).unwrap_err().to_string();
            assert!(refused.contains(part) && refused.starts_with("`headers"), "{refused}");
            assert!(!refused.contains("hunter2") && !refused.contains('\n'), "{refused}");
        }
        assert!(tried(&[("X-A", "1"), ("x-a", "2")]).unwrap_err().to_string().contains("twice"));
        let many: Vec<(String, String)> = (0..65).map(|n| (format!("X-{n}"), String::new())).collect();
        assert!(resolve(&many.into_iter().collect(), &Known).is_err());
    }
}
