//! When a session has been silent for so long that its work may be taken over.

use std::time::Duration;

use covenant_model::time::Timestamp;

use crate::rules::parallel;
use crate::session::Session;

/// How long a session may be silent.
pub const IDLE: Duration = Duration::from_mins(30);

/// For how long it is told that a session is: whoever went away longer ago does not come back to end it.
pub const TOLD: Duration = parallel::RECENT;

/// Since when, and before when, a session was last heard of whose silence is told.
pub fn window(now: Timestamp) -> (Timestamp, Timestamp) {
    (now.minus(TOLD), now.minus(IDLE))
}

/// Whether a session that was not ended was heard of too long ago. A clock that was put back makes nothing stale.
pub fn is_stale(session: &Session, now: Timestamp) -> bool {
    session.ended_at.is_none() && now.since(session.last_seen_at) > IDLE
}

/// How a session stands, in a word.
pub fn standing(session: &Session, now: Timestamp) -> &'static str {
    match session.ended_at {
        Some(_) => "ended",
        None if is_stale(session, now) => "stale",
        None => "active",
    }
}

#[cfg(test)]
mod tests {
    use covenant_model::id::{AgentSessionId, DeveloperId, WorkspaceId};

    use super::*;

    #[test]
    fn half_an_hour_of_silence_is_not_yet_too_long() {
        let seen = Timestamp::from_millis(1_000_000_000);
        let mut session = Session {
            id: AgentSessionId::from_random([0; 10]),
            workspace: WorkspaceId::from_random([0; 10]),
            developer: DeveloperId::from_random([0; 10]),
            agent_name: None,
            agent_type: None,
            provider: None,
            model: None,
            repo: None,
            branch: None,
            started_at: seen,
            last_seen_at: seen,
            ended_at: None,
        };
        let minutes = |minutes| seen.plus(Duration::from_mins(minutes));
        assert_eq!(standing(&session, minutes(30)), "active");
        assert_eq!(standing(&session, minutes(30).plus(Duration::from_millis(1))), "stale");
        assert_eq!(standing(&session, seen.minus(Duration::from_hours(9))), "active");
        session.ended_at = Some(minutes(1));
        assert_eq!(standing(&session, minutes(60)), "ended");
    }
}
