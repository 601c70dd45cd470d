//! Where a leg of a request may go, and by which way.
//!
//! A name is looked up once, and the addresses found are the only ones that are connected to. By a proxy that is not ours
//! to say: it looks names up itself, and may find another address than we do, or one that we cannot find at all. What is
//! promised then is that no address is asked for that is not public, nor a name that this machine finds to lead nowhere
//! else, nor one that by its form belongs to a private network; the rest is the proxy's to refuse.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use covenant_tools::ports::Reach;
use http::Uri;
use hyper_util::client::proxy::matcher::Intercept;
use reqwest::Url;

use super::Proxies;
use super::trouble::{Trouble, shown};
use crate::egress::Allows;
use crate::egress::denial::Denial;
use crate::egress::host::Host;
use crate::egress::lookup::{self, Lookups, Resolver};

/// How many names are looked up at a time, those included that nobody waits for any more.
const LOOKUPS: usize = 64;

/// How many addresses of a name are tried.
const ADDRESSES: usize = 8;

/// The ends of names that no public name server knows.
const INNER: &[&str] = &["internal", "local", "localhost", "localdomain", "lan", "home.arpa"];

/// Judges where requests go.
pub(super) struct Judge {
    allows: Allows,
    lookups: Lookups,
    proxies: Proxies,
}

/// How a place is reached.
pub(super) enum Way {
    /// As the system does it: nothing was judged.
    Open,
    /// At one of these addresses.
    Direct(Vec<IpAddr>),
    /// By this proxy.
    Proxy(Intercept),
}

impl Judge {
    pub(super) fn new(allows: Allows, resolver: Resolver, proxies: Proxies) -> Self {
        Self { allows, lookups: Lookups::new(resolver, LOOKUPS), proxies }
    }

    /// How that place is reached, if it may be.
    pub(super) async fn way(&self, url: &Url, reach: Reach) -> Result<Way, Trouble> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Trouble::Scheme);
        }
        if reach == Reach::Configured {
            return Ok(Way::Open);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Trouble::User { host: shown(url) });
        }
        let host = url.host_str().and_then(|host| Host::parse(host).ok()).ok_or(Trouble::NoHost)?;
        match (&host, self.proxy(&host, url)) {
            (Host::Address(address), None) => Ok(Way::Direct(public(&host, vec![*address])?)),
            (Host::Address(address), Some(proxy)) => public(&host, vec![*address]).map(|_| Way::Proxy(proxy)),
            (Host::Name(name), None) => self.direct(&host, name).await.map(Way::Direct),
            (Host::Name(name), Some(proxy)) => self.by_proxy(&host, name).await.map(|()| Way::Proxy(proxy)),
        }
    }

    /// The proxy on the way there.
    fn proxy(&self, host: &Host, url: &Url) -> Option<Intercept> {
        if matches!(host, Host::Name(name) if is_here(name)) {
            return None;
        }
        let uri: Uri = url.as_str().parse().ok()?;
        (self.proxies)().intercept(&uri)
    }

    /// The addresses of a name that may be connected to.
    async fn direct(&self, host: &Host, name: &str) -> Result<Vec<IpAddr>, Trouble> {
        // A name server must not be able to say that we are elsewhere.
        let mut found = if is_here(name) {
            vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]
        } else {
            self.lookups.find(name).await.map_err(told)?
        };
        if !(self.allows)(name) {
            found = public(host, found)?;
        }
        found.truncate(ADDRESSES);
        Ok(found)
    }

    /// Whether a proxy may be asked for that name.
    async fn by_proxy(&self, host: &Host, name: &str) -> Result<(), Trouble> {
        if (self.allows)(name) {
            return Ok(());
        }
        match self.lookups.find(name).await {
            Ok(found) => public(host, found).map(drop),
            Err(_) if is_inner(name) => Err(Trouble::Inner { host: name.to_owned() }),
            // Where only the proxy can look names up, it is asked.
            Err(_) => Ok(()),
        }
    }
}

fn public(host: &Host, found: Vec<IpAddr>) -> Result<Vec<IpAddr>, Trouble> {
    lookup::public(host, found).map_err(told)
}

fn told(denial: Denial) -> Trouble {
    match denial {
        Denial::Private { host, what } => Trouble::Private { host: host.to_string(), what },
        Denial::PrivateAddress { host, what } => Trouble::PrivateAddress { host: host.to_string(), what },
        other => Trouble::LookUp(other.to_string()),
    }
}

/// Whether a name is this machine's by definition.
fn is_here(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

/// Whether a name belongs to a private network by its form.
fn is_inner(name: &str) -> bool {
    let ends =
        |end: &&str| name.strip_suffix(*end).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    !name.contains('.') || INNER.iter().any(ends)
}
