//! Workspaces and the people in them. Who may do what is the gate's.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use covenant_gate::people::PeopleError;
use covenant_gate::ports::people::People as _;
use covenant_gate::signin::Code;
use covenant_model::api::{Invited, Member, NewMember, NewWorkspace};
use covenant_model::principal::Principal;
use http::{StatusCode, Uri};
use serde::Deserialize;

use super::super::auth::{Admin, ForTeam};
use super::super::document::{Asked, Document, Segment};
use super::super::reply::{self, Failure};
use super::list::{Part, most};
use crate::daemon::Daemon;

/// Which members are wanted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    workspace: Option<String>,
    #[serde(default = "most")]
    limit: usize,
    after: Option<String>,
}

/// Names the workspace that nobody named yet, or makes another.
pub(crate) async fn name_workspace(
    State(daemon): State<Arc<Daemon>>,
    Admin(operator): Admin,
    Document(new): Document<NewWorkspace>,
) -> Result<Response, Failure> {
    let made = match daemon.gate.name_workspace(&operator, &new.name).await {
        Err(PeopleError::WorkspaceTaken(name)) => {
            // Names that differ by the case of their letters are one: the one that is there is said as it is written.
            let mut there = daemon.store.workspaces().await?.into_iter().map(|it| it.name);
            let like = there.find(|there| there.is_like(&name));
            return Err(PeopleError::WorkspaceTaken(like.unwrap_or(name)).into());
        }
        made => made?,
    };
    let mut response = reply::json(&daemon.gate.redactor(), &made)?;
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

/// The people whom that caller may know of, oldest first.
pub(crate) async fn members(
    State(daemon): State<Arc<Daemon>>,
    ForTeam(steward): ForTeam,
    uri: Uri,
    Asked(wanted): Asked<Wanted>,
) -> Result<Response, Failure> {
    let members = daemon.gate.members(&steward, wanted.workspace.as_deref()).await?;
    // The order is by when they came, and after that by nothing that tells who somebody private is.
    let numbered: Vec<_> = members.into_iter().enumerate().collect();
    let part = Part { limit: wanted.limit, after: wanted.after };
    let cut = part.of(numbered, |(number, member)| format!("{}~{number:08}", member.created_at))?;
    let shown: Vec<_> = cut.items.iter().map(|(_, member)| member).collect();
    cut.answer(&daemon.gate.redactor(), &uri, &shown)
}

/// Takes somebody in.
pub(crate) async fn invite(
    State(daemon): State<Arc<Daemon>>,
    ForTeam(steward): ForTeam,
    Document(new): Document<NewMember>,
) -> Result<Response, Failure> {
    let (member, code) = daemon.gate.invite(&steward, new).await?;
    invited(&daemon, member, &code)
}

/// Gives somebody who was invited another link.
pub(crate) async fn invite_again(
    State(daemon): State<Arc<Daemon>>,
    ForTeam(steward): ForTeam,
    Segment(handle): Segment,
) -> Result<Response, Failure> {
    let (member, code) = daemon.gate.invite_again(&steward, &handle).await?;
    invited(&daemon, member, &code)
}

/// Somebody with their link, which is shown this once.
fn invited(daemon: &Daemon, member: Member, code: &Code) -> Result<Response, Failure> {
    let link = format!("{}/invite/{}", daemon.place(), code.code.reveal());
    let invited = Invited {
        id: member.id,
        handle: member.handle,
        role: member.role,
        private: member.private,
        workspace: member.workspace,
        created_at: member.created_at,
        link,
        link_expires_at: code.expires_at,
    };
    reply::json_with_token(StatusCode::CREATED, &invited)
}

/// Removes somebody; their work stays.
pub(crate) async fn remove(
    State(daemon): State<Arc<Daemon>>,
    ForTeam(steward): ForTeam,
    Segment(handle): Segment,
) -> Result<Response, Failure> {
    let (gone, removed) = daemon.gate.remove_developer(&steward, &handle).await?;
    if let Ok(principal) = Principal::developer(&removed.removed) {
        daemon.sessions.close_all_of(&principal).await?;
    }
    daemon.settle(&gone).await;
    reply::json(&daemon.gate.redactor(), &removed)
}

impl From<PeopleError> for Failure {
    fn from(error: PeopleError) -> Self {
        let message = error.to_string();
        let taken = |action: String| Self::new(StatusCode::CONFLICT, "taken", message.clone(), action);
        match error {
            PeopleError::Refused(refusal) => refusal.into(),
            PeopleError::Fault(fault) => fault.into(),
            PeopleError::Name(_) | PeopleError::Local | PeopleError::Unfit => Self::invalid(message),
            PeopleError::WorkspaceTaken(_) => taken("choose another name".to_owned()),
            PeopleError::HandleTaken(handle) => taken(format!(
                "choose another handle, or, if it is them, give them another link: covenant team invite {handle} --again"
            )),
            PeopleError::HandleKept { handle, workspace } => taken(format!(
                "choose another handle, or invite them there: covenant team invite {handle} --workspace '{workspace}'"
            )),
            PeopleError::LabelTaken { .. } => {
                taken("choose another label, or revoke that token: covenant tokens list".to_owned())
            }
            PeopleError::Full { .. } => Self::new(
                StatusCode::CONFLICT,
                "too_many",
                message,
                "revoke those that are not used: covenant tokens list",
            ),
            PeopleError::NoWorkspace { .. } => {
                Self::not_found(message, "name one of those, or make it: covenant team init NAME")
            }
            PeopleError::NoDeveloper(_) => Self::not_found(
                message,
                "see who is there: covenant team members; or invite them: covenant team invite HANDLE",
            ),
        }
    }
}
