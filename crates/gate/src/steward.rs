//! Who may act for developers, and for which of them: the operator for all, an admin for a workspace, everybody for themselves.

use covenant_model::principal::{Kind as PrincipalKind, Principal};
use covenant_model::team::{Developer, Handle, Role};

use crate::authenticate::Caller;
use crate::gate::Gate;
use crate::operator::{Actor, Peer};
use crate::refusal::{CallError, Fault, Refusal};

/// Why a member does not administer.
const MEMBER: &str = "only an admin of it may, or the operator";

/// Why an agent does not, whoever it works for: what one token makes would outlive that token.
const AGENT: &str = "its token was made for an agent, and with those only calls are made";

/// Why nobody else acts for the operator's developer.
const LOCAL: &str = "`local` is the operator, and the tokens of `local` are the operator's own";

/// Proof that somebody may act for developers, and from where they ask.
#[derive(Debug, Clone)]
pub struct Steward {
    pub(crate) actor: Actor,
    /// Who they are; none of the operator, who is everybody's.
    own: Option<Developer>,
    caller: Caller,
}

impl Steward {
    /// The developer they are; none of the operator.
    pub fn own(&self) -> Option<&Developer> {
        self.own.as_ref()
    }

    /// Whether they may know of what is that developer's alone.
    pub(crate) fn oversees(&self, developer: &Developer) -> bool {
        self.own.as_ref().is_none_or(|own| {
            // Nobody acts for the operator's developer but the operator.
            let others = own.role == Role::Admin && developer.handle != Handle::local();
            own.id == developer.id || (others && own.workspace == developer.workspace)
        })
    }

    /// Whether that developer belongs to a workspace they may know of.
    pub(crate) fn is_near(&self, developer: &Developer) -> bool {
        self.own.as_ref().is_none_or(|own| own.workspace == developer.workspace)
    }

    fn is_agent(&self) -> bool {
        self.caller.badge().agent_type.is_some()
    }

    fn is_member(&self) -> bool {
        self.own.as_ref().is_some_and(|own| own.role == Role::Member)
    }
}

impl Gate {
    /// For whom that caller may act. Clients and runs of agents act for nobody.
    pub async fn steward(&self, caller: &Caller, peer: Peer) -> Result<Steward, CallError> {
        let principal = caller.principal();
        let own = match principal.kind() {
            PrincipalKind::Operator => None,
            PrincipalKind::Developer => {
                // The operator administers as they like; others could fill the log.
                self.admit(caller)?;
                Some(self.developer_of(principal).await?.ok_or(Refusal::Unauthenticated)?)
            }
            PrincipalKind::Client | PrincipalKind::Agent => {
                return Err(Refusal::NotOperator { principal: principal.clone() }.into());
            }
        };
        Ok(Steward { actor: Actor::new(caller, peer), own, caller: caller.clone() })
    }

    /// That this is a person, who may change what is theirs.
    pub(crate) fn may_change(&self, steward: &Steward) -> Result<(), Refusal> {
        if steward.is_agent() { Err(self.not_admin(steward, AGENT)) } else { Ok(()) }
    }

    /// That they may change what is others'.
    pub(crate) fn may_administer(&self, steward: &Steward) -> Result<(), Refusal> {
        self.may_change(steward)?;
        if steward.is_member() { Err(self.not_admin(steward, MEMBER)) } else { Ok(()) }
    }

    /// That they may not act for that developer, whom they may know of.
    pub(crate) fn may_not_act_for(&self, steward: &Steward, developer: &Developer) -> Refusal {
        let local = developer.handle == Handle::local() && !steward.is_member();
        self.not_admin(steward, if local { LOCAL } else { MEMBER })
    }

    fn not_admin(&self, steward: &Steward, why: &'static str) -> Refusal {
        let refusal = Refusal::NotAdmin { principal: steward.actor.principal.clone(), why };
        self.record_refused(&steward.caller, &refusal);
        refusal
    }

    /// The developer whom that principal names.
    pub(crate) async fn developer_of(&self, principal: &Principal) -> Result<Option<Developer>, Fault> {
        match principal.name().parse::<Handle>() {
            Ok(handle) => self.store.developer(handle).await,
            // Tokens are made for developers, whose handles are sound.
            Err(_) => Ok(None),
        }
    }
}
