//! What happens once in the life of a home: anyone may ask the time, and the operator may work in a team. A later revocation
//! of such a grant sticks.

use std::path::PathBuf;

use covenant_gate::operator::{GrantError, Peer};
use covenant_gate::people::TEAM_ACTION;
use covenant_gate::{Clock, Credential, Fault, Gate, Operator, random};
use covenant_model::api::NewGrant;
use covenant_model::constraint::Constraints;
use covenant_model::grant::Approval;
use covenant_model::id::{DeveloperId, WorkspaceId};
use covenant_model::principal::{Principal, Subject};
use covenant_model::team::Handle;
use covenant_store::Store;

use crate::atomic;
use crate::config::Config;
use crate::home::Home;
use crate::trust;

/// Grants that are given together, once, and the file that says that they were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beginning {
    /// Anyone may ask the time.
    Clock,
    /// The operator may work in a team, and so may whoever holds a token of the developer they are.
    Team,
}

/// What was never granted here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fresh(Vec<Beginning>);

impl Fresh {
    /// What no start has left its mark of, or everything where the database is gone. Ask before that is made.
    pub(crate) fn look(home: &Home, config: &Config) -> Self {
        let default = Config::default().database.url == config.database.url;
        let gone = default && !home.database().exists();
        let every = [Beginning::Clock, Beginning::Team].into_iter();
        Self(every.filter(|beginning| gone || !beginning.mark(home).exists()).collect())
    }

    /// Grants it, and remembers that this was done.
    pub(crate) async fn grant(self, home: &Home, gate: &Gate) -> Result<(), Fault> {
        if self.0.is_empty() {
            return Ok(());
        }
        let operator = operator(gate)?;
        for beginning in self.0 {
            for subject in beginning.subjects() {
                grant(gate, &operator, subject, beginning.action()).await?;
            }
            atomic::write(&beginning.mark(home), beginning.remark())
                .map_err(|error| Fault::new("the home could not be written to", error))?;
        }
        Ok(())
    }
}

impl Beginning {
    fn mark(self, home: &Home) -> PathBuf {
        home.identity().join(match self {
            Self::Clock => "first-start",
            Self::Team => "first-team",
        })
    }

    fn remark(self) -> &'static [u8] {
        match self {
            Self::Clock => b"clock was granted to any\n",
            Self::Team => b"the tools of teams were granted to user@local and dev:local\n",
        }
    }

    fn action(self) -> &'static str {
        match self {
            Self::Clock => "tool.call.clock",
            Self::Team => TEAM_ACTION,
        }
    }

    fn subjects(self) -> Vec<Subject> {
        match self {
            Self::Clock => vec![Subject::Any],
            Self::Team => {
                vec![Subject::One(Principal::operator()), Subject::One(Principal::from(&Handle::local()))]
            }
        }
    }
}

/// Remembers that what happens once has happened.
pub(crate) fn mark_as_done(home: &Home) -> std::io::Result<()> {
    for beginning in [Beginning::Clock, Beginning::Team] {
        atomic::write(&beginning.mark(home), beginning.remark())?;
    }
    Ok(())
}

/// Sees to it that the operator is a developer: whoever works alone needs no set-up.
pub(crate) async fn found(store: &Store, clock: &dyn Clock) -> Result<(), Fault> {
    let workspace = WorkspaceId::from_random(random::bytes()?);
    let developer = DeveloperId::from_random(random::bytes()?);
    store.found_local(&workspace, &developer, clock.now()).await
}

fn operator(gate: &Gate) -> Result<Operator, Fault> {
    let refused = |refusal| Fault::new("the first grants could not be made", refusal);
    let caller = gate.authenticate(&Credential::peer(trust::user())).map_err(refused)?;
    let peer =
        Peer { pid: Some(std::process::id()), program: Some("first start".to_owned()), terminal: None };
    gate.operator(&caller, peer).map_err(refused)
}

async fn grant(gate: &Gate, operator: &Operator, subject: Subject, action: &str) -> Result<(), Fault> {
    let is_it =
        |grant: &covenant_model::grant::Grant| grant.action.as_str() == action && grant.subject == subject;
    if gate.grants(operator).iter().any(is_it) {
        return Ok(());
    }
    let new = NewGrant {
        subject,
        action: action.parse().map_err(|error| Fault::new("the first grants could not be made", error))?,
        constraints: Constraints::default(),
        approval: Approval::None,
        expires_at: None,
    };
    gate.grant(operator, new).await.map(drop).map_err(|error| match error {
        GrantError::Fault(fault) => fault,
        other => Fault::new("the first grants could not be made", other),
    })
}
