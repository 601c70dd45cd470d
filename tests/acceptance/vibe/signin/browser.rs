//! A browser as far as signing in goes: it keeps its cookies, and sends forms with the origin of its page.

use std::collections::BTreeMap;

use covenant_testkit::http::exchange;
use serde_json::Value;

/// A browser.
pub(in crate::vibe) struct Browser {
    port: u16,
    /// The page's origin, and the host in it.
    origin: String,
    host: String,
    cookies: BTreeMap<String, String>,
}

/// An answer.
#[derive(Debug)]
pub(in crate::vibe) struct Answer {
    pub(in crate::vibe) status: u16,
    head: String,
    pub(in crate::vibe) body: String,
}

impl Browser {
    pub(in crate::vibe) fn new(port: u16) -> Self {
        let host = format!("127.0.0.1:{port}");
        Self { port, origin: format!("http://{host}"), host, cookies: BTreeMap::new() }
    }

    /// The same, where what is typed is another address.
    pub(in crate::vibe) fn at(self, origin: &str) -> Self {
        let host = origin.split_once("://").unwrap().1.to_owned();
        Self { origin: origin.to_owned(), host, ..self }
    }

    /// The daemon is at another port now; cookies are known by name, and names by port.
    pub(in crate::vibe) fn moved(&mut self, port: u16) {
        let value = self.cookies.remove(&format!("covenant_{}", self.port)).unwrap();
        *self = Self { cookies: BTreeMap::from([(format!("covenant_{port}"), value)]), ..Self::new(port) };
    }

    #[track_caller]
    pub(in crate::vibe) fn get(&mut self, path: &str) -> Answer {
        self.send("GET", path, "", "")
    }

    /// Sends a form.
    #[track_caller]
    pub(in crate::vibe) fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let body: Vec<String> =
            fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let form = "Content-Type: application/x-www-form-urlencoded\r\n";
        let headers = format!("Origin: {}\r\n{form}", self.origin);
        self.send("POST", path, &headers, &body.join("&"))
    }

    /// Takes over what another browser has.
    pub(super) fn robs(&mut self, other: &Self) {
        self.cookies.extend(other.cookies.clone());
    }

    /// Sends exactly that, with its cookies; and takes what it is given.
    #[track_caller]
    pub(in crate::vibe) fn send(&mut self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let pairs: Vec<String> = self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let cookie =
            if pairs.is_empty() { String::new() } else { format!("Cookie: {}\r\n", pairs.join("; ")) };
        let head = format!("{method} {path} HTTP/1.0\r\nHost: {}\r\n{cookie}{headers}", self.host);
        let whole = exchange(self.port, &format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()));
        let (head, body) = whole.split_once("\r\n\r\n").unwrap_or((&whole, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
        let answer = Answer { status, head: head.to_owned(), body: body.to_owned() };
        for set in answer.headers("set-cookie") {
            let (name, value) = set.split(';').next().unwrap().split_once('=').unwrap();
            if set.contains("Max-Age=0") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    /// The word of its session.
    #[track_caller]
    pub(in crate::vibe) fn word(&mut self) -> String {
        self.get("/api/v1/session").json()["csrf"].as_str().unwrap().to_owned()
    }
}

impl Answer {
    /// A header, by its name in any case.
    pub(in crate::vibe) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.lines();
        lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// All of that name.
    pub(super) fn headers<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.lines().filter(move |(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    fn lines(&self) -> impl Iterator<Item = (&str, &str)> {
        self.head.lines().skip(1).filter_map(|line| line.split_once(": "))
    }

    /// What a page says went wrong.
    pub(super) fn told(&self) -> &str {
        let told = self.body.split_once("role=\"alert\">").map(|(_, rest)| rest);
        told.and_then(|rest| rest.split("</p>").next()).unwrap_or_default()
    }

    /// Whether it signs somebody in.
    pub(super) fn signs_in(&self) -> bool {
        self.headers("set-cookie").any(|set| set.contains("SameSite=Strict") && !set.contains("Max-Age=0"))
    }

    #[track_caller]
    pub(in crate::vibe) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

pub(super) fn encoded(text: &str) -> String {
    text.bytes()
        .map(
            |byte| {
                if byte.is_ascii_alphanumeric() {
                    char::from(byte).to_string()
                } else {
                    format!("%{byte:02X}")
                }
            },
        )
        .collect()
}
