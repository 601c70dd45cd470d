//! When a claim is over, and whom it keeps out.

use std::time::Duration;

use covenant_model::id::{AgentSessionId, DeveloperId};
use covenant_model::time::Timestamp;

use crate::coordination::Claim;
use crate::input::bounds::TTL_MINUTES;

/// How long a claim lasts unless it says otherwise, in minutes.
pub const MINUTES: u64 = 60;

/// The latest end that a claim can have at that moment. One that ends later was made before the clock was put back, and would
/// keep others out for as long as that was far.
pub fn latest_end(now: Timestamp) -> Timestamp {
    now.plus(Duration::from_mins(2 * TTL_MINUTES))
}

/// Whether what is claimed in one repository can be what is claimed in another. One that names none is in each.
pub fn is_same_place(one: &str, other: &str) -> bool {
    one.is_empty() || other.is_empty() || one == other
}

/// How a claim stands to whoever wants its paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stance {
    /// It is theirs.
    Own,
    /// It is of another session of the same developer.
    SameDeveloper,
    /// It is somebody else's.
    Others,
}

/// How a claim stands to that developer in that session, or in none.
pub fn stance(claim: &Claim, developer: &DeveloperId, session: Option<&AgentSessionId>) -> Stance {
    if claim.developer != *developer {
        Stance::Others
    } else if claim.session.as_ref() == session {
        Stance::Own
    } else {
        Stance::SameDeveloper
    }
}

#[cfg(test)]
mod tests {
    use covenant_model::id::{ClaimId, WorkspaceId};

    use super::*;

    #[test]
    fn a_claim_keeps_out_everybody_but_the_session_that_holds_it() {
        let (ada, bob) = (DeveloperId::from_random([1; 10]), DeveloperId::from_random([2; 10]));
        let (first, second) = (AgentSessionId::from_random([1; 10]), AgentSessionId::from_random([2; 10]));
        let held = |session: Option<&AgentSessionId>| Claim {
            id: ClaimId::from_random([0; 10]),
            workspace: WorkspaceId::from_random([0; 10]),
            developer: ada.clone(),
            session: session.cloned(),
            repo: String::new(),
            paths: Vec::new(),
            message: None,
            minutes: 1,
            created_at: Timestamp::from_millis(0),
            expires_at: Timestamp::from_millis(0),
            ending: None,
        };
        for (by, who, session, expected) in [
            (Some(&first), &ada, Some(&first), Stance::Own),
            (Some(&first), &ada, Some(&second), Stance::SameDeveloper),
            (Some(&first), &ada, None, Stance::SameDeveloper),
            (None, &ada, Some(&first), Stance::SameDeveloper),
            (None, &ada, None, Stance::Own),
            (None, &bob, None, Stance::Others),
            (Some(&first), &bob, Some(&first), Stance::Others),
        ] {
            assert_eq!(stance(&held(by), who, session), expected, "{by:?} {who} {session:?}");
        }
        for (one, other, same) in [("a", "a", true), ("a", "b", false), ("", "b", true), ("a", "", true)] {
            assert_eq!(is_same_place(one, other), same, "{one} {other}");
        }
    }
}
