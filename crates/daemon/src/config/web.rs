//! `[web]`: which names lead out although they do not lead to a public address.

use serde::{Deserialize, Serialize};

use super::Invalid;
use crate::egress::host::{BadHost, Host};

/// The keys of this section.
pub(super) const KEYS: &[&str] = &["allow_hosts"];

/// How many names there may be: each request is held against all of them.
const MOST: usize = 1000;

/// Where programs and tools may go beyond the public Internet.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Web {
    /// Host names that may be reached wherever they lead, this machine included.
    pub allow_hosts: Vec<String>,
}

impl Web {
    /// Whether a host may be reached wherever it leads. It is the name as it was written that counts: an address never
    /// does, nor the name of something else that leads to the same place.
    pub(crate) fn allows(&self, name: &str) -> bool {
        let listed = |entry: &String| entry.trim_end_matches('.').eq_ignore_ascii_case(name);
        self.allow_hosts.iter().any(listed)
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        let invalid = |reason: String| Err(Invalid::new("web.allow_hosts", reason));
        if self.allow_hosts.len() > MOST {
            return invalid(format!("holds more than {MOST} names"));
        }
        for entry in &self.allow_hosts {
            if let Some(wrong) = wrong(entry) {
                let shown: String = entry.chars().take(64).flat_map(char::escape_debug).collect();
                return invalid(format!("holds `{shown}`, {wrong}"));
            }
        }
        Ok(())
    }
}

/// What is wrong with an entry, and what to write instead.
fn wrong(entry: &str) -> Option<&'static str> {
    if entry.contains('*') {
        return Some("and names are matched whole: write each name out");
    }
    match Host::parse(entry) {
        Ok(Host::Name(_)) => None,
        Ok(Host::Address(_)) | Err(BadHost::Number) => {
            Some("which is an address: only names are let through, so write the name that leads there")
        }
        Err(BadHost::NotAscii) => {
            Some("which is not in ASCII: write it as name servers know it, such as \"xn--bcher-kva.example\"")
        }
        Err(BadHost::NotAName) => {
            Some("which is no host name: write it without scheme, port and path, such as \"git.example.org\"")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn web(entries: &[&str]) -> Web {
        Web { allow_hosts: entries.iter().map(|&entry| entry.to_owned()).collect() }
    }

    #[test]
    fn a_name_is_allowed_as_it_is_written_and_no_other() {
        let web = web(&["Git.Example.org", "localhost", "dotted.example.org."]);
        assert_eq!(web.check(), Ok(()));
        for name in ["git.example.org", "GIT.EXAMPLE.ORG", "localhost", "dotted.example.org"] {
            assert!(web.allows(name), "{name}");
        }
        for name in ["example.org", "a.git.example.org", "git.example.org.evil.example", "127.0.0.1", ""] {
            assert!(!web.allows(name), "{name}");
        }
    }

    #[test]
    fn what_is_no_name_is_refused_with_what_to_write() {
        for (entry, part) in [
            ("*.example.org", "write each name out"),
            ("*", "write each name out"),
            ("127.0.0.1", "which is an address"),
            ("::1", "no host name"),
            ("[::1]", "which is an address"),
            ("2130706433", "which is an address"),
            ("0x7f.1", "which is an address"),
            ("git.example.org:443", "without scheme, port"),
            ("https://git.example.org", "without scheme, port"),
            ("git.example.org/path", "without scheme, port"),
            ("ada@git.example.org", "without scheme, port"),
            ("bücher.example", "xn--"),
            ("a b", "no host name"),
            ("", "no host name"),
            (".", "no host name"),
        ] {
            let refused = web(&["git.example.org", entry]).check().unwrap_err();
            assert!(refused.reason.contains(part), "{entry}: {refused:?}");
        }
        assert!(web(&vec!["a.example"; MOST + 1]).check().is_err());
    }
}
