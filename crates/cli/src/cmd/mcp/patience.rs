//! How long a daemon is waited for, here or elsewhere, where `COVIBE_TIMEOUT_MS` says it.

use std::time::Duration;

use super::token;
use crate::exit::Failure;

/// The longest that can be said, in milliseconds: as long as the gate lets any call run.
const LONGEST: u64 = 600_000;

/// How long, if it is said.
pub(super) fn said() -> Result<Option<Duration>, Failure> {
    token::variable("COVIBE_TIMEOUT_MS").as_deref().map(read).transpose()
}

fn read(written: &str) -> Result<Duration, Failure> {
    match written.parse() {
        Ok(millis @ 1..=LONGEST) => Ok(Duration::from_millis(millis)),
        _ => Err(Failure::usage(
            format!("COVIBE_TIMEOUT_MS is no number of milliseconds from 1 to {LONGEST}"),
            "correct or remove it: without it a daemon elsewhere is given up after 60 s of silence, and one here after 11 minutes",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Exit;

    #[test]
    fn the_patience_is_a_number_of_milliseconds() {
        assert_eq!(read("1500").unwrap(), Duration::from_millis(1500));
        for bad in ["0", "-1", "60s", "600001", "99999999999999999999"] {
            assert_eq!(read(bad).unwrap_err().exit(), Exit::Usage, "{bad}");
        }
    }
}
