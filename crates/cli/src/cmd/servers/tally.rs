//! How many servers are in which state, in words: `30 ready, 10 restarting`.

use std::collections::BTreeMap;

use covenant_model::server::ServerState;

/// The counts in a line: those that answer first, then the others in the order they are documented.
pub(crate) fn tally(counts: &BTreeMap<String, usize>) -> String {
    let place = |state: &str| {
        let known = ServerState::ALL.iter().position(|known| known.as_str() == state);
        (state != ServerState::Ready.as_str(), known.unwrap_or(ServerState::ALL.len()))
    };
    let mut states: Vec<_> = counts.iter().filter(|(_, count)| **count > 0).collect();
    if states.is_empty() {
        return "none".to_owned();
    }
    states.sort_by_key(|(state, _)| place(state));
    states.iter().map(|(state, count)| format!("{count} {state}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_answer_come_first_and_a_state_without_servers_not_at_all() {
        let counts = |states: &[(&str, usize)]| {
            states.iter().map(|(state, count)| ((*state).to_owned(), *count)).collect()
        };
        let told = tally(&counts(&[
            ("failed", 1),
            ("ready", 30),
            ("restarting", 10),
            ("starting", 2),
            ("stopped", 0),
        ]));
        assert_eq!(told, "30 ready, 2 starting, 10 restarting, 1 failed");
        assert_eq!(tally(&counts(&[("asleep", 1), ("disabled", 2)])), "2 disabled, 1 asleep");
        assert_eq!(tally(&counts(&[])), "none");
    }
}
