//! The home directory: where everything of one operator lies, and whether it is fit to be used.

mod runtime;

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Component, Path, PathBuf};

use crate::trust::user;

/// One operator's directory, by default `~/.covenant`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
}

/// Why a home cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// There is no place for one.
    #[error("there is no home directory: neither COVENANT_HOME nor HOME is set; say where with `--home DIR`")]
    Nowhere,
    /// Something else lies there.
    #[error("{} is not a directory; move it away, or choose another home with `--home DIR` or COVENANT_HOME", .0.display())]
    NotADirectory(PathBuf),
    /// It is someone else's.
    #[error("{0} belongs to user {owner}, and you are user {us}; use a home of your own with `--home DIR` or COVENANT_HOME", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Owner { path: PathBuf, owner: u32, us: u32 },
    /// Others could change it.
    #[error("{0} can be written by other users (mode {mode:03o}), who could change what you allow; close it with `chmod 700 {0}`", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Writable { path: PathBuf, mode: u32 },
    /// The file system said no.
    #[error("{0} cannot be {attempt}: {error}; choose another home with `--home DIR` or COVENANT_HOME, or make that one accessible", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Io { path: PathBuf, attempt: &'static str, error: io::Error },
}

impl Home {
    /// The home in that directory, which need not exist yet.
    pub fn at(directory: &Path) -> Result<Self, HomeError> {
        let attempt = "resolved";
        let path = || directory.to_owned();
        let root =
            std::path::absolute(directory).map_err(|error| HomeError::Io { path: path(), attempt, error })?;
        Ok(Self { root })
    }

    /// `$COVENANT_HOME`, else `~/.covenant`.
    pub fn from_environment() -> Result<Self, HomeError> {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        match (set("COVENANT_HOME"), set("HOME")) {
            (Some(directory), _) => Self::at(Path::new(&directory)),
            (None, Some(home)) => Self::at(&Path::new(&home).join(".covenant")),
            (None, None) => Err(HomeError::Nowhere),
        }
    }

    /// The directory itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A file as people know it: from the home on.
    pub(crate) fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).display().to_string()
    }

    /// The configuration.
    pub fn config(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// The secrets.
    pub fn secrets(&self) -> PathBuf {
        self.root.join("secrets.toml")
    }

    /// The database, where it is the default one.
    pub fn database(&self) -> PathBuf {
        self.root.join("covenant.db")
    }

    /// The audit log's segments and checkpoints.
    pub fn audit(&self) -> PathBuf {
        self.root.join("audit")
    }

    /// Keys and the operator's token.
    pub fn identity(&self) -> PathBuf {
        self.root.join("identity")
    }

    /// The operator's token.
    pub fn operator_token(&self) -> PathBuf {
        self.identity().join("operator.token")
    }

    /// The key that audit checkpoints and grants are verified with.
    pub fn public_key(&self) -> PathBuf {
        self.identity().join("local.pub")
    }

    /// Where the daemon's log files lie.
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// The log that is being written.
    pub fn log(&self) -> PathBuf {
        self.logs().join("covenant.log")
    }

    /// The file whose lock makes one daemon the only one here.
    pub fn lock(&self) -> PathBuf {
        self.root.join("lock")
    }

    /// Manifests of agents.
    pub fn agents(&self) -> PathBuf {
        self.root.join("agents")
    }

    /// Plugins.
    pub fn plugins(&self) -> PathBuf {
        self.root.join("plugins")
    }

    /// Scripts.
    pub fn scripts(&self) -> PathBuf {
        self.root.join("scripts")
    }

    /// The files tools may work on.
    pub fn workspace(&self) -> PathBuf {
        self.root.join("workspace")
    }

    /// The notes.
    pub fn vault(&self) -> PathBuf {
        self.root.join("vault")
    }

    /// What agents remember.
    pub fn memory(&self) -> PathBuf {
        self.root.join("memory")
    }

    /// The search indexes of notes, which repeat what files say and may be lost.
    pub fn index(&self) -> PathBuf {
        self.root.join("index")
    }

    /// The page that leads a browser to where the operator signs in; the directory is there while a daemon is.
    pub fn dashboard_page(&self) -> PathBuf {
        self.run().join("dashboard.html")
    }

    /// What says which companion this home has for machines to take.
    pub fn companion(&self) -> PathBuf {
        self.root.join("downloads").join("companion.json")
    }

    /// Where programs that were started are on record while they run.
    pub fn children(&self) -> PathBuf {
        self.run().join("children")
    }

    /// Where sandboxed programs get a directory of their own, on systems that have none in memory for them.
    pub fn scratch(&self) -> PathBuf {
        self.run().join("scratch")
    }

    /// Where small things are kept that may be lost.
    pub fn notes(&self) -> PathBuf {
        self.run().join("notes")
    }

    /// Whether that real path belongs to the daemon alone: of the home, only what is meant for programs is shown to one.
    pub fn is_private(&self, path: &Path) -> bool {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let open = [self.agents(), self.plugins(), self.scripts(), self.workspace()];
        path.starts_with(real(&self.root)) && !open.iter().any(|open| path.starts_with(real(open)))
    }

    /// Everything that the daemon keeps here for itself, made or not: no tool is let into any of it.
    pub(crate) fn own(&self) -> Vec<PathBuf> {
        let database =
            ["covenant.db-wal", "covenant.db-shm", "covenant.db-journal"].map(|name| self.root.join(name));
        let others = [
            self.config(),
            self.secrets(),
            self.database(),
            self.audit(),
            self.identity(),
            self.logs(),
            self.lock(),
            self.agents(),
            self.plugins(),
            self.scripts(),
            self.memory(),
            self.index(),
            self.run(),
            self.root.join(runtime::SOCKET),
        ];
        others.into_iter().chain(database).collect()
    }

    fn run(&self) -> PathBuf {
        self.root.join("run")
    }

    /// Whether there is a home yet.
    pub fn exists(&self) -> bool {
        self.root.symlink_metadata().is_ok()
    }

    /// Makes what is missing (0700) and checks the rest; the answer is what a person should know.
    pub fn prepare(&self) -> Result<Vec<String>, HomeError> {
        make(&self.root)?;
        let remarks = self.check()?;
        for directory in [self.identity(), self.audit(), self.logs()] {
            make(&directory)?;
            check(&directory)?;
        }
        for directory in [self.agents(), self.plugins(), self.scripts()] {
            if directory.symlink_metadata().is_ok() {
                check(&directory)?;
            }
        }
        Ok(remarks)
    }

    /// Makes what is missing (0700) of what programs need to be started, and checks it.
    pub fn prepare_runs(&self) -> Result<(), HomeError> {
        for directory in [self.root.clone(), self.run(), self.children(), self.scratch(), self.notes()] {
            make(&directory)?;
            check(&directory)?;
        }
        Ok(())
    }

    /// Makes the workspace (0700) where it is missing and lies in this home; otherwise what a person should know. It must be
    /// one that tools are let into.
    pub(crate) fn prepare_workspace(&self, workspace: &Path) -> Option<String> {
        let shown = workspace.display();
        if let Ok(metadata) = workspace.metadata() {
            let is_file = !metadata.is_dir();
            return is_file.then(|| format!("{shown}, which `workspace.path` names, is not a directory"));
        }
        let leaves = workspace.components().any(|part| part == Component::ParentDir);
        if leaves || !workspace.starts_with(&self.root) {
            // Elsewhere may be a disk that is not mounted yet.
            return Some(format!("{shown}, which `workspace.path` names, is not there: make it"));
        }
        let why = match make(workspace) {
            Err(HomeError::Io { error, .. }) => format!(": {error}"),
            _ => String::new(),
        };
        (!workspace.is_dir()).then(|| format!("{shown}, which `workspace.path` names, cannot be made{why}"))
    }

    /// Checks that this is a directory of our own that others cannot change and we can; makes nothing.
    pub fn check(&self) -> Result<Vec<String>, HomeError> {
        check(&self.root)?;
        let metadata = self.root.metadata().map_err(|error| self.io("read", error))?;
        fs::read_dir(&self.root).map_err(|error| self.io("read", error))?;
        rustix::fs::access(&self.root, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)
            .map_err(|error| self.io("written", error.into()))?;
        let open = metadata.mode() & 0o055 != 0;
        let remark =
            || format!("{0} can be read by other users; close it with `chmod 700 {0}`", self.root.display());
        Ok(open.then(remark).into_iter().collect())
    }

    fn io(&self, attempt: &'static str, error: io::Error) -> HomeError {
        HomeError::Io { path: self.root.clone(), attempt, error }
    }
}

fn make(directory: &Path) -> Result<(), HomeError> {
    if directory.symlink_metadata().is_ok() {
        return Ok(());
    }
    let made = match directory.parent() {
        Some(parent) => {
            fs::create_dir_all(parent).and_then(|()| DirBuilder::new().mode(0o700).create(directory))
        }
        None => Ok(()),
    };
    match made {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            Err(HomeError::Io { path: directory.to_owned(), attempt: "made", error })
        }
        _ => Ok(()),
    }
}

fn check(directory: &Path) -> Result<(), HomeError> {
    let path = || directory.to_owned();
    let io = |error| HomeError::Io { path: path(), attempt: "read", error };
    let us = user();
    let itself = directory.symlink_metadata().map_err(io)?;
    // A link is as good as its owner; a link by root is how administrators move homes.
    if itself.is_symlink() && itself.uid() != us && itself.uid() != 0 {
        return Err(HomeError::Owner { path: path(), owner: itself.uid(), us });
    }
    let metadata = directory.metadata().map_err(io)?;
    if !metadata.is_dir() {
        return Err(HomeError::NotADirectory(path()));
    }
    if metadata.uid() != us {
        return Err(HomeError::Owner { path: path(), owner: metadata.uid(), us });
    }
    let mode = metadata.mode() & 0o777;
    if mode & 0o022 != 0 {
        return Err(HomeError::Writable { path: path(), mode });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
