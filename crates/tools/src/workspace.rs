//! The workspace: the one directory that `workspace_*` tools work in, made when it is first needed.

use std::path::{Path, PathBuf};

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
        match overlap(&parts.settings.workspace, &parts.settings.memory) {
            None => Ok(Self(parts.settings.workspace.clone())),
            Some(reason) => Err(Absent { name, reason }),
        }
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

/// Why that directory cannot be the workspace, if it cannot: where the home lies in it, whoever may read it may read the
/// operator's token and what everyone remembers.
fn overlap(workspace: &Path, memory: &Path) -> Option<String> {
    let (work, memory) = (real(workspace), real(memory));
    (memory.starts_with(&work) || work.starts_with(&memory)).then(|| {
        "[workspace] path holds the daemon's own home, or lies in its memory: write a directory beside them".to_owned()
    })
}

/// Where a path leads, as far as it is there.
fn real(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let (Ok(found), Ok(rest)) = (above.canonicalize(), path.strip_prefix(above)) {
            return found.join(rest);
        }
    }
    path.to_owned()
}

/// What failed, before why; what is wrong with the path itself says enough.
pub(crate) fn failed(what: &str) -> impl Fn(FileError) -> String {
    move |error| match error.why {
        Why::Escapes | Why::Empty => error.to_string(),
        _ => format!("{what}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_directory_that_holds_the_home_is_no_workspace() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().join("user/.covenant");
        fs::create_dir_all(&home).unwrap();
        std::os::unix::fs::symlink(place.path().join("user"), place.path().join("link")).unwrap();
        let absent = |workspace: &str| overlap(&place.path().join(workspace), &home.join("memory")).is_some();
        for refused in [
            "user",
            "user/.covenant",
            "link",
            "link/.covenant/memory",
            "user/.covenant/memory/client-ada",
            "",
        ] {
            assert!(absent(refused), "{refused}");
        }
        for taken in ["user/work", "user/.covenant/workspace", "link/work", "user/.covenant-work", "none/yet"]
        {
            assert!(!absent(taken), "{taken}");
        }
    }
}
