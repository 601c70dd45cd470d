//! `[http]`: where the daemon listens, and under which names it answers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use serde::{Deserialize, Serialize};

use super::Invalid;

/// The keys of this section.
pub(super) const KEYS: &[&str] = &["listen", "behind_proxy", "public_url", "allowed_hosts"];

/// Documented keys that this version does not use.
pub(super) const LATER: &[&str] =
    &["tls_cert", "tls_key", "remote_admin", "session_idle_secs", "max_sessions"];

/// Where the daemon listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Http {
    /// Address and port; port 0 takes any that is free.
    pub listen: String,
    /// Whether a proxy that speaks TLS stands before it.
    pub behind_proxy: bool,
    /// What people and agents type, where that is not localhost.
    pub public_url: String,
    /// Host names it answers to beside localhost and that of `public_url`.
    pub allowed_hosts: Vec<String>,
    /// After how many seconds a session of MCP that nobody uses is over.
    pub session_idle_secs: u64,
    /// How many sessions of MCP there may be.
    pub max_sessions: usize,
}

impl Default for Http {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:8421".to_owned(),
            behind_proxy: false,
            public_url: String::new(),
            allowed_hosts: Vec::new(),
            session_idle_secs: 86_400,
            max_sessions: 10_000,
        }
    }
}

impl Http {
    /// The addresses to bind, the one that must work first. Localhost is both of its addresses.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        let Some(address) = parse(&self.listen) else { return Vec::new() };
        let at = |ip: IpAddr| SocketAddr::new(ip, address.port());
        let (v4, v6) = (IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST));
        match address.ip() {
            ip if ip == v4 => vec![address, at(v6)],
            ip if ip == v6 => vec![address, at(v4)],
            _ => vec![address],
        }
    }

    /// The scheme and authority of `public_url`.
    pub fn public_origin(&self) -> Option<(&str, &str)> {
        let (scheme, rest) = self.public_url.split_once("://")?;
        Some((scheme, rest.trim_end_matches('/')))
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        if parse(&self.listen).is_none() {
            let reason =
                format!("is `{}`: write an address and a port, such as \"127.0.0.1:8421\"", self.listen);
            return Err(Invalid::new("http.listen", reason));
        }
        let host = |host: &str| {
            !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.:[]".contains(&b))
        };
        let sound = match self.public_origin() {
            Some((scheme, authority)) => matches!(scheme, "http" | "https") && host(authority),
            None => self.public_url.is_empty(),
        };
        if !sound {
            let reason = "must be an origin, such as \"https://covenant.example.org\"";
            return Err(Invalid::new("http.public_url", reason));
        }
        match self.allowed_hosts.iter().find(|name| !host(name)) {
            Some(name) => {
                let reason = format!("holds `{name}`: write host names, such as \"covenant.example.org\"");
                Err(Invalid::new("http.allowed_hosts", reason))
            }
            None => Ok(()),
        }
    }

    /// Refuses to be reached from other machines without encryption.
    pub(super) fn check_reach(&self) -> Result<(), Invalid> {
        let open = self.addresses().iter().any(|address| !address.ip().is_loopback());
        if open && !self.behind_proxy {
            let reason = format!(
                "is {}, which other machines can reach, and tokens would cross the network unencrypted; listen on \
                 127.0.0.1, or put a proxy that speaks TLS in front and say `behind_proxy = true`",
                self.listen
            );
            return Err(Invalid::new("http.listen", reason));
        }
        Ok(())
    }
}

fn parse(listen: &str) -> Option<SocketAddr> {
    match listen.strip_prefix("localhost:") {
        Some(port) => Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port.parse().ok()?)),
        None => listen.parse().ok(),
    }
}
