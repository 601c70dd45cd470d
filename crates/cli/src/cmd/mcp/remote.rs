//! `covenant --mcp --url ORIGIN`: which daemon elsewhere is meant, and how long it is waited for.

use std::time::Duration;

use covenant_daemon::origin::{Origin, couriers};
use covenant_mcp::bridge::remote::Remote;

use super::{patience, token};
use crate::exit::{Exit, Failure};
use crate::setting::Setting;

/// How long an origin may be silent where nothing else is said.
const PATIENCE: Duration = Duration::from_mins(1);

/// The daemon elsewhere, if one is meant: what was typed wins over `COVIBE_BASE_URL`.
pub(super) fn wanted(setting: &Setting, typed: Option<&str>) -> Result<Option<Remote>, Failure> {
    let Some(written) = typed.map(str::to_owned).or_else(|| token::variable("COVIBE_BASE_URL")) else {
        return Ok(None);
    };
    let origin = Origin::parse(&written).map_err(|error| Failure::told(Exit::Usage, &error))?;
    let patience = patience::said()?.unwrap_or(PATIENCE);
    let token = token::find(setting, || Ok(vec![origin.clone()]))?;
    Ok(Some(Remote { origin: origin.as_str().to_owned(), token, couriers: couriers(), patience }))
}
