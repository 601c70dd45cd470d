//! Where the socket lies: in the home, or, where that path is too long for one, in a runtime directory of our own.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::{Home, HomeError, check, make};
use crate::lock;
use crate::trust::user;

/// The longest path a socket can be bound to, its closing zero excluded.
const LONGEST: usize = 107;

/// Its name in the home.
pub(super) const SOCKET: &str = "sock";

impl Home {
    /// Where clients find the socket. A running daemon has written it down where it could not lie in the home.
    pub fn socket(&self) -> Result<PathBuf, HomeError> {
        let real = self.real();
        let path = real.join(SOCKET);
        if fits(&path) {
            return Ok(path);
        }
        let noted = lock::note(self).and_then(|note| note.socket).map(PathBuf::from);
        let path = noted.unwrap_or_else(|| fallback(&real, std::env::var_os("XDG_RUNTIME_DIR").as_deref()));
        match path.parent() {
            Some(directory) if directory.symlink_metadata().is_ok() => check(directory)?,
            _ => {}
        }
        Ok(path)
    }

    /// Where the daemon binds its socket; makes and checks the runtime directory if one is needed.
    pub(crate) fn socket_to_bind(&self) -> Result<PathBuf, HomeError> {
        let real = self.real();
        let path = real.join(SOCKET);
        if fits(&path) {
            return Ok(path);
        }
        let path = fallback(&real, std::env::var_os("XDG_RUNTIME_DIR").as_deref());
        if let Some(directory) = path.parent() {
            make(directory)?;
            check(directory)?;
        }
        Ok(path)
    }

    /// The home without links, so that every way to it leads to one socket.
    fn real(&self) -> PathBuf {
        self.root.canonicalize().unwrap_or_else(|_| self.root.clone())
    }
}

fn fits(path: &Path) -> bool {
    path.as_os_str().as_bytes().len() <= LONGEST
}

/// `covenant-…/NAME.sock` in the session's runtime directory, or under `/tmp`: the name follows from the home's path.
fn fallback(real: &Path, session: Option<&OsStr>) -> PathBuf {
    let digest = Sha256::digest(real.as_os_str().as_bytes());
    let start = digest.first_chunk().map_or(0, |start| u64::from_be_bytes(*start));
    let session = session.map(|directory| Path::new(directory).join("covenant"));
    let tmp = PathBuf::from(format!("/tmp/covenant-{}", user()));
    let usable = |directory: &PathBuf| {
        directory.is_absolute()
            && fits(&directory.join("0123456789abcdef.sock"))
            && directory.parent().is_some_and(Path::is_dir)
    };
    session.filter(usable).unwrap_or(tmp).join(format!("{start:016x}.sock"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fallback_follows_from_the_path_and_fits() {
        let long = PathBuf::from("/").join("x".repeat(200));
        let one = fallback(&long, None);
        assert_eq!(one, fallback(&long, None));
        assert_ne!(one, fallback(&long.join("y"), None));
        assert!(fits(&one));
        assert!(one.starts_with(format!("/tmp/covenant-{}", user())));
    }

    #[test]
    fn the_session_directory_is_used_where_there_is_one() {
        let session = tempfile::tempdir().unwrap();
        let long = PathBuf::from("/").join("x".repeat(200));
        assert!(fallback(&long, Some(session.path().as_os_str())).starts_with(session.path()));
        for unusable in ["relative", "/no/such/directory", ""] {
            assert!(fallback(&long, Some(OsStr::new(unusable))).starts_with("/tmp"), "{unusable}");
        }
    }
}
