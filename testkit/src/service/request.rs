//! What a service is asked and what it answers, as HTTP/1.1 writes both.

use std::collections::BTreeMap;
use std::io::{BufRead, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use serde_json::Value;

/// A request, as it was sent.
#[derive(Debug, Clone)]
pub struct Request {
    /// Its method.
    pub method: String,
    /// Its path, as it is written.
    pub path: String,
    /// Its query, as it is written.
    pub query: String,
    /// Its headers, by name in lower case.
    pub headers: BTreeMap<String, String>,
    /// Its body.
    pub body: Vec<u8>,
}

impl Request {
    /// The next request on a connection; none at its end.
    pub(super) fn read(from: &mut impl BufRead) -> Option<Self> {
        let mut line = || {
            let mut line = String::new();
            from.read_line(&mut line).ok().filter(|count| *count > 0)?;
            Some(line.trim_end().to_owned())
        };
        let first = line()?;
        let mut words = first.split(' ');
        let (method, target) = (words.next()?.to_owned(), words.next()?);
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut headers = BTreeMap::new();
        while let Some((name, value)) = line()?.split_once(':') {
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        from.read_exact(&mut body).ok()?;
        Some(Self { method, path: path.to_owned(), query: query.to_owned(), headers, body })
    }

    /// One of its headers; empty where it has none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(String::as_str).unwrap_or_default()
    }

    /// Whether it says that its body is JSON in UTF-8.
    pub fn says_json(&self) -> bool {
        let kind = self.header("content-type").to_ascii_lowercase().replace(' ', "");
        kind == "application/json" || kind == "application/json;charset=utf-8"
    }

    /// Its body; null where that is no JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// A text of its body; empty where there is none.
    pub fn text(&self, member: &str) -> String {
        self.json().get(member).and_then(Value::as_str).unwrap_or_default().to_owned()
    }

    /// The segments of its path, each decoded by itself.
    pub fn segments(&self) -> Vec<String> {
        self.path.split('/').skip(1).map(|segment| decoded(segment, false)).collect()
    }

    /// A value of its query.
    pub fn asked(&self, name: &str) -> Option<String> {
        find(&self.query, name)
    }

    /// A field of the form it sends.
    pub fn filled(&self, name: &str) -> Option<String> {
        find(&String::from_utf8_lossy(&self.body), name)
    }

    /// All of it as it was sent, for a search of what must not be there.
    pub fn whole(&self) -> String {
        format!("{self:?} {}", String::from_utf8_lossy(&self.body))
    }
}

fn find(pairs: &str, name: &str) -> Option<String> {
    let mut pairs = pairs.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(key, _)| *key == name).map(|(_, value)| decoded(value, true))
}

/// A text without percent signs.
fn decoded(text: &str, plus: bool) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
        bytes.push(match byte {
            b'%' => {
                let value = digit().zip(digit()).map(|(high, low)| high * 16 + low);
                value.and_then(|value| u8::try_from(value).ok()).unwrap_or(b'?')
            }
            b'+' if plus => b' ',
            other => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What is answered; by default nothing, and the connection ends.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    status: Option<u16>,
    headers: Vec<(String, String)>,
    body: String,
    never: bool,
}

impl Answer {
    /// A document of JSON.
    #[expect(clippy::needless_pass_by_value, reason = "reads better where it is called with `json!`")]
    pub fn json(status: u16, body: Value) -> Self {
        Self { status: Some(status), body: body.to_string(), ..Self::default() }
            .with("Content-Type", "application/json; charset=utf-8")
    }

    /// A page for people.
    pub fn html(status: u16, body: &str) -> Self {
        Self::text(status, "text/html", body)
    }

    /// A text of that kind.
    pub fn text(status: u16, kind: &str, body: &str) -> Self {
        Self { status: Some(status), body: body.to_owned(), ..Self::default() }.with("Content-Type", kind)
    }

    /// A status and nothing else.
    pub fn empty(status: u16) -> Self {
        Self { status: Some(status), ..Self::default() }
    }

    /// No answer: the connection ends.
    pub fn hang_up() -> Self {
        Self::default()
    }

    /// No answer either, and the connection stays until the other end has had enough.
    pub fn never() -> Self {
        Self { never: true, ..Self::default() }
    }

    /// With that header.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Writes it; `false` where the connection is over.
    pub(super) fn write(&self, to: &mut TcpStream) -> bool {
        if self.never {
            let _ = to.read(&mut [0]);
        }
        let Some(status) = self.status else {
            let _ = to.shutdown(Shutdown::Both);
            return false;
        };
        let headers: Vec<String> =
            self.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let headers = headers.concat();
        let length = self.body.len();
        let head = format!("HTTP/1.1 {status} Status\r\n{headers}Content-Length: {length}\r\n\r\n");
        to.write_all(&[head.as_bytes(), self.body.as_bytes()].concat()).is_ok()
    }
}
