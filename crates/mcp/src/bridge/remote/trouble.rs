//! What can go wrong on the way to an origin, and the sentences for it: what happened, and what to do next.

use std::time::Duration;

use serde_json::Value;

/// Why there is no answer to pass on, or which one there is that is none of JSON-RPC.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Trouble {
    /// There was no connection: a clause that follows the origin's name.
    Unreached(String),
    /// Nothing came for that long.
    Hung(Duration),
    /// The answer broke off: a clause that follows the origin's name.
    BrokenOff(String),
    /// Something answered that is no MCP: its status, and what it sent.
    Foreign(u16, String),
    /// The answer was longer than that.
    TooLarge(usize),
    /// Too much is on its way already.
    Crowded,
    /// It leads elsewhere.
    Redirected(String),
    /// It said no.
    Refused(Refused),
    /// An error of JSON-RPC, as it was written.
    Error(String),
    /// An answer in the shape of the team's tools, and whether its status is a success.
    Enveloped(Value, bool),
    /// The origin does not know our session.
    SessionLost,
}

/// How it said no.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Refused {
    /// The status.
    pub(super) status: u16,
    /// Its own words.
    pub(super) said: Option<String>,
    /// What it says to do.
    pub(super) action: Option<String>,
    /// How many seconds it asks to wait.
    pub(super) wait: Option<u32>,
}

/// What is said of a trouble.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Told {
    /// What happened.
    pub(super) message: String,
    /// What to do next.
    pub(super) action: String,
}

const WRONG_PLACE: &str = "Check the origin in COVIBE_BASE_URL or `--url`: it must be that of a Covenant daemon, such as \
    https://covenant.example.org; a proxy or a sign-in page may answer in its place.";

/// What is said to whoever called a tool and does not know what became of it.
pub(super) const UNSURE: &str = "Before you repeat a call that changes something, look whether it was done.";

const NO_TOKEN: &str = "Ask the user for a token of that daemon (`covenant clients add NAME` or `covenant tokens create` there) \
    in COVIBE_MCP_TOKEN, or in ~/.covibe/credentials.json with COVIBE_AGENT set, and to start this MCP server again.";

impl Trouble {
    /// The sentences, about that origin, for who shows a token there or none.
    pub(super) fn told(&self, origin: &str, has_token: bool) -> Told {
        let (message, action) = match self {
            Self::Unreached(clause) => (
                format!("{origin} {clause}."),
                format!(
                    "Check that the daemon at {origin} runs and that this machine reaches it, and ask again."
                ),
            ),
            Self::Hung(waited) => (
                format!("{origin} has not answered for {}, and the request was taken back.", span(*waited)),
                "Ask again later, or set COVIBE_TIMEOUT_MS to wait longer.".to_owned(),
            ),
            Self::BrokenOff(clause) => (format!("{origin} {clause}."), "Ask again.".to_owned()),
            Self::Foreign(status, what) => (
                format!(
                    "{origin}/mcp answered {status} with {what} where JSON or a stream of events was expected."
                ),
                WRONG_PLACE.to_owned(),
            ),
            Self::TooLarge(limit) => (
                format!("{origin} answered with more than {} MiB, which is not passed on.", limit >> 20),
                "Ask for less at once.".to_owned(),
            ),
            Self::Crowded => (
                format!("too many or too large messages are on their way to and from {origin} at once."),
                "Wait for the answers to other requests, and ask again.".to_owned(),
            ),
            Self::Redirected(place) => (
                format!("{origin} redirects to {place}, which is not followed."),
                "Check the origin in COVIBE_BASE_URL or `--url`: write the one that answers itself."
                    .to_owned(),
            ),
            Self::Refused(refused) => refused.told(origin, has_token),
            Self::SessionLost => (
                format!("{origin} forgets the session that was just opened."),
                "Ask again later; if it goes on, the daemon there does not keep sessions: see its log."
                    .to_owned(),
            ),
            Self::Error(error) => (words(origin, error), "Do what it says.".to_owned()),
            Self::Enveloped(envelope, _) => {
                (words(origin, &envelope.to_string()), "Do what it says.".to_owned())
            }
        };
        Told { message, action }
    }

    /// Whether a call may have been done all the same.
    pub(super) fn leaves_doubt(&self) -> bool {
        match self {
            Self::Unreached(_) | Self::Hung(_) | Self::BrokenOff(_) | Self::TooLarge(_) => true,
            Self::Refused(refused) => refused.status >= 500,
            _ => false,
        }
    }
}

/// What the origin says in an answer of its own.
fn words(origin: &str, said: &str) -> String {
    let said: Value = serde_json::from_str(said).unwrap_or_default();
    match said.get("message").and_then(Value::as_str) {
        Some(message) => format!("{origin} says: {message}"),
        None => format!("{origin} answered with an error."),
    }
}

impl Refused {
    fn told(&self, origin: &str, has_token: bool) -> (String, String) {
        let (what, action) = match self.status {
            401 if has_token => ("does not accept this token".to_owned(), NO_TOKEN.to_owned()),
            401 => ("wants a token, and there is none".to_owned(), NO_TOKEN.to_owned()),
            403 => (
                "refuses this".to_owned(),
                "Do not repeat it: the user must ask whoever runs that daemon.".to_owned(),
            ),
            404 | 405 => ("has no MCP at /mcp".to_owned(), WRONG_PLACE.to_owned()),
            413 => ("takes no message of that size".to_owned(), "Send less at once.".to_owned()),
            429 => ("is asked too often".to_owned(), self.pause()),
            500.. => ("has trouble of its own".to_owned(), self.pause()),
            _ => ("does not take this request".to_owned(), WRONG_PLACE.to_owned()),
        };
        let said = self.said.as_ref().map(|said| format!(": {said}")).unwrap_or_default();
        let message = format!("{origin} {what} (it answered {}){said}", self.status);
        let end = if message.ends_with(['.', '!', '?']) { "" } else { "." };
        (format!("{message}{end}"), self.action.clone().unwrap_or(action))
    }

    fn pause(&self) -> String {
        match self.wait {
            Some(seconds) => format!("Wait {seconds} s, and ask again."),
            None => "Wait a while, and ask again.".to_owned(),
        }
    }
}

/// A span of time, as people say it.
fn span(time: Duration) -> String {
    match time.as_millis() {
        millis if millis % 1000 == 0 => format!("{} s", millis / 1000),
        millis => format!("{millis} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_trouble_says_what_happened_where_and_what_to_do() {
        let refused = |status| Trouble::Refused(Refused { status, ..Refused::default() });
        let mut troubles: Vec<Trouble> =
            [400, 401, 403, 404, 405, 413, 418, 429, 500, 502, 599].map(refused).to_vec();
        troubles.extend([
            Trouble::Unreached("could not be reached: refused".to_owned()),
            Trouble::Hung(Duration::from_millis(1500)),
            Trouble::BrokenOff("broke off".to_owned()),
            Trouble::Foreign(200, "text/html".to_owned()),
            Trouble::TooLarge(1 << 20),
            Trouble::Crowded,
            Trouble::Redirected("another place".to_owned()),
            Trouble::SessionLost,
        ]);
        for trouble in troubles {
            let told = trouble.told("https://a.example", false);
            assert!(told.message.contains("https://a.example") && told.message.ends_with('.'), "{told:?}");
            assert!(!told.action.is_empty() && told.action.ends_with('.'), "{told:?}");
        }
    }

    #[test]
    fn the_words_of_the_origin_come_through() {
        let refused =
            Refused { status: 429, said: Some("slow down!".to_owned()), action: None, wait: Some(3) };
        let told = Trouble::Refused(refused.clone()).told("o", true);
        assert_eq!(told.message, "o is asked too often (it answered 429): slow down!");
        assert_eq!(told.action, "Wait 3 s, and ask again.");
        let advised = Refused { action: Some("Do that.".to_owned()), ..refused };
        assert_eq!(Trouble::Refused(advised).told("o", true).action, "Do that.");
        let hung = Trouble::Hung(Duration::from_mins(1)).told("o", true).message;
        assert!(hung.contains("for 60 s"), "{hung}");
    }
}
