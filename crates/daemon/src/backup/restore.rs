//! Puts a home back: into a directory beside its place, which takes its name when all is in it. What lay there before is
//! moved aside, never removed.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use covenant_model::audit::Report;
use covenant_model::time::Timestamp;
use covenant_store::Store;

use super::archive::{Archive, BadArchive};
use super::manifest::Listed;
use super::seal::Unsealed;
use super::succession::{self, Succession};
use super::{HOME, beside};
use crate::config::Config;
use crate::home::{Home, HomeError};
use crate::lock::{Lock, LockError, Note};

/// Whether something that is in the way is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replace {
    /// No: then nothing is done.
    Nothing,
    /// Yes.
    What,
}

/// With which keys the home goes on.
#[derive(Debug)]
pub enum Keys {
    /// Its own, which were in the archive.
    Own(Unsealed),
    /// New ones.
    New,
}

/// What was put back.
#[derive(Debug, Clone)]
pub struct Restored {
    /// Where what lay there before is now.
    pub moved: Option<PathBuf>,
    /// What went on to new keys, where there are new ones.
    pub succession: Option<Succession>,
    /// What the log is worth, with the key that signed it; none where there is none.
    pub audit: Option<Report>,
}

/// Why a home was not restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The archive is not fit.
    #[error("{} is not restored: {why}; nothing was written", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Archive { path: PathBuf, why: BadArchive },
    /// There is a home already.
    #[error("{} is not empty; restore into another home with `--home DIR`, or add `--force`, which moves this one aside", .0.display())]
    Occupied(PathBuf),
    /// It is in use.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// It is not fit to be a home.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The file system said no.
    #[error("{} cannot be {attempt}: {error}; nothing was changed, make room or choose another home with `--home DIR`", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Io { path: PathBuf, attempt: &'static str, error: io::Error },
    /// The database in it is not fit.
    #[error("the database in the archive cannot be used: {0}; nothing was changed")]
    Database(covenant_store::OpenError),
    /// Who was signed in could not be signed out.
    #[error("the sessions of browsers in the archive could not be ended: {0}; nothing was changed")]
    SignIns(String),
    /// It could not go on with new keys.
    #[error("{0}; nothing was changed")]
    Succession(String),
}

impl Archive {
    /// Puts the home back that is in the archive.
    pub async fn restore(
        &self,
        home: &Home,
        keys: Keys,
        replace: Replace,
        now: Timestamp,
    ) -> Result<Restored, RestoreError> {
        let root = real(home.root());
        let target = Home::at(&root)?;
        let occupied = fs::read_dir(&root).is_ok_and(|mut entries| entries.next().is_some());
        if root.symlink_metadata().is_ok() && !root.is_dir() {
            return Err(HomeError::NotADirectory(root).into());
        }
        if occupied && replace == Replace::Nothing {
            // Who serves it says more than that there is something.
            if let Some(note) = crate::lock::holder(&target) {
                return Err(LockError::Held { home: root, note }.into());
            }
            return Err(RestoreError::Occupied(root));
        }
        // No daemon starts in a home that is about to be moved.
        let _lock = occupied.then(|| Lock::take(&target, &note(now))).transpose()?;
        let io = |attempt, path: &Path, error| RestoreError::Io { path: path.to_owned(), attempt, error };
        if let Some(parent) = root.parent() {
            fs::create_dir_all(parent).map_err(|error| io("made", parent, error))?;
        }
        let staging = Staging(beside(&root, "restore").map_err(|error| io("made", &root, error))?);
        let staged = Home::at(&staging.0)?;
        let restored = self.fill(&staged, keys).await?;
        let moved = occupied.then(|| aside(&root, now));
        if let Some(aside) = &moved {
            fs::rename(&root, aside).map_err(|error| io("moved aside", &root, error))?;
        }
        if let Err(error) = fs::rename(&staging.0, &root) {
            if let Some(aside) = &moved {
                fs::rename(aside, &root).map_err(|error| io("moved back", aside, error))?;
            }
            return Err(io("put in its place", &root, error));
        }
        rustix::fs::sync();
        Ok(Restored { moved, ..restored })
    }

    async fn fill(&self, staged: &Home, keys: Keys) -> Result<Restored, RestoreError> {
        let io = |error| RestoreError::Io { path: staged.root().to_owned(), attempt: "written", error };
        make_directory(staged.root(), 0o700).map_err(io)?;
        let unpacked = self.unpack(|place, listed| put(&staged.root().join(place), listed));
        unpacked.map_err(|why| RestoreError::Archive { path: self.path().to_owned(), why })?;
        let key = self.manifest().public_key.as_deref().and_then(crate::identity::parse_public);
        let audit = succession::verdict(staged, key.as_ref());
        if staged.database().exists() {
            covenant_store::check_file(&staged.database()).map_err(RestoreError::Database)?;
        }
        let succession = match keys {
            Keys::Own(Unsealed(files)) => {
                for file in files {
                    let place = staged.root().join(file.path.strip_prefix(HOME).unwrap_or_default());
                    if let Some(parent) = place.parent().filter(|parent| !parent.is_dir()) {
                        make_directory(parent, 0o700).map_err(io)?;
                    }
                    crate::atomic::write(&place, &file.content).map_err(io)?;
                }
                None
            }
            Keys::New => {
                let done = succession::succeed(staged, key.as_ref()).await;
                Some(done.map_err(RestoreError::Succession)?)
            }
        };
        if staged.database().exists() {
            sign_everybody_out(staged).await?;
        }
        rustix::fs::sync();
        Ok(Restored { moved: None, succession, audit })
    }
}

/// Ends every session of a browser and every link that nobody has used: what was ended since the backup was made, it does not
/// know of.
async fn sign_everybody_out(staged: &Home) -> Result<(), RestoreError> {
    let url = Config::default().database.url;
    let store = Store::open(&url, staged.root()).await.map_err(RestoreError::Database)?;
    let done = store.sign_everybody_out().await;
    store.close().await;
    done.map_err(|fault| RestoreError::SignIns(format!("{fault} ({})", fault.cause())))
}

/// A directory that is gone, whatever happens, unless it took its place.
struct Staging(PathBuf);

impl Drop for Staging {
    fn drop(&mut self) {
        // What is not there any more need not be removed.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn note(now: Timestamp) -> Note {
    Note { pid: std::process::id(), since: now, socket: None }
}

/// Where a home really is: a link to one stays a link.
fn real(root: &Path) -> PathBuf {
    root.canonicalize().unwrap_or_else(|_| root.to_owned())
}

/// What a home that was moved aside is called.
fn aside(root: &Path, now: Timestamp) -> PathBuf {
    let moment: String = now.to_string().chars().filter(|c| *c != ':' && *c != '-').take(15).collect();
    let name = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let named = |number: u32| match number {
        0 => root.with_file_name(format!("{name}.before-restore-{moment}Z")),
        number => root.with_file_name(format!("{name}.before-restore-{moment}Z-{number}")),
    };
    (0..1000).map(named).find(|path| path.symlink_metadata().is_err()).unwrap_or_else(|| named(0))
}

fn make_directory(path: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().mode(mode | 0o700).create(path)
}

/// Makes what an entry says; of a file, what its content goes into.
fn put(path: &Path, listed: &Listed) -> io::Result<Box<dyn io::Write>> {
    if listed.sha256.is_none() {
        make_directory(path, listed.mode)?;
        // Less what the umask takes away.
        fs::set_permissions(path, fs::Permissions::from_mode(listed.mode | 0o700))?;
        return Ok(Box::new(io::sink()));
    }
    let mode = listed.mode | 0o400;
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    Ok(Box::new(io::BufWriter::new(file)))
}
