//! The workspace: the one directory that `workspace_*` tools work in, made when it is first needed.

#[cfg(test)]
use std::path::Path;
use std::path::PathBuf;

use crate::files::{Care, FileError, Root, Why};
use crate::native::{Absent, Parts};

/// What it is called in paths: `/workspace/notes.md`.
const SHOWN: &str = "workspace";

/// Where it lies.
#[derive(Debug, Clone)]
pub(crate) struct Workspace(PathBuf);

impl Workspace {
    /// The one the configuration names, for the tool of that name.
    pub(crate) fn of(parts: &Parts, name: &'static str) -> Result<Self, Absent> {
        let place = parts.settings.workspace.clone();
        place.map(Self).map_err(|reason| Absent { name, reason })
    }

    #[cfg(test)]
    pub(crate) fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// Opens it. This is done for each call, so that a directory that was moved away and put back is found again.
    pub(crate) fn root(&self) -> Result<Root, FileError> {
        let Self(place) = self;
        Root::made(place, SHOWN, Care::Shared)
    }
}

/// What failed, before why; what is wrong with the path itself says enough.
pub(crate) fn failed(what: &str) -> impl Fn(FileError) -> String {
    move |error| match error.why {
        Why::Escapes | Why::Empty => error.to_string(),
        _ => format!("{what}: {error}"),
    }
}
