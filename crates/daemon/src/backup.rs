//! A home in one file, and back: what goes in, how it is written, and what is refused of one that comes back.
//!
//! The file is a tar archive without compression, so that it can be looked into and, if need be, unpacked by anything. Its
//! entries, in this order:
//!
//! ```text
//! home/…           what is in the home, as directories and ordinary files
//! secrets.sealed   keys and secrets, a tar archive of the same kind, encrypted; only where they were asked for
//! manifest.json    every entry before it with its size and SHA-256, and how the sealed part was sealed
//! manifest.sha256  the SHA-256 of that, as `sha256sum` writes it
//! ```
//!
//! The manifest comes last, so that an archive that was cut short has none. Hashes tell damage; only the sealed part, which
//! is bound to the rest, also tells malice.

mod archive;
mod audit;
mod gather;
mod make;
mod manifest;
mod restore;
mod seal;
mod succession;
mod tar;
#[cfg(test)]
mod tests;
mod untar;

use std::io;
use std::path::{Path, PathBuf};

pub use archive::{Archive, BadArchive};
pub use make::{Made, Order, Secrets, Step, make};
pub use manifest::Manifest;
pub use restore::{Keys, Replace, RestoreError, Restored};
pub use seal::{SHORTEST_PASSPHRASE, Unsealed};
pub use succession::Succession;

/// What entries of the home are called in an archive.
const HOME: &str = "home/";
/// The sealed part.
const SEALED: &str = "secrets.sealed";
/// The list of all that is in it.
const MANIFEST: &str = "manifest.json";
/// What that list comes to.
const SUM: &str = "manifest.sha256";

/// Directories of the home that are in an archive. Beside them: the log, and logs from before a restore.
const DIRECTORIES: [&str; 4] = ["agents", "plugins", "scripts", "memory"];
/// What the log of a home that was restored without its keys is called; where there is one already, with a number.
const EARLIER: &str = "audit-before-restore";

/// The most entries an archive may have.
const MOST_ENTRIES: usize = 200_000;
/// The most bytes the sealed part may have.
const MOST_SEALED: u64 = 16 * 1024 * 1024;
/// The most bytes the manifest may have.
const MOST_MANIFEST: u64 = 128 * 1024 * 1024;

/// Why there is no backup.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// There is nothing to back up.
    #[error("there is no home at {}; name one with `--home DIR` or COVENANT_HOME", .0.display())]
    NoHome(PathBuf),
    /// It would lie in the home.
    #[error("{0} lies in the home it is a backup of, and would be lost with it; name a file elsewhere", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Inside { path: PathBuf },
    /// A file is there already.
    #[error("{} is there already; name another file, or replace it with `--force`", .0.display())]
    Exists(PathBuf),
    /// There is too much.
    #[error(
        "the home holds more than {MOST_ENTRIES} files; move what is no part of an agent, a plugin or a script out of it"
    )]
    TooMany,
    /// A file of the home could not be read.
    #[error("{} cannot be read: {error}; make it readable for you, or move it out of the home", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Unread { path: PathBuf, error: io::Error },
    /// The archive could not be written.
    #[error("{} cannot be written: {error}; name a file on a disk that has room and that you may write to", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Unwritten { path: PathBuf, error: io::Error },
    /// The home changed under our hands, again and again.
    #[error("{} kept changing while it was read; try again in a moment", .0.display())]
    Restless(PathBuf),
    /// A file with keys or secrets is not fit to be used.
    #[error(transparent)]
    Distrust(#[from] crate::trust::Distrust),
    /// The database could not be copied.
    #[error(transparent)]
    Database(#[from] covenant_store::SnapshotError),
    /// Sealing failed.
    #[error("{0}; report this, it is none of your doing")]
    Seal(String),
}

/// The name of a new file or directory beside that one, which nobody else has.
fn beside(path: &Path, what: &str) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| io::Error::other("it has no name"))?;
    let random = covenant_gate::random::bytes::<8>().map_err(io::Error::other)?;
    let mut new = std::ffi::OsString::from(".");
    new.push(name);
    new.push(format!(".{:016x}.{what}", u64::from_be_bytes(random)));
    Ok(path.with_file_name(new))
}

/// What is written of the hash of the manifest.
fn sum(hash: &[u8; 32]) -> String {
    format!("{}  {MANIFEST}\n", hex(hash))
}

/// Bytes as hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}
