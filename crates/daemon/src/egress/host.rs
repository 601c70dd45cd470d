//! Where a program wants to go: a host name or an address, in one spelling, so that what is checked is what is meant.
//!
//! Resolvers take more for an address than people do (`127.1`, `0x7f.1`, `2130706433`); a name that ends in a number is
//! therefore an address in its usual form, or nothing.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A host that can be looked up or connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Host {
    /// A name: lower case, no dot at its end.
    Name(String),
    /// An address.
    Address(IpAddr),
}

/// Why something is no host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadHost {
    /// A number that is no address in its usual form.
    Number,
    /// Letters that name servers do not know.
    NotAscii,
    /// Anything else.
    NotAName,
}

/// The longest name, and the longest part of one, that name servers know.
const LONGEST: usize = 253;
const LONGEST_LABEL: usize = 63;

impl Host {
    /// Reads one as it stands in a URL, an IPv6 address in its brackets.
    pub(crate) fn parse(text: &str) -> Result<Self, BadHost> {
        if !text.is_ascii() {
            return Err(BadHost::NotAscii);
        }
        if let Some(inner) = text.strip_prefix('[') {
            let address = inner.strip_suffix(']').and_then(|inner| inner.parse::<Ipv6Addr>().ok());
            return address.map(|address| Self::Address(address.into())).ok_or(BadHost::NotAName);
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        if name.len() > LONGEST || !name.split('.').all(is_label) {
            return Err(BadHost::NotAName);
        }
        if name.rsplit('.').next().is_some_and(is_number) {
            let address = text.parse::<Ipv4Addr>().map_err(|_| BadHost::Number)?;
            return Ok(Self::Address(address.into()));
        }
        Ok(Self::Name(name.to_ascii_lowercase()))
    }
}

fn is_label(label: &str) -> bool {
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=LONGEST_LABEL).contains(&label.len())
        && label.bytes().all(sound)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

/// Whether a resolver would take it for a number.
fn is_number(label: &str) -> bool {
    let hexadecimal = label.strip_prefix("0x").or_else(|| label.strip_prefix("0X"));
    match hexadecimal {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => label.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_have_one_spelling() {
        for (text, shown) in [
            ("example.org", "example.org"),
            ("Example.ORG.", "example.org"),
            ("localhost", "localhost"),
            ("_dmarc.a-b.example", "_dmarc.a-b.example"),
            ("1password.com", "1password.com"),
            ("0xygen.example", "0xygen.example"),
            ("xn--bcher-kva.example", "xn--bcher-kva.example"),
            ("127.0.0.1", "127.0.0.1"),
            ("[::1]", "[::1]"),
            ("[2606:4700:0:0::1111]", "[2606:4700::1111]"),
            ("[::ffff:10.0.0.1]", "[::ffff:10.0.0.1]"),
        ] {
            assert_eq!(Host::parse(text).map(|host| host.to_string()), Ok(shown.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_a_resolver_would_take_for_an_address_is_none() {
        for text in [
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "127.1",
            "127.0.1",
            "0177.0.0.1",
            "127.0.0.01",
            "127.0.0.0x1",
            "127.0.0.1.",
            "256.0.0.1",
            "1.2.3.4.5",
            "example.1",
            "a.0x",
        ] {
            assert_eq!(Host::parse(text), Err(BadHost::Number), "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        let long = format!("{}example", "a.".repeat(130));
        for text in [
            "",
            ".",
            "..",
            "a..b",
            ".a",
            "a b",
            "a\tb",
            "a/b",
            "user@a",
            "user:pw@a",
            "a:443",
            "a%00",
            "-a.example",
            "a-.example",
            "::1",
            "[::1",
            "::1]",
            "[fe80::1%eth0]",
            "[fe80::1%25eth0]",
            "[127.0.0.1]",
            "[]",
            "a\0",
            "*.a",
            &"a".repeat(64),
            &long,
        ] {
            assert_eq!(Host::parse(text), Err(BadHost::NotAName), "{text}");
        }
        assert_eq!(Host::parse("bücher.example"), Err(BadHost::NotAscii));
        assert_eq!(Host::parse("１２７.0.0.1"), Err(BadHost::NotAscii));
    }
}
