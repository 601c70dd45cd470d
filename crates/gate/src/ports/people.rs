//! Workspaces, their developers, and the tokens these hold.

use covenant_model::id::{DeveloperId, GrantId, WorkspaceId};
use covenant_model::team::{Developer, Handle, Workspace, WorkspaceName};
use covenant_model::time::Timestamp;

use super::{Answer, TokenRecord};

/// What became of the name somebody wanted for a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// There is a new workspace.
    New(Workspace),
    /// The workspace that nobody had named yet has that name now.
    First(Workspace),
    /// There is one of that name, or of one that people would take for it.
    Taken,
}

/// What became of somebody who was invited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admitted {
    /// They belong to the workspace: as they were invited, or once more as the one they were.
    Done(Developer),
    /// Somebody has that handle, here or in another workspace.
    Taken,
    /// Somebody had it in another workspace and was removed there.
    Gone(WorkspaceId),
}

/// What became of a new token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKept {
    /// It is kept.
    Done,
    /// They hold a valid one with that label.
    LabelTaken,
    /// They hold as many valid ones as they may.
    Full,
    /// There is no such developer any more.
    NoDeveloper,
}

/// Workspaces and their developers.
pub trait People: Send + Sync {
    /// All workspaces, oldest first.
    fn workspaces(&self) -> Answer<'_, Vec<Workspace>>;
    /// Gives the workspace that nobody named yet that name, or makes one. Of two who want one name, one gets it.
    fn name_workspace(&self, id: WorkspaceId, name: WorkspaceName, at: Timestamp) -> Answer<'_, Named>;
    /// Every developer who was not removed, of every workspace, oldest first.
    fn developers(&self) -> Answer<'_, Vec<Developer>>;
    /// The developer with that handle who was not removed.
    fn developer(&self, handle: Handle) -> Answer<'_, Option<Developer>>;
    /// Takes somebody in. Who was removed from the same workspace is the same developer again, with their work. Of two who
    /// invite one handle, one does.
    fn admit(&self, developer: Developer) -> Answer<'_, Admitted>;
    /// Removes somebody, ends their tokens and every way in they had, and takes back the grants that name them: all of it or
    /// nothing. Which grants those were; nothing if they were not there. It waits for nothing that they had open: what they
    /// held is taken from them first.
    fn dismiss(&self, id: DeveloperId, at: Timestamp) -> Answer<'_, Option<Vec<GrantId>>>;
    /// Keeps a token of a developer, who holds at most `limit` valid ones. Nobody who is removed at the same time keeps it.
    fn add_token_of(&self, developer: DeveloperId, record: TokenRecord, limit: u64) -> Answer<'_, TokenKept>;
}
