//! One request on the port, in bytes we choose, and its answer taken apart.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use covenant_testkit::http::exchange;

/// A request.
#[derive(Clone, Default)]
pub(super) struct Ask {
    pub(super) method: String,
    pub(super) target: String,
    pub(super) token: Option<String>,
    pub(super) host: Option<String>,
    pub(super) headers: String,
    pub(super) body: Option<String>,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: String,
}

impl Ask {
    pub(super) fn new(method: &str, target: &str) -> Self {
        Self { method: method.to_uppercase(), target: target.to_owned(), ..Self::default() }
    }

    pub(super) fn token(mut self, token: &str) -> Self {
        self.token = Some(token.to_owned());
        self
    }

    /// The bytes. HTTP/1.0, so that a stream ends with its connection and comes without chunks.
    fn bytes(&self) -> String {
        let host = self.host.as_deref().unwrap_or("localhost");
        let token = self.token.iter().map(|token| format!("Authorization: Bearer {token}"));
        let sized = self.body.iter().map(|body| format!("Content-Length: {}", body.len()));
        let more: Vec<String> = token.chain(sized).map(|line| line + "\r\n").collect();
        let (headers, body) = (&self.headers, self.body.as_deref().unwrap_or_default());
        let line = format!("{} {} HTTP/1.0", self.method, self.target);
        format!("{line}\r\nHost: {host}\r\n{headers}{}\r\n{body}", more.concat())
    }

    #[track_caller]
    pub(super) fn send(&self, port: u16) -> Answer {
        let whole = exchange(port, &self.bytes());
        let (head, body) = whole.split_once("\r\n\r\n").unwrap_or((&whole, ""));
        Answer::new(head, body)
    }

    /// Reads the head of a stream; its lines follow.
    pub(super) fn listen(&self, port: u16) -> (Answer, impl Iterator<Item = String>) {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(covenant_testkit::wait::LONG)).unwrap();
        stream.write_all(self.bytes().as_bytes()).unwrap();
        let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
        let head: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
        (Answer::new(&head.join("\r\n"), ""), lines)
    }

    /// Reads a stream up to its first line, and hangs up.
    pub(super) fn first_line(&self, port: u16) -> Answer {
        let (answer, mut lines) = self.listen(port);
        Answer { body: lines.next().unwrap(), ..answer }
    }
}

impl Answer {
    fn new(head: &str, body: &str) -> Self {
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Self { status: status.unwrap_or_default(), head: head.to_owned(), body: body.to_owned() }
    }

    /// A header, by its name in any case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(": "));
        lines.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }

    #[track_caller]
    pub(super) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}
