//! `covenant --mcp --url ORIGIN`: which daemon elsewhere is meant, and how long it is waited for.

use std::time::Duration;

use covenant_daemon::origin::{Origin, couriers};
use covenant_mcp::bridge::remote::Remote;

use super::token;
use crate::exit::{Exit, Failure};
use crate::setting::Setting;

/// How long an origin may be silent where nothing else is said.
const PATIENCE: Duration = Duration::from_mins(1);

/// The longest that can be said, in milliseconds: as long as the gate lets any call run.
const LONGEST: u64 = 600_000;

/// The daemon elsewhere, if one is meant: what was typed wins over `COVIBE_BASE_URL`.
pub(super) fn wanted(setting: &Setting, typed: Option<&str>) -> Result<Option<Remote>, Failure> {
    let Some(written) = typed.map(str::to_owned).or_else(|| token::variable("COVIBE_BASE_URL")) else {
        return Ok(None);
    };
    let origin = Origin::parse(&written).map_err(|error| Failure::told(Exit::Usage, &error))?;
    let patience = patience(token::variable("COVIBE_TIMEOUT_MS").as_deref())?;
    let token = token::find(setting, || Ok(vec![origin.clone()]))?;
    Ok(Some(Remote { origin: origin.as_str().to_owned(), token, couriers: couriers(), patience }))
}

fn patience(written: Option<&str>) -> Result<Duration, Failure> {
    let Some(written) = written else { return Ok(PATIENCE) };
    match written.parse() {
        Ok(millis @ 1..=LONGEST) => Ok(Duration::from_millis(millis)),
        _ => Err(Failure::usage(
            format!("COVIBE_TIMEOUT_MS is no number of milliseconds from 1 to {LONGEST}"),
            "correct or remove it: without it an origin is given up after 60 s of silence",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patience_is_a_number_of_milliseconds() {
        assert_eq!(patience(None).unwrap(), PATIENCE);
        assert_eq!(patience(Some("1500")).unwrap(), Duration::from_millis(1500));
        for bad in ["0", "-1", "60s", "600001", "99999999999999999999"] {
            assert_eq!(patience(Some(bad)).unwrap_err().exit(), Exit::Usage, "{bad}");
        }
    }
}
