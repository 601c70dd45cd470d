//! `[http]`: where the daemon listens, and under which names it answers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::Invalid;

/// The keys of this section.
pub(super) const KEYS: &[&str] = &[
    "listen",
    "tls_cert",
    "tls_key",
    "behind_proxy",
    "public_url",
    "allowed_hosts",
    "session_idle_secs",
    "max_sessions",
    "remote_admin",
];

/// How many seconds a session may be idle: below that, a client that thinks would lose its session.
const IDLE: RangeInclusive<u64> = 60..=366 * 86_400;

/// How many sessions there may be.
const SESSIONS: RangeInclusive<usize> = 1..=1_000_000;

/// Where the daemon listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Http {
    /// Address and port; port 0 takes any that is free.
    pub listen: String,
    /// The file with the certificate, and those between it and a root, in PEM. Empty: no TLS.
    pub tls_cert: String,
    /// The file with its private key, in PEM.
    pub tls_key: String,
    /// Whether a proxy that speaks TLS stands before it.
    pub behind_proxy: bool,
    /// What people and agents type, where that is not localhost.
    pub public_url: String,
    /// Host names it answers to beside localhost and that of `public_url`.
    pub allowed_hosts: Vec<String>,
    /// How long an MCP session may be idle before it ends.
    pub session_idle_secs: u64,
    /// How many MCP sessions there may be; beyond that, the one idle longest ends.
    pub max_sessions: usize,
    /// Whether servers with a `command`, or with variables and secrets of this machine, can be added from other machines.
    pub remote_admin: bool,
}

impl Default for Http {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:8421".to_owned(),
            tls_cert: String::new(),
            tls_key: String::new(),
            behind_proxy: false,
            public_url: String::new(),
            allowed_hosts: Vec::new(),
            session_idle_secs: 86_400,
            max_sessions: 10_000,
            remote_admin: false,
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

    /// Whether its ports speak TLS.
    pub fn tls(&self) -> bool {
        !self.tls_cert.is_empty()
    }

    /// The scheme and authority of `public_url`.
    pub fn public_origin(&self) -> Option<(&str, &str)> {
        let (scheme, rest) = self.public_url.split_once("://")?;
        Some((scheme, rest.trim_end_matches('/')))
    }

    /// What stands before the path in every URL of a daemon that listens there.
    pub(crate) fn origin(&self, listen: Option<&SocketAddr>) -> String {
        let port = listen.map_or(8421, SocketAddr::port);
        match self.public_origin() {
            Some((scheme, host)) => format!("{scheme}://{host}"),
            None => format!("{}://localhost:{port}", if self.tls() { "https" } else { "http" }),
        }
    }

    /// The same in links that people open: of an address that every browser takes for this machine.
    pub(crate) fn place(&self, listen: Option<&SocketAddr>) -> String {
        match listen {
            Some(address) if self.public_url.is_empty() && !self.tls() => {
                format!("http://127.0.0.1:{}", address.port())
            }
            _ => self.origin(listen),
        }
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        if parse(&self.listen).is_none() {
            let reason =
                format!("is `{}`: write an address and a port, such as \"127.0.0.1:8421\"", self.listen);
            return Err(Invalid::new("http.listen", reason));
        }
        self.check_tls()?;
        self.check_sessions()?;
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

    fn check_tls(&self) -> Result<(), Invalid> {
        match (self.tls_cert.is_empty(), self.tls_key.is_empty()) {
            (false, true) => {
                let reason =
                    "is set and `http.tls_key` is not: TLS needs both; name the certificate's key as well";
                Err(Invalid::new("http.tls_cert", reason))
            }
            (true, false) => {
                let reason =
                    "is set and `http.tls_cert` is not: TLS needs both; name the key's certificate as well";
                Err(Invalid::new("http.tls_key", reason))
            }
            _ => Ok(()),
        }
    }

    fn check_sessions(&self) -> Result<(), Invalid> {
        if !IDLE.contains(&self.session_idle_secs) {
            return Err(Invalid::new("http.session_idle_secs", "must lie between 60 seconds and a year"));
        }
        if !SESSIONS.contains(&self.max_sessions) {
            return Err(Invalid::new("http.max_sessions", "must lie between 1 and 1000000"));
        }
        Ok(())
    }

    /// Refuses to be reached from other machines without encryption.
    pub(super) fn check_reach(&self) -> Result<(), Invalid> {
        let open = self.addresses().iter().any(|address| !address.ip().is_loopback());
        if open && !self.behind_proxy && !self.tls() {
            let reason = format!(
                "is {}, which other machines can reach, and tokens would cross the network unencrypted; listen on \
                 127.0.0.1, or name a certificate in `tls_cert` and `tls_key`, or put a proxy that speaks TLS in front and \
                 say `behind_proxy = true`",
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
