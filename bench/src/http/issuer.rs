//! Someone who sends an agent the same intent again and again, by REST on one connection, and waits for each answer.

use std::time::{Duration, Instant};

use super::connection::Connection;

/// A connection, and the intent that is sent on it.
pub struct Issuer {
    connection: Connection,
    request: String,
}

impl Issuer {
    /// Someone with that token, at the daemon on that port.
    ///
    /// # Panics
    /// If it does not listen.
    pub fn new(port: u16, token: &str) -> Self {
        let body = r#"{"text":"do nothing"}"#;
        let request = format!(
            "POST /api/v1/intents HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        Self { connection: Connection::open(port).expect("the daemon listens"), request }
    }

    /// Sends it; how long the answer took.
    ///
    /// # Panics
    /// If the agent does not answer that it went well.
    pub fn send(&mut self) -> Duration {
        let begun = Instant::now();
        let answer = self.connection.exchange(self.request.as_bytes()).expect("an answer");
        let time = begun.elapsed();
        assert!(answer.status == 200 && answer.body.contains(r#""status":"ok""#), "{}", answer.body);
        time
    }
}
