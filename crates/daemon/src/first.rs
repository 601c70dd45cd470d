//! What happens once in the life of a home: anyone may ask the time. A later revocation of that grant sticks.

use std::path::PathBuf;

use covenant_gate::operator::{GrantError, Peer};
use covenant_gate::{Credential, Fault, Gate};
use covenant_model::api::NewGrant;
use covenant_model::constraint::Constraints;
use covenant_model::grant::Approval;
use covenant_model::principal::Subject;

use crate::atomic;
use crate::config::Config;
use crate::home::Home;
use crate::trust;

/// What is granted to anyone.
const ACTION: &str = "tool.call.clock";

/// Whether nothing was ever granted here: no start has left its mark, or the database is gone. Ask before it is made.
pub(crate) fn is_fresh(home: &Home, config: &Config) -> bool {
    let default = Config::default().database.url == config.database.url;
    !mark(home).exists() || (default && !home.database().exists())
}

fn mark(home: &Home) -> PathBuf {
    home.identity().join("first-start")
}

/// Lets anyone ask the time, and remembers that this was done.
pub(crate) async fn grant_clock(home: &Home, gate: &Gate) -> Result<(), Fault> {
    let refused = |refusal| Fault::new("the first grant could not be made", refusal);
    let caller = gate.authenticate(&Credential::peer(trust::user())).map_err(refused)?;
    let peer =
        Peer { pid: Some(std::process::id()), program: Some("first start".to_owned()), terminal: None };
    let operator = gate.operator(&caller, peer).map_err(refused)?;
    let there = gate
        .grants(&operator)
        .iter()
        .any(|grant| grant.action.as_str() == ACTION && grant.subject == Subject::Any);
    if !there {
        let action =
            ACTION.parse().map_err(|error| Fault::new("the first grant could not be made", error))?;
        let new = NewGrant {
            subject: Subject::Any,
            action,
            constraints: Constraints::default(),
            approval: Approval::None,
            expires_at: None,
        };
        gate.grant(&operator, new).await.map_err(|error| match error {
            GrantError::Fault(fault) => fault,
            other => Fault::new("the first grant could not be made", other),
        })?;
    }
    atomic::write(&mark(home), b"clock was granted to any\n")
        .map_err(|error| Fault::new("the home could not be written to", error))
}
