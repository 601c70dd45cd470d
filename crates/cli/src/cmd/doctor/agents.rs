//! Checks of the agents: which manifests are not used, and whose programs cannot be run.

use covenant_daemon::agents::catalogue::Catalogue;

use super::Finding;
use crate::setting::Setting;

const NAME: &str = "agents";

/// How many problems are told; `agents list` has them all.
const SHOWN: usize = 10;

/// Everything about the agents.
pub(super) fn all(setting: &Setting) -> Vec<Finding> {
    let catalogue = Catalogue::scan(&setting.home);
    let remarks = catalogue.remarks();
    let mut findings = vec![Finding::ok(
        NAME,
        match catalogue.agents.len() {
            0 => "there is none".to_owned(),
            1 => "there is 1".to_owned(),
            count => format!("there are {count}"),
        },
    )];
    findings.extend(remarks.iter().take(SHOWN).map(|remark| Finding::remark(NAME, remark)));
    if let Some(more) = remarks.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        let detail = format!("{more} more problems with manifests and programs");
        findings.push(Finding::warn(NAME, detail, "see all of them: covenant agents list"));
    }
    findings
}
