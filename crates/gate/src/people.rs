//! What is done about workspaces and their developers, for those who may: named, invited, listed, removed. No MCP face
//! reaches this.

mod tokens;

pub use tokens::Ended;

use covenant_model::api::{Member, NewGrant, NewMember, Removed, WorkspaceMade};
use covenant_model::audit::Kind;
use covenant_model::constraint::Constraints;
use covenant_model::grant::Approval;
use covenant_model::id::{DeveloperId, WorkspaceId};
use covenant_model::principal::Subject;
use covenant_model::team::{BadName, Developer, Handle, Workspace, WorkspaceName};

use crate::gate::Gate;
use crate::operator::{Actor, GrantError, Operator};
use crate::ports::people::{Admitted, Named};
use crate::random;
use crate::refusal::{Fault, Refusal};
use crate::signin::Code;
use crate::steward::Steward;

/// What everybody who is invited may call.
pub const TEAM_ACTION: &str = "tool.call.covibe_*";

/// Why something about people was not done.
#[derive(Debug, thiserror::Error)]
pub enum PeopleError {
    /// They may not.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Nobody and nothing can be called that.
    #[error(transparent)]
    Name(#[from] BadName),
    /// There is a workspace of that name.
    #[error("there is already a workspace `{0}`")]
    WorkspaceTaken(WorkspaceName),
    /// There is no workspace of that name, or none they may know of.
    #[error("there is no workspace `{name}`: there {there}")]
    NoWorkspace {
        /// What was asked for.
        name: String,
        /// Those they may know of.
        there: String,
    },
    /// Somebody has that handle.
    #[error("there is already a developer `{0}`")]
    HandleTaken(Handle),
    /// Somebody had that handle in another workspace, and keeps it there.
    #[error("`{handle}` was removed from the workspace `{workspace}`, and can only come back there")]
    HandleKept {
        /// Which.
        handle: Handle,
        /// Where.
        workspace: WorkspaceName,
    },
    /// There is nobody of that handle, or nobody they may act for.
    #[error("there is no developer `{0}`")]
    NoDeveloper(String),
    /// The operator's own developer stays.
    #[error("`local` is the operator of this home, and cannot be removed")]
    Local,
    /// The operator signs in another way.
    #[error("`local` is the operator of this home, who signs in with: covenant dashboard")]
    Unfit,
    /// They hold a valid token with that label.
    #[error("`{handle}` has a valid token with the label `{label}` already")]
    LabelTaken {
        /// Whose.
        handle: Handle,
        /// Which.
        label: String,
    },
    /// They hold as many tokens as they may.
    #[error("`{handle}` has {limit} valid tokens already, and nobody has more")]
    Full {
        /// Whose.
        handle: Handle,
        /// How many.
        limit: u64,
    },
    /// Something broke.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl Gate {
    /// Gives the workspace that nobody named yet its name, so that what was done in it stays with the team; after that each
    /// name is a new workspace.
    pub async fn name_workspace(
        &self,
        operator: &Operator,
        name: &str,
    ) -> Result<WorkspaceMade, PeopleError> {
        let name = WorkspaceName::given(name)?;
        let id = WorkspaceId::from_random(random::bytes()?);
        let (made, was) = match self.store.name_workspace(id, name.clone(), self.clock.now()).await? {
            Named::New(made) => (made, None),
            Named::First(named) => (named, Some(WorkspaceName::local())),
            Named::Taken => return Err(PeopleError::WorkspaceTaken(name)),
        };
        // It gives nobody anything: where no row can be written it may stay.
        let reason = was.as_ref().map_or_else(|| name.to_string(), |was| format!("{name}, which was {was}"));
        self.record(operator, Kind::WorkspaceMade, made.id.as_str(), Some(&reason)).await?;
        Ok(WorkspaceMade { id: made.id, name: made.name, created_at: made.created_at, was })
    }

    /// Takes somebody into a workspace, and lets them use its tools. With the code they choose how they sign in.
    pub async fn invite(&self, steward: &Steward, new: NewMember) -> Result<(Member, Code), PeopleError> {
        self.may_administer(steward)?;
        let handle = Handle::of_person(&new.handle)?;
        let workspace = self.workspace(steward, new.workspace.as_deref()).await?;
        let developer = Developer {
            id: DeveloperId::from_random(random::bytes()?),
            workspace: workspace.id,
            handle: handle.clone(),
            role: new.role,
            private: new.private,
            created_at: self.clock.now(),
            removed_at: None,
        };
        let developer = match self.store.admit(developer).await? {
            Admitted::Done(developer) => developer,
            Admitted::Taken => return Err(PeopleError::HandleTaken(handle)),
            Admitted::Gone(elsewhere) => return Err(self.had(steward, handle, &elsewhere).await?),
        };
        if let Err(fault) = self.let_in(&steward.actor, &developer).await {
            self.store.dismiss(developer.id, self.clock.now()).await?;
            return Err(fault.into());
        }
        self.load_grants().await?;
        let code = self.invite_code(&developer).await?;
        Ok((Member::of(developer, workspace.name), code))
    }

    async fn let_in(&self, by: &Actor, developer: &Developer) -> Result<(), Fault> {
        let principal = developer.principal();
        let reason = format!("{} of {}", developer.role.as_str(), developer.workspace);
        self.record_by(by, Kind::DeveloperInvited, principal.as_str(), Some(&reason)).await?;
        let unfit = |error| Fault::new("the grant of a developer could not be given", error);
        let grant = NewGrant {
            subject: Subject::One(principal),
            action: TEAM_ACTION.parse().map_err(unfit)?,
            constraints: Constraints::default(),
            approval: Approval::None,
            expires_at: None,
        };
        self.keep_grant(by, grant).await.map(drop).map_err(GrantError::into_fault)
    }

    /// Everybody they may know of, of that workspace or of all, oldest first. Members see private ones as such.
    pub async fn members(
        &self,
        steward: &Steward,
        workspace: Option<&str>,
    ) -> Result<Vec<Member>, PeopleError> {
        let only = match workspace {
            Some(name) => Some(self.workspace(steward, Some(name)).await?.id),
            None => None,
        };
        let workspaces = self.store.workspaces().await?;
        let developers = self.store.developers().await?;
        let seen = developers.into_iter().filter(|developer| {
            steward.is_near(developer) && only.as_ref().is_none_or(|only| *only == developer.workspace)
        });
        Ok(seen
            .filter_map(|developer| {
                let name = workspaces.iter().find(|it| it.id == developer.workspace)?.name.clone();
                let hidden = developer.private && !steward.oversees(&developer);
                let member = Member::of(developer, name);
                Some(if hidden { member.redacted() } else { member })
            })
            .collect())
    }

    /// Removes somebody: their tokens and grants end with the next request. Which developer that was, since what they have
    /// open is others' to end.
    pub async fn remove_developer(
        &self,
        steward: &Steward,
        handle: &str,
    ) -> Result<(DeveloperId, Removed), PeopleError> {
        self.may_administer(steward)?;
        let developer = self.developer(steward, handle).await?;
        if developer.handle == Handle::local() {
            return Err(PeopleError::Local);
        }
        let Some(taken) = self.store.dismiss(developer.id.clone(), self.clock.now()).await? else {
            return Err(PeopleError::NoDeveloper(handle.to_owned()));
        };
        // It is done: what breaks from here on is told, and keeps nothing of theirs in force.
        let (tokens, grants) = (self.load_tokens().await, self.load_grants().await);
        // Whoever listens is asked anew who it is.
        self.announce();
        tokens.and(grants)?;
        let principal = developer.principal();
        self.record_by(&steward.actor, Kind::DeveloperRemoved, principal.as_str(), None).await?;
        let mut also = Vec::new();
        for id in taken {
            self.record_by(&steward.actor, Kind::GrantRevoked, id.as_str(), None).await?;
            also.push(id.to_string());
        }
        Ok((developer.id, Removed { removed: developer.handle.into(), also }))
    }

    /// What is said of a handle that somebody had elsewhere: only who may know of that workspace is told its name.
    async fn had(
        &self,
        steward: &Steward,
        handle: Handle,
        elsewhere: &WorkspaceId,
    ) -> Result<PeopleError, Fault> {
        let known = self.store.workspaces().await?.into_iter().find(|it| it.id == *elsewhere);
        Ok(match known.filter(|_| steward.own().is_none()) {
            Some(workspace) => PeopleError::HandleKept { handle, workspace: workspace.name },
            None => PeopleError::HandleTaken(handle),
        })
    }

    /// The workspace of that name, or the one that is meant where none is named: their own, and for the operator that of
    /// `local`.
    async fn workspace(&self, steward: &Steward, name: Option<&str>) -> Result<Workspace, PeopleError> {
        let mut workspaces = self.store.workspaces().await?;
        workspaces.retain(|it| steward.own().is_none_or(|own| own.workspace == it.id));
        let own = match (name, steward.own()) {
            (Some(_), _) => None,
            (None, Some(own)) => Some(own.workspace.clone()),
            (None, None) => self.store.developer(Handle::local()).await?.map(|local| local.workspace),
        };
        let meant = workspaces.iter().find(|it| match name {
            Some(name) => it.name.is_meant_by(name),
            None => own.as_ref() == Some(&it.id),
        });
        meant.cloned().ok_or_else(|| PeopleError::NoWorkspace {
            name: name.unwrap_or("local").chars().take(64).collect(),
            there: listed(&workspaces),
        })
    }

    /// The developer of that handle, if they may act for them.
    pub(crate) async fn developer(&self, steward: &Steward, handle: &str) -> Result<Developer, PeopleError> {
        let found = match handle.parse::<Handle>() {
            Ok(handle) => self.store.developer(handle).await?,
            Err(_) => None,
        };
        let theirs = found.filter(|developer| steward.oversees(developer));
        theirs.ok_or_else(|| PeopleError::NoDeveloper(handle.chars().take(64).collect()))
    }
}

/// The names of a few workspaces, as the end of a sentence.
fn listed(workspaces: &[Workspace]) -> String {
    let names: Vec<String> = workspaces.iter().take(8).map(|it| format!("`{}`", it.name)).collect();
    match names.as_slice() {
        [] => "is none".to_owned(),
        [one] => format!("is {one}"),
        _ if workspaces.len() > names.len() => format!("are {} and others", names.join(", ")),
        _ => format!("are {}", names.join(", ")),
    }
}
