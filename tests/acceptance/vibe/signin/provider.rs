//! A home whose people may sign in by a provider of identities, and somebody who goes there and comes back.

use std::sync::{Arc, Mutex};

use covenant_testkit::http::exchange;
use covenant_testkit::service::oidc::{CLIENT, Manner, Provider, SECRET};
use covenant_testkit::{Daemon, Home, Service};

use super::browser::{Answer, Browser, encoded};
use super::invite;

/// The home, its daemon, and the provider.
pub(super) struct Stage<'h> {
    pub(super) home: &'h Home,
    pub(super) daemon: Daemon<'h>,
    pub(super) service: Service,
    manner: Arc<Mutex<Manner>>,
}

impl<'h> Stage<'h> {
    /// Sets up that home.
    pub(super) fn set(home: &'h Home) -> Self {
        let (provider, manner) = Provider::new();
        let service = Service::start(provider);
        let config = std::fs::read_to_string(home.path().join("config.toml")).unwrap();
        let issuer = service.url("");
        let section = format!(
            "[oidc]\nissuer = \"{issuer}\"\nclient_id = \"{CLIENT}\"\nclient_secret = \"${{secret:OIDC_CLIENT_SECRET}}\"\n"
        );
        home.write("config.toml", &format!("{config}{section}"));
        home.write("secrets.toml", &format!("[secrets]\nOIDC_CLIENT_SECRET = \"{SECRET}\"\n"));
        let daemon = home.up();
        Self { home, daemon, service, manner }
    }

    /// Lets the provider behave so from now on.
    pub(super) fn behaves(&self, manner: Manner) {
        *self.manner.lock().unwrap() = manner;
    }

    pub(super) fn browser(&self) -> Browser {
        Browser::new(self.daemon.port())
    }

    /// The path of a new invite.
    pub(super) fn invite(&self, arguments: &[&str]) -> String {
        invite(self.home, self.daemon.port(), arguments)
    }

    /// A browser whose person, of that name at the provider, was bound to that handle.
    pub(super) fn bound(&self, handle: &str, subject: &str) -> Browser {
        let mut browser = self.browser();
        let link = self.invite(&[handle]);
        let back = self.to_provider(&mut browser, &link, subject);
        let arrived = browser.get(&back);
        assert_eq!(arrived.status, 200, "{arrived:?}");
        browser
    }

    /// Goes to the provider from the page of an invite; where it sends somebody back.
    pub(super) fn to_provider(&self, browser: &mut Browser, link: &str, subject: &str) -> String {
        let code = link.rsplit('/').next().unwrap();
        let page = browser.post("/auth/oidc", &[("invite", code)]);
        assert_eq!(page.status, 200, "{page:?}");
        let (_, rest) = page.body.split_once("content=\"0; url=").unwrap_or_else(|| panic!("{page:?}"));
        self.asks(&rest.split('"').next().unwrap().replace("&amp;", "&"), subject)
    }

    /// The same from the page to sign in on.
    pub(super) fn to_provider_again(&self, browser: &mut Browser, subject: &str) -> String {
        let sent = browser.get("/auth/oidc");
        assert_eq!(sent.status, 303, "{sent:?}");
        self.asks(sent.header("location").unwrap(), subject)
    }

    /// Signs in as who is called that; what comes of it.
    pub(super) fn signs_in(&self, browser: &mut Browser, subject: &str) -> Answer {
        let back = self.to_provider_again(browser, subject);
        browser.get(&back)
    }

    /// What somebody does on the provider's page, and where that sends them: the path and query of our callback.
    fn asks(&self, address: &str, subject: &str) -> String {
        let (path, port) = split(address);
        let page = exchange(
            port,
            &format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", self.host()),
        );
        let fields = page.split("type=\"hidden\" name=\"").skip(1).map(|rest| {
            let (name, rest) = rest.split_once("\" value=\"").unwrap();
            format!("{name}={}", encoded(rest.split('"').next().unwrap()))
        });
        let form = format!("{}&subject={}", fields.collect::<Vec<_>>().join("&"), encoded(subject));
        let head =
            format!("POST /authorize HTTP/1.1\r\nHost: {}\r\nContent-Length: {}", self.host(), form.len());
        let sent = exchange(port, &format!("{head}\r\nConnection: close\r\n\r\n{form}"));
        let place = sent
            .lines()
            .find_map(|line| line.strip_prefix("Location: "))
            .unwrap_or_else(|| panic!("{page} {sent}"));
        split(place).0
    }

    fn host(&self) -> String {
        self.service.url("").split_once("://").unwrap().1.to_owned()
    }
}

/// The path and query of an address on this machine, and its port.
fn split(address: &str) -> (String, u16) {
    let rest = address.strip_prefix("http://127.0.0.1:").unwrap_or_else(|| panic!("{address}"));
    let (port, path) = rest.split_once('/').unwrap();
    (format!("/{path}"), port.parse().unwrap())
}
