//! Identifiers: a prefix that says what a thing is, and random characters. Never a bare `String`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Lower-case letters and digits without those people misread (0/o, 1/l): 32 of them, five bits each.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// How many random bytes an identifier is made from: 75 of their 80 bits are used.
pub const RANDOM_BYTES: usize = 10;

/// A text that is not an identifier of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {kind} id: those look like `{prefix}…`")]
pub struct BadId {
    text: String,
    kind: &'static str,
    prefix: &'static str,
}

fn characters(random: [u8; RANDOM_BYTES]) -> impl Iterator<Item = char> {
    let bits = random.iter().fold(0_u128, |bits, byte| (bits << 8) | u128::from(*byte));
    (0..15).map(move |place| {
        let index = usize::try_from((bits >> (place * 5)) & 31).unwrap_or_default();
        ALPHABET.get(index).copied().map_or('a', char::from)
    })
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal, $kind:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Box<str>);

        impl $name {
            /// Makes an identifier of random bytes, which the caller draws.
            pub fn from_random(random: [u8; RANDOM_BYTES]) -> Self {
                let mut text = String::with_capacity($prefix.len() + 15);
                text.push_str($prefix);
                text.extend(characters(random));
                Self(text.into())
            }

            /// The identifier as people see it.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadId;
            fn try_from(text: String) -> Result<Self, BadId> {
                let tail = text.strip_prefix($prefix).unwrap_or_default();
                let sound = !tail.is_empty()
                    && tail.len() <= 40
                    && tail.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
                if sound { Ok(Self(text.into())) } else { Err(BadId { text, kind: $kind, prefix: $prefix }) }
            }
        }

        impl std::str::FromStr for $name {
            type Err = BadId;
            fn from_str(text: &str) -> Result<Self, BadId> {
                Self::try_from(text.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0.into()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(/// One call through the gate.
    CallId, "call_", "a call");
id!(/// One grant.
    GrantId, "grant_", "a grant");
id!(/// One entry waiting for a person's decision.
    ApprovalId, "appr_", "an approval");
id!(/// One stored token, never the token itself.
    TokenId, "tok_", "a token");
id!(/// One receipt of what a run cost.
    ReceiptId, "rcpt_", "a receipt");
id!(/// One workspace: those who work together, and their work.
    WorkspaceId, "wsp_", "a workspace");
id!(/// One developer, whatever their handle.
    DeveloperId, "dev_", "a developer");
id!(/// One piece of work.
    TaskId, "task_", "a task");
id!(/// What tasks belong to.
    WorkstreamId, "ws_", "a workstream");
id!(/// One stretch of an agent's work.
    AgentSessionId, "sess_", "a session");
id!(/// One look at what others do, before a start.
    CheckId, "chk_", "a check");
id!(/// What a check found.
    WarningId, "warn_", "a warning");
id!(/// What an agent published of where it stands.
    ContextId, "ctx_", "a context");
id!(/// One decision or blocker.
    NoteId, "note_", "a note");
id!(/// A lease on paths of a repository.
    ClaimId, "claim_", "a claim");
id!(/// A question to a teammate, or to all of them.
    AskId, "ask_", "an ask");
id!(/// One message among teammates.
    MessageId, "msg_", "a message");
id!(/// Something that happened in a team.
    EventId, "evt_", "an event");
id!(/// One look at a team's running work for what is done twice.
    ParallelAuditId, "audit_", "an audit");
id!(/// One week of a team, told.
    SummaryId, "sum_", "a summary");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_survives_its_text_form() {
        let id = GrantId::from_random([7; RANDOM_BYTES]);
        assert!(id.as_str().starts_with("grant_"));
        assert_eq!(id.as_str().len(), "grant_".len() + 15);
        assert_eq!(id.as_str().parse::<GrantId>(), Ok(id));
    }

    #[test]
    fn ids_of_another_kind_or_with_odd_characters_are_refused() {
        let error = "x".parse::<ApprovalId>().unwrap_err();
        assert_eq!(error.to_string(), "`x` is not an approval id: those look like `appr_…`");
        for text in ["", "grant_", "call_abc", "grant_ABC", "grant_a b", "grant_../x"] {
            assert!(text.parse::<GrantId>().is_err(), "{text}");
        }
    }

    #[test]
    fn different_random_bytes_give_different_ids() {
        let mut random = [0; RANDOM_BYTES];
        let first = CallId::from_random(random);
        random[9] = 1;
        assert_ne!(first, CallId::from_random(random));
    }
}
