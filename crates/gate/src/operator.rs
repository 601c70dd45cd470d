//! What only the operator may do: grants, clients, and the rows of every such act. No MCP face reaches this.

use covenant_model::action::ActionPattern;
use covenant_model::api::{
    Client, ClientAdded, ExplainBody, Explanation, Granted, NearMiss, NewClient, NewGrant, Preset, Removed,
};
use covenant_model::audit::{Decision, Event, Kind};
use covenant_model::constraint::{BadConstraints, Constraints};
use covenant_model::grant::{Approval, Grant};
use covenant_model::id::{GrantId, TokenId};
use covenant_model::principal::{BadPrincipal, Kind as PrincipalKind, Principal, Subject};
use covenant_model::token;

use crate::authenticate::Caller;
use crate::gate::Gate;
use crate::limit::elapsed;
use crate::ports::{Badge, TokenRecord};
use crate::random;
use crate::refusal::{Fault, Refusal};

/// Proof that the operator asks, and from where.
#[derive(Debug, Clone)]
pub struct Operator(Actor);

/// Who administers, and from where: what stands in the row of an act.
#[derive(Debug, Clone)]
pub(crate) struct Actor {
    pub(crate) principal: Principal,
    peer: String,
}

/// Where an act of the operator came from, as far as the system knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Peer {
    /// The process.
    pub pid: Option<u32>,
    /// The program it runs.
    pub program: Option<String>,
    /// The terminal it is attached to.
    pub terminal: Option<String>,
}

/// Why a grant was not given.
#[derive(Debug, thiserror::Error)]
pub enum GrantError {
    /// Its limits make no sense.
    #[error(transparent)]
    Limits(#[from] BadConstraints),
    /// It would end before it begins.
    #[error("the grant would already have expired")]
    Expired,
    /// Something broke.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl Operator {
    /// Who it is.
    pub fn principal(&self) -> &Principal {
        &self.0.principal
    }

    /// From where, as far as that is known.
    pub(crate) fn peer(&self) -> Option<&str> {
        self.0.peer()
    }

    /// As it stands in the row of an act.
    pub(crate) fn actor(&self) -> &Actor {
        &self.0
    }
}

impl Actor {
    pub(crate) fn new(caller: &Caller, peer: Peer) -> Self {
        let pid = peer.pid.map(|pid| format!("pid {pid}"));
        let parts = [pid, peer.program, peer.terminal.map(|tty| format!("on {tty}"))];
        let peer = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
        Self { principal: caller.principal().clone(), peer }
    }

    /// From where, as far as that is known.
    pub(crate) fn peer(&self) -> Option<&str> {
        (!self.peer.is_empty()).then_some(self.peer.as_str())
    }
}

impl GrantError {
    /// As a fault: where the grant is the gate's own, its limits make sense.
    pub(crate) fn into_fault(self) -> Fault {
        match self {
            Self::Fault(fault) => fault,
            other => Fault::new("a grant could not be given", other),
        }
    }
}

/// Why a client was not added.
#[derive(Debug, thiserror::Error)]
pub enum AddClientError {
    /// There is one.
    #[error("there is already a client `{name}`; revoke it first with: covenant clients revoke {name}")]
    Taken {
        /// Its name.
        name: String,
    },
    /// It cannot be called that.
    #[error("a client's name has 1 to 64 letters, digits, `_`, `-` and `.`")]
    Name(#[from] BadPrincipal),
    /// Something broke.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl Gate {
    /// Whether that caller is the operator.
    pub fn operator(&self, caller: &Caller, peer: Peer) -> Result<Operator, Refusal> {
        let principal = caller.principal();
        if principal.kind() != PrincipalKind::Operator {
            return Err(Refusal::NotOperator { principal: principal.clone() });
        }
        Ok(Operator(Actor::new(caller, peer)))
    }

    /// Writes down that someone else tried to administer this home; of a flood, one a minute.
    pub fn record_refused(&self, caller: &Caller, refusal: &Refusal) {
        self.count_refusal(refusal);
        if caller.bucket.worth_reporting(elapsed(self.opened)) {
            let principal = caller.principal().as_str();
            let mut event = Event::new(principal, "gate", Kind::CallRefused, Decision::Refused);
            event.reason = Some(refusal.code());
            self.audit().owe(event, &self.redactor());
        }
    }

    /// Gives a grant: signed, stored, recorded, in force.
    pub async fn grant(&self, operator: &Operator, new: NewGrant) -> Result<Granted, GrantError> {
        let grant = self.keep_grant(&operator.0, new).await?;
        self.load_grants().await?;
        let warnings = self.remarks(&grant).await?;
        Ok(Granted { grant, warnings })
    }

    /// Signs, stores and records a grant. It is in force once the grants are loaded.
    pub(crate) async fn keep_grant(&self, by: &Actor, new: NewGrant) -> Result<Grant, GrantError> {
        new.constraints.check()?;
        let now = self.clock.now();
        if new.expires_at.is_some_and(|end| end <= now) {
            return Err(GrantError::Expired);
        }
        let grant = Grant {
            id: GrantId::from_random(random::bytes()?),
            subject: new.subject,
            action: new.action,
            constraints: new.constraints,
            approval: new.approval,
            expires_at: new.expires_at,
            granted_by: by.principal.to_string(),
            granted_at: now,
        };
        let reason = format!("{} to {}", grant.action, grant.subject);
        self.store.add_grant(grant.clone().sign(&self.key)).await?;
        if let Err(fault) = self.record_by(by, Kind::GrantAdded, grant.id.as_str(), Some(&reason)).await {
            self.store.revoke_grant(grant.id, now).await?;
            return Err(fault.into());
        }
        Ok(grant)
    }

    /// What a person should know about a grant before relying on it.
    async fn remarks(&self, grant: &Grant) -> Result<Vec<String>, Fault> {
        let mut remarks = Vec::new();
        if let Some(name) = self.missing_tool(&grant.action) {
            remarks
                .push(format!("there is no tool `{name}` yet; the grant will apply as soon as there is one"));
        }
        if let Subject::One(principal) = &grant.subject
            && principal.kind() == PrincipalKind::Agent
        {
            remarks.push(format!(
                "runs of an agent may what its manifest names and whoever sends them may; a grant to {principal} gives them \
                 nothing"
            ));
        }
        if let Subject::One(principal) = &grant.subject
            && principal.kind() == PrincipalKind::Client
            && !self
                .clients_of_store()
                .await?
                .iter()
                .any(|client| client.principal == *principal && client.revoked_at.is_none())
        {
            let name = principal.name();
            remarks
                .push(format!("there is no client `{name}` yet; add it with: covenant clients add {name}"));
        }
        if let Subject::One(principal) = &grant.subject
            && principal.kind() == PrincipalKind::Developer
            && self.developer_of(principal).await?.is_none()
        {
            let name = principal.name();
            remarks.push(format!(
                "there is no developer `{name}` yet; invite them with: covenant team invite {name}"
            ));
        }
        Ok(remarks)
    }

    /// The tool that action names, if there is none of that name.
    fn missing_tool(&self, action: &ActionPattern) -> Option<String> {
        let name = action.as_str().strip_prefix("tool.call.").filter(|_| action.prefix().is_none())?;
        self.tools.load().find(name).is_none().then(|| name.to_owned())
    }

    /// Takes a grant back; `false` if there is none with that id.
    pub async fn revoke_grant(&self, operator: &Operator, id: &GrantId) -> Result<bool, Fault> {
        self.take_grant(&operator.0, id).await
    }

    async fn take_grant(&self, by: &Actor, id: &GrantId) -> Result<bool, Fault> {
        if !self.store.revoke_grant(id.clone(), self.clock.now()).await? {
            return Ok(false);
        }
        self.load_grants().await?;
        self.record_by(by, Kind::GrantRevoked, id.as_str(), None).await?;
        Ok(true)
    }

    /// Takes back every grant that names that principal; which those were.
    pub(crate) async fn take_grants_of(
        &self,
        by: &Actor,
        principal: Principal,
    ) -> Result<Vec<String>, Fault> {
        let subject = Subject::One(principal);
        let theirs: Vec<GrantId> = {
            let set = self.grants.load();
            set.all().filter(|held| held.grant.subject == subject).map(|held| held.grant.id.clone()).collect()
        };
        let mut taken = Vec::new();
        for id in theirs {
            if self.take_grant(by, &id).await? {
                taken.push(id.to_string());
            }
        }
        Ok(taken)
    }

    /// Every grant in force, oldest first.
    pub fn grants(&self, _operator: &Operator) -> Vec<Grant> {
        let now = self.clock.now();
        let set = self.grants.load();
        let mut grants: Vec<Grant> =
            set.all().map(|held| held.grant.clone()).filter(|grant| !grant.expired(now)).collect();
        grants.sort_by(|a, b| (a.granted_at, &a.id).cmp(&(b.granted_at, &b.id)));
        grants
    }

    /// Says which grant would decide, or what is missing and how to grant it.
    pub fn explain(&self, _operator: &Operator, asked: &ExplainBody) -> Explanation {
        let grants = self.grants.load();
        let examined =
            grants.examine(&asked.principal, &asked.action, asked.arguments.as_ref(), self.clock.now());
        let decides = examined.iter().find(|(_, hindrance)| hindrance.is_none());
        let grant = decides.map(|(held, _)| held.grant.clone());
        let near = examined
            .iter()
            .filter_map(|(held, hindrance)| {
                Some(NearMiss { grant: held.grant.clone(), reason: hindrance.clone()? })
            })
            .collect();
        let command = grant
            .is_none()
            .then(|| format!("covenant capabilities grant {} --to {}", asked.action, asked.principal));
        Explanation { allowed: grant.is_some(), grant, near, command }
    }

    /// Adds a client: a token, shown once, and its first grants.
    pub async fn add_client(
        &self,
        operator: &Operator,
        new: NewClient,
    ) -> Result<ClientAdded, AddClientError> {
        let principal = Principal::client(&new.name)?;
        let token = token::from_random(random::bytes()?);
        let Some(hash) = token::hash(token.reveal()) else {
            return Err(Fault::new("a token could not be made", "its shape is wrong").into());
        };
        let record = TokenRecord {
            id: TokenId::from_random(random::bytes()?),
            hash,
            principal: principal.clone(),
            label: new.name.clone(),
            badge: Badge { may_approve: new.may_approve, ..Badge::default() },
            created_at: self.clock.now(),
            revoked_at: None,
        };
        if !self.store.add_token(record).await? {
            return Err(AddClientError::Taken { name: new.name });
        }
        let reason = new.may_approve.then_some("may approve");
        if let Err(fault) = self.record(operator, Kind::ClientAdded, principal.as_str(), reason).await {
            self.store.revoke_tokens(principal, self.clock.now()).await?;
            return Err(fault.into());
        }
        let preset = new.preset.map(actions_of).unwrap_or_default();
        let preset = preset.iter().filter_map(|action| action.parse::<ActionPattern>().ok());
        let mut ahead = Vec::new();
        for action in preset.chain(new.grants) {
            let grant = NewGrant {
                subject: Subject::One(principal.clone()),
                action,
                constraints: Constraints::default(),
                approval: Approval::None,
                expires_at: None,
            };
            ahead.extend(self.missing_tool(&grant.action));
            self.keep_grant(&operator.0, grant).await.map_err(GrantError::into_fault)?;
        }
        let warnings = match ahead.as_slice() {
            [] => Vec::new(),
            names => vec![format!(
                "granted ahead of time, since there are no such tools yet: {}",
                names.join(", ")
            )],
        };
        self.load_tokens().await?;
        self.load_grants().await?;
        Ok(ClientAdded { name: new.name, token: token.reveal().to_owned(), warnings })
    }

    /// Every client, oldest first.
    pub async fn clients(&self, _operator: &Operator) -> Result<Vec<Client>, Fault> {
        self.clients_of_store().await
    }

    async fn clients_of_store(&self) -> Result<Vec<Client>, Fault> {
        let grants = self.grants.load_full();
        let tokens = self.store.tokens().await?;
        let clients = tokens.into_iter().filter(|token| token.principal.kind() == PrincipalKind::Client);
        Ok(clients
            .map(|token| Client {
                grants: grants
                    .all()
                    .filter(|held| held.grant.subject == Subject::One(token.principal.clone()))
                    .count(),
                name: token.principal.name().to_owned(),
                may_approve: token.badge.may_approve,
                principal: token.principal,
                created_at: token.created_at,
                revoked_at: token.revoked_at,
            })
            .collect())
    }

    /// Ends a client: its token and every grant that names it. `None` if there is none.
    pub async fn revoke_client(&self, operator: &Operator, name: &str) -> Result<Option<Removed>, Fault> {
        let Ok(principal) = Principal::client(name) else { return Ok(None) };
        let now = self.clock.now();
        if self.store.revoke_tokens(principal.clone(), now).await? == 0 {
            return Ok(None);
        }
        self.load_tokens().await?;
        // Whoever listens is asked anew who it is.
        self.announce();
        self.record(operator, Kind::ClientRevoked, principal.as_str(), None).await?;
        let also = self.take_grants_of(&operator.0, principal).await?;
        Ok(Some(Removed { removed: name.to_owned(), also }))
    }

    /// Writes a row for something the operator did, with where it came from.
    pub async fn record(
        &self,
        operator: &Operator,
        kind: Kind,
        subject: &str,
        reason: Option<&str>,
    ) -> Result<(), Fault> {
        self.record_by(&operator.0, kind, subject, reason).await
    }

    pub(crate) async fn record_by(
        &self,
        by: &Actor,
        kind: Kind,
        subject: &str,
        reason: Option<&str>,
    ) -> Result<(), Fault> {
        let mut event = Event::new(by.principal.as_str(), subject, kind, Decision::Done);
        event.reason = reason;
        event.peer = by.peer();
        self.audit().append(std::slice::from_ref(&event), &self.redactor()).await.map(drop)
    }
}

/// The grants of a preset, which are ordinary grants; never derived from what a server says of itself.
fn actions_of(preset: Preset) -> Vec<&'static str> {
    const READ_ONLY: &[&str] = &[
        "tool.call.echo",
        "tool.call.workspace_read",
        "tool.call.workspace_list",
        "tool.call.memory_read",
        "tool.call.vault_read",
        "tool.call.vault_list",
        "tool.call.vault_search",
        "tool.call.calendar_read",
        "tool.call.github_list_issues",
        "tool.call.script_list",
    ];
    const WORKSPACE: &[&str] =
        &["tool.call.workspace_write", "tool.call.memory_write", "tool.call.vault_write"];
    const ALL: &[&str] = &["tool.call.*", "tool.resource.*", "tool.prompt.*"];
    match preset {
        Preset::ReadOnly => READ_ONLY.to_vec(),
        Preset::Workspace => [READ_ONLY, WORKSPACE].concat(),
        Preset::All => ALL.to_vec(),
    }
}
