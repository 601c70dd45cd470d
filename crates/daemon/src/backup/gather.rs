//! What of a home goes into a backup: what it cannot be made anew from. Not what is the user's own and may be large (the
//! workspace, the vault), not logs of the daemon, not what repeats other files.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use zeroize::Zeroizing;

use super::seal::SecretFile;
use super::{BackupError, DIRECTORIES, EARLIER, HOME, MOST_ENTRIES};
use crate::config::Config;
use crate::home::Home;
use crate::trust::{self, Kind};

/// Something to be put into the archive.
pub(super) struct Found {
    /// Its path from the home on.
    pub(super) path: String,
    /// Where it lies.
    pub(super) at: PathBuf,
    /// Who may do what with it.
    pub(super) mode: u32,
    /// Whether it is a directory.
    pub(super) is_directory: bool,
}

/// All that was found.
#[derive(Default)]
pub(super) struct Gathered {
    /// What goes in, directories before what is in them.
    pub(super) found: Vec<Found>,
    /// What does not, because an archive holds only files and directories, and only names in UTF-8.
    pub(super) left_out: Vec<String>,
}

/// Looks through the home.
pub(super) fn gather(home: &Home, config: &Config) -> Result<Gathered, BackupError> {
    let mut gathered = Gathered::default();
    let mut names: Vec<String> = DIRECTORIES.iter().map(|name| (*name).to_owned()).collect();
    names.extend(earlier(home)?);
    for name in names {
        let at = home.root().join(&name);
        if at.symlink_metadata().is_ok() {
            gathered.take(&at, name)?;
        }
    }
    if let Some(name) = file_in_home(home, &config.http.tls_cert) {
        gathered.take(&home.root().join(&name), name)?;
    }
    Ok(gathered)
}

/// Logs from before a restore.
fn earlier(home: &Home) -> Result<Vec<String>, BackupError> {
    let unread = |error| BackupError::Unread { path: home.root().to_owned(), error };
    let mut names = Vec::new();
    for entry in fs::read_dir(home.root()).map_err(unread)? {
        let name = entry.map_err(unread)?.file_name();
        names.extend(name.to_str().filter(|name| name.starts_with(EARLIER)).map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

impl Gathered {
    fn take(&mut self, at: &Path, path: String) -> Result<(), BackupError> {
        let unread = |error| BackupError::Unread { path: at.to_owned(), error };
        if self.found.len() >= MOST_ENTRIES {
            return Err(BackupError::TooMany);
        }
        let metadata = at.symlink_metadata().map_err(unread)?;
        let fits = metadata.is_dir() || metadata.is_file();
        if !fits || super::untar::check(&path).is_err() {
            self.left_out.push(path);
            return Ok(());
        }
        // What others may write is not believed when it comes back, so it does not.
        let mode = metadata.mode() & 0o755;
        let is_directory = metadata.is_dir();
        self.found.push(Found { path: path.clone(), at: at.to_owned(), mode, is_directory });
        if !is_directory {
            return Ok(());
        }
        let mut names = Vec::new();
        for entry in fs::read_dir(at).map_err(unread)? {
            names.push(entry.map_err(unread)?.file_name());
        }
        names.sort();
        for name in names {
            match name.to_str() {
                Some(text) => self.take(&at.join(&name), format!("{path}/{text}"))?,
                None => self.left_out.push(format!("{path}/{}", name.to_string_lossy())),
            }
        }
        Ok(())
    }
}

/// Keys and secrets, each believed only as far as the daemon would.
pub(super) fn secrets(home: &Home, config: &Config) -> Result<Vec<SecretFile>, BackupError> {
    let mut paths = Vec::new();
    let identity = home.identity();
    let unread = |error| BackupError::Unread { path: identity.clone(), error };
    if identity.is_dir() {
        for entry in fs::read_dir(&identity).map_err(unread)? {
            let entry = entry.map_err(unread)?;
            let name = entry.file_name();
            // Drafts of a file that is being written begin with a dot.
            if let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) {
                paths.push(format!("identity/{name}"));
            }
        }
    }
    paths.sort();
    paths.push("secrets.toml".to_owned());
    paths.extend(file_in_home(home, &config.http.tls_key));
    let mut files = Vec::new();
    for path in paths {
        if let Some(content) = trust::read(&home.root().join(&path), Kind::Private)? {
            files.push(SecretFile { path: format!("{HOME}{path}"), content: Zeroizing::new(content.bytes) });
        }
    }
    Ok(files)
}

/// A file that the configuration names, if it lies in the home itself.
fn file_in_home(home: &Home, named: &str) -> Option<String> {
    let path = home.root().join(named);
    let name = path.strip_prefix(home.root()).ok()?.to_str()?.to_owned();
    let plain = !name.is_empty() && !name.contains('/') && path.is_file();
    plain.then_some(name)
}
