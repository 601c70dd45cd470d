//! How long a session lasts: by whose it is, and by who else is sent its cookie.

use std::time::Duration;

use covenant_model::principal::{Kind, Principal};
use covenant_model::time::Timestamp;

use crate::ports::signin::WebSession;

/// Who else is sent the cookie of a browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ground {
    /// Nobody but us: the name is ours, or the cookie is bound to us.
    Own,
    /// Every program with a port of this machine: browsers do not keep the ports of a host apart.
    Shared,
}

/// How long a session lasts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Term {
    /// However much it is used.
    pub(super) whole: Duration,
    /// That nobody uses.
    pub(super) idle: Duration,
}

/// The longest that any session lasts.
pub(super) const LONG: Term =
    Term { whole: Duration::from_hours(30 * 24), idle: Duration::from_hours(7 * 24) };

/// What opens everything, and others are sent, is of use for a day of work.
const SHORT: Term = Term { whole: Duration::from_hours(12), idle: Duration::from_hours(1) };

impl Term {
    /// How long a session of that one lasts there.
    pub(super) fn of(who: &Principal, ground: Ground) -> Self {
        match (who.kind(), ground) {
            (Kind::Operator, Ground::Shared) => SHORT,
            _ => LONG,
        }
    }

    /// Whether a session is over by then. It is looked at on each use: what was begun elsewhere may be shown here.
    pub(super) fn is_over(self, session: &WebSession, now: Timestamp) -> bool {
        now.since(session.created_at) >= self.whole || now.since(session.used_at) >= self.idle
    }
}

#[cfg(test)]
mod tests {
    use covenant_model::token::TokenHash;

    use super::*;

    #[test]
    fn the_operators_session_is_short_where_others_are_sent_its_cookie() {
        let (operator, ada) = (Principal::operator(), Principal::developer("ada").unwrap());
        let minutes = |count: u64| Timestamp::from_millis(1_800_000_000_000 + count * 60_000);
        let (hour, day) = (60, 24 * 60);
        for (who, ground, whole, idle) in [
            (&operator, Ground::Shared, 12 * hour, hour),
            (&operator, Ground::Own, 30 * day, 7 * day),
            (&ada, Ground::Shared, 30 * day, 7 * day),
            (&ada, Ground::Own, 30 * day, 7 * day),
        ] {
            let session = |used: u64| WebSession {
                hash: TokenHash([0; 32]),
                principal: who.clone(),
                created_at: minutes(0),
                used_at: minutes(used),
                expires_at: minutes(30 * day),
            };
            let is_over = |used, now| Term::of(who, ground).is_over(&session(used), minutes(now));
            assert!(!is_over(whole - 2, whole - 1) && is_over(whole - 2, whole), "{who} {ground:?}");
            assert!(!is_over(1, idle) && is_over(1, idle + 1), "{who} {ground:?}");
        }
    }
}
