//! Which parts of an address are credentials. It is read as text: it may hold `${secret:NAME}` where no URL could.

use super::literal;

/// What of an address must not be shown, as it is written there and as it is meant: its password, parameters that are
/// called what credentials are called, and whatever is long enough to be one.
pub(super) fn credentials(written: &str) -> Vec<String> {
    let rest = written.split_once("://").map_or(written, |(_, rest)| rest);
    let (before, behind) = rest.split_at_checked(authority(rest).len()).unwrap_or((rest, ""));
    let mut found = user(before);
    let (path, query) = behind.split_once(['?', '#']).unwrap_or((behind, ""));
    let segments = path.split('/').map(|segment| ("", segment));
    let pairs = query.split(['&', '#', '?']).map(|pair| pair.split_once('=').unwrap_or(("", pair)));
    let likely = segments.chain(pairs).filter(|(name, value)| literal::is_likely(name, value));
    found.extend(likely.flat_map(|(_, value)| both(value)));
    found
}

/// The password before the host, or a user without one.
pub(super) fn user(written: &str) -> Vec<String> {
    let rest = written.split_once("://").map_or(written, |(_, rest)| rest);
    let Some((user, _)) = authority(rest).rsplit_once('@') else { return Vec::new() };
    both(user.split_once(':').map_or(user, |(_, password)| password))
}

/// User, host and port. A password may hold `/` where someone forgot to escape it: then the last `@` ends it.
fn authority(rest: &str) -> &str {
    let place = rest.split(['?', '#']).next().unwrap_or(rest);
    let host = place.split('/').next().unwrap_or(place);
    if host.contains('@') || !host.contains(':') {
        return host;
    }
    let user = place.rfind('@').filter(|at| !is_port(host, *at)).and_then(|at| place.get(..at));
    let Some(after) = user.and_then(|user| place.get(user.len()..)) else { return host };
    let end = after.find('/').unwrap_or(after.len());
    place.get(..place.len() - after.len() + end).unwrap_or(host)
}

/// Whether what stands behind the colon of a host is its port, and so an `@` behind it part of a path.
fn is_port(host: &str, at: usize) -> bool {
    host.len() < at
        && host.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A part as it is written, and without its escapes.
fn both(written: &str) -> Vec<String> {
    let meant = unescaped(written).filter(|meant| meant != written);
    std::iter::once(written.to_owned()).chain(meant).filter(|part| !part.is_empty()).collect()
}

/// What `%40` and its like stand for, if that is text.
fn unescaped(written: &str) -> Option<String> {
    let mut parts = written.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        match part.split_at_checked(2).and_then(|(hex, rest)| Some((u8::from_str_radix(hex, 16).ok()?, rest)))
        {
            Some((byte, rest)) => bytes.extend([byte].iter().chain(rest.as_bytes())),
            None => bytes.extend(b"%".iter().chain(part.as_bytes())),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_a_credential_is_found_wherever_it_stands() {
        for (written, found) in [
            ("https://host.example/api/v3", &[][..]),
            ("https://ada:pass-w@host/x", &["pass-w"]),
            ("https://ada:p%40ss+w@host:8080", &["p%40ss+w", "p@ss+w"]),
            ("https://only-a-user@host/", &["only-a-user"]),
            ("https://ada:p/w@rd@host/x", &["p/w@rd"]),
            ("http://host:8080/m@x.org", &[]),
            ("https://host/cal/0123456789abcdef/basic.ics", &["0123456789abcdef"]),
            (
                "https://host/x?token=abc-1&page=2&q=0123456789abcdef#key=abc-2",
                &["abc-1", "0123456789abcdef", "abc-2"],
            ),
            ("https://host?api_key=a&b", &["a"]),
            ("${secret:URL}", &[]),
            ("https://x:${secret:P}@host/", &["${secret:P}"]),
        ] {
            assert_eq!(credentials(written), found, "{written}");
        }
        assert_eq!(user("ada:proxy-pass@proxy:3128"), ["proxy-pass"]);
        assert_eq!(user("proxy:3128"), [""; 0]);
    }
}
