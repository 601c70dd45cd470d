//! What a row says: the event's members, in their order, redacted, bounded and escaped.
//!
//! The sequence number and the hashes are not known here; [`super::row::Chain`] adds them.

use std::fmt;
use std::time::Duration;

use super::hex;
use crate::redact::Redactor;
use crate::time::Timestamp;

/// The principal and `agent_id` of rows that the log or the daemon writes about itself.
pub const OWN: &str = "daemon";

/// The most bytes of any one text in a row.
pub const LONGEST_TEXT: usize = 512;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// The word in the row.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }

            /// What that word stands for.
            pub fn read(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

words!(
    /// What happened.
    Kind {
        /// The grants were asked whether a call may be made.
        CapabilityCheck = "CapabilityCheck",
        /// A tool is about to run.
        CallStarted = "CallStarted",
        /// It ended.
        CallFinished = "CallFinished",
        /// It never ended: its caller or the daemon went away.
        CallInterrupted = "CallInterrupted",
        /// A call was refused before it began.
        CallRefused = "CallRefused",
        /// The client was asked something while a call of its own ran: its person, its model, its roots.
        ClientAsked = "ClientAsked",
        /// A grant was made.
        GrantAdded = "GrantAdded",
        /// A grant was taken back.
        GrantRevoked = "GrantRevoked",
        /// A client was given a token.
        ClientAdded = "ClientAdded",
        /// A client's tokens ended.
        ClientRevoked = "ClientRevoked",
        /// A token of a developer was made; the row has its id.
        TokenCreated = "TokenCreated",
        /// A token of a developer ended.
        TokenRevoked = "TokenRevoked",
        /// A workspace was made, or got its name; the row has the name.
        WorkspaceMade = "WorkspaceMade",
        /// Somebody was taken into a workspace.
        DeveloperInvited = "DeveloperInvited",
        /// Somebody belongs to a workspace no more; their tokens ended with that.
        DeveloperRemoved = "DeveloperRemoved",
        /// Somebody signed in in a browser; the row says how.
        SignedIn = "SignedIn",
        /// Somebody was not let in who tried to sign in.
        SignInRefused = "SignInRefused",
        /// Somebody signed out.
        SignedOut = "SignedOut",
        /// Somebody chose a password; whoever was signed in as them is no more.
        PasswordSet = "PasswordSet",
        /// Somebody chose to sign in by a provider of identities, which the row names; whoever was signed in as them is no more.
        IdentityLinked = "IdentityLinked",
        /// Somebody made a passkey; the row has the beginning of its id.
        PasskeyAdded = "PasskeyAdded",
        /// Somebody removed a passkey.
        PasskeyRemoved = "PasskeyRemoved",
        /// A secret was set; the row has its name.
        SecretSet = "SecretSet",
        /// A secret was removed.
        SecretRemoved = "SecretRemoved",
        /// A call or a text waits for a person.
        ApprovalRequested = "ApprovalRequested",
        /// A person decided; the row has the entry's id.
        ApprovalDecided = "ApprovalDecided",
        /// An external server was added; the row has its name.
        ServerAdded = "ServerAdded",
        /// An external server was removed.
        ServerRemoved = "ServerRemoved",
        /// The operator let an external server be connected, disconnected or restarted.
        ServerCommanded = "ServerCommanded",
        /// An external server answers.
        ServerStarted = "ServerStarted",
        /// An external server was let go in order.
        ServerStopped = "ServerStopped",
        /// An external server ended by itself, or did not start.
        ServerFailed = "ServerFailed",
        /// An external server failed too often and is left alone.
        ServerQuarantined = "ServerQuarantined",
        /// A configuration took effect.
        ConfigLoaded = "ConfigLoaded",
        /// The manifests of agents were read again.
        AgentsLoaded = "AgentsLoaded",
        /// The daemon serves.
        DaemonStarted = "DaemonStarted",
        /// The daemon ended cleanly.
        DaemonStopped = "DaemonStopped",
        /// The log was repaired, or could be written again.
        LogRecovered = "LogRecovered",
        /// Old rows were removed.
        LogPruned = "LogPruned",
        /// Requests were turned away by a rate limit.
        RateLimited = "RateLimited",
        /// A request came without a valid credential.
        Unauthenticated = "Unauthenticated",
    }
);

words!(
    /// How it was decided, or how it ended.
    Decision {
        /// A grant covers it.
        Allowed = "allowed",
        /// It was not let through.
        Refused = "refused",
        /// The tool gave a result.
        Ok = "ok",
        /// The tool gave a result that says it failed.
        Error = "error",
        /// The tool needs an answer first: the caller repeats the call with it.
        InputRequired = "input_required",
        /// Something broke.
        Failed = "failed",
        /// The caller took it back.
        Cancelled = "cancelled",
        /// It took too long.
        TimedOut = "timed_out",
        /// Nobody knows how it ended.
        Interrupted = "interrupted",
        /// An act of administration was carried out.
        Done = "done",
    }
);

/// A keyed digest of arguments or a result: equal values can be recognised by the holder of the key, not guessed.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(pub [u8; 32]);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::text(&self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One thing to record. Texts are redacted and cut when it is written.
#[derive(Debug, Clone, Copy)]
pub struct Event<'a> {
    /// On whose behalf.
    pub principal: &'a str,
    /// `tool:<name>`, an agent's id, or [`OWN`].
    pub agent_id: &'a str,
    /// What happened.
    pub kind: Kind,
    /// How it was decided or ended.
    pub decision: Decision,
    /// The call's id.
    pub call: Option<&'a str>,
    /// The call within which it was made.
    pub parent: Option<&'a str>,
    /// What was asked of the grants.
    pub action: Option<&'a str>,
    /// Which grant decided.
    pub grant: Option<&'a str>,
    /// The arguments, as a keyed digest.
    pub arguments: Option<Digest>,
    /// The result, as a keyed digest.
    pub result: Option<Digest>,
    /// Why, in words.
    pub reason: Option<&'a str>,
    /// How long it took.
    pub duration: Option<Duration>,
    /// The caller's trace.
    pub trace_id: Option<&'a str>,
    /// The sequence number of the `CallStarted` row that this row ends.
    pub started: Option<u64>,
    /// The process at the other end.
    pub peer: Option<&'a str>,
}

impl<'a> Event<'a> {
    /// An event with nothing but what every row has.
    pub fn new(principal: &'a str, agent_id: &'a str, kind: Kind, decision: Decision) -> Self {
        Self {
            principal,
            agent_id,
            kind,
            decision,
            call: None,
            parent: None,
            action: None,
            grant: None,
            arguments: None,
            result: None,
            reason: None,
            duration: None,
            trace_id: None,
            started: None,
            peer: None,
        }
    }

    /// Writes the members between `seq` and `prev`. Only texts from outside are redacted: a secret that happens to
    /// look like a date or a digest must not make the row unreadable.
    pub fn write_body(&self, at: Timestamp, redactor: &Redactor, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\"ts\":\"");
        out.extend_from_slice(&at.rfc3339());
        out.push(b'"');
        let text = |out: &mut Vec<u8>, name: &str, value: &str| {
            member(out, name);
            quote(out, cut(&redactor.redact(value)));
        };
        text(out, "principal", self.principal);
        text(out, "agent_id", self.agent_id);
        word(out, "kind", self.kind.as_str().as_bytes());
        word(out, "decision", self.decision.as_str().as_bytes());
        let ids =
            [("call", self.call), ("parent", self.parent), ("action", self.action), ("grant", self.grant)];
        for (name, value) in ids {
            if let Some(value) = value {
                text(out, name, value);
            }
        }
        for (name, digest) in [("arguments", self.arguments), ("result", self.result)] {
            if let Some(digest) = digest {
                word(out, name, &hex::of_32(&digest.0));
            }
        }
        if let Some(reason) = self.reason {
            text(out, "reason", reason);
        }
        if let Some(duration) = self.duration {
            number(out, "duration_us", u64::try_from(duration.as_micros()).unwrap_or(u64::MAX));
        }
        if let Some(trace) = self.trace_id {
            text(out, "trace_id", trace);
        }
        if let Some(started) = self.started {
            number(out, "started", started);
        }
        if let Some(peer) = self.peer {
            text(out, "peer", peer);
        }
    }
}

fn member(out: &mut Vec<u8>, name: &str) {
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

/// A text that is known to need no escapes.
fn word(out: &mut Vec<u8>, name: &str, word: &[u8]) {
    member(out, name);
    out.push(b'"');
    out.extend_from_slice(word);
    out.push(b'"');
}

fn number(out: &mut Vec<u8>, name: &str, value: u64) {
    member(out, name);
    decimal(out, value);
}

/// Appends a number's digits.
pub(super) fn decimal(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [b'0'; 20];
    let mut used = 0;
    for digit in digits.iter_mut().rev() {
        *digit += u8::try_from(value % 10).unwrap_or(0);
        value /= 10;
        used += 1;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(20 - used..).unwrap_or_default());
}

/// The beginning of a text that fits, in whole characters. It runs after redaction, so no half secret is left.
fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(LONGEST_TEXT)).unwrap_or(text)
}

fn quote(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    if text.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\') {
        out.extend_from_slice(text.as_bytes());
    } else {
        for byte in text.bytes() {
            match byte {
                b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
                0..=0x1f => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
                _ => out.push(byte),
            }
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(event: &Event<'_>) -> String {
        let mut out = vec![b'{'];
        event.write_body(Timestamp::from_millis(0), &Redactor::none(), &mut out);
        out.push(b'}');
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn members_stand_in_the_documented_order() {
        let event = Event {
            call: Some("call_a"),
            parent: Some("call_b"),
            action: Some("tool:echo"),
            grant: Some("grant_a"),
            arguments: Some(Digest([1; 32])),
            result: Some(Digest([2; 32])),
            reason: Some("why"),
            duration: Some(Duration::from_micros(1500)),
            trace_id: Some("00"),
            started: Some(7),
            peer: Some("pid 1"),
            ..Event::new("user@local", "tool:echo", Kind::CallFinished, Decision::TimedOut)
        };
        let digest = |byte: &str| byte.repeat(32);
        assert_eq!(
            written(&event),
            format!(
                concat!(
                    r#"{{"ts":"1970-01-01T00:00:00.000Z","principal":"user@local","agent_id":"tool:echo","#,
                    r#""kind":"CallFinished","decision":"timed_out","call":"call_a","parent":"call_b","action":"tool:echo","#,
                    r#""grant":"grant_a","arguments":"{}","result":"{}","reason":"why","duration_us":1500,"#,
                    r#""trace_id":"00","started":7,"peer":"pid 1"}}"#
                ),
                digest("01"),
                digest("02")
            )
        );
    }

    #[test]
    fn texts_from_outside_are_escaped_and_cut_between_characters() {
        let long = format!("{}é", "a".repeat(LONGEST_TEXT - 1));
        let event = Event {
            reason: Some("line\nbreak \"quoted\" \\ \u{0} é"),
            peer: Some(&long),
            ..Event::new("user@local", "x", Kind::CallRefused, Decision::Refused)
        };
        let value: serde_json::Value = serde_json::from_str(&written(&event)).unwrap();
        assert_eq!(value["reason"], "line\nbreak \"quoted\" \\ \u{0} é");
        assert_eq!(value["peer"].as_str().unwrap().len(), LONGEST_TEXT - 1);
    }

    #[test]
    fn every_word_reads_back() {
        assert_eq!(Kind::read(Kind::CallInterrupted.as_str()), Some(Kind::CallInterrupted));
        assert_eq!(Decision::read("timed_out"), Some(Decision::TimedOut));
        assert_eq!(Decision::read("Allowed"), None);
    }

    #[test]
    fn numbers_of_every_length_are_written() {
        for value in [0, 9, 10, 1_234_567, u64::MAX] {
            let mut out = Vec::new();
            decimal(&mut out, value);
            assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
        }
    }
}
