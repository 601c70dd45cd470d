//! The program of an agent: whether it can be run as things are now, and what of its surroundings a run may read.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use covenant_model::manifest::{Manifest, Runtime};
use rustix::fs::{Access, access};

use crate::home::Home;
use crate::trust;

/// The program of that manifest, with every link in its path resolved; or a sentence about why it cannot be run. Looked at
/// again before each run: it may be built, moved or opened to others at any time.
pub fn check(manifest: &Manifest, home: &Home) -> Result<PathBuf, String> {
    let path = &manifest.program;
    let no = |why: &str| Err(format!("the entry of {}, {}, {why}", manifest.id, path.display()));
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && path.is_symlink() => {
            return no("is a link that leads nowhere; correct the link");
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let built = if manifest.runtime == Runtime::RustBin { "build it" } else { "put it there" };
            return no(&format!("does not exist; {built}, or correct `agent.entry`"));
        }
        Err(error) => return no(&format!("cannot be reached: {error}; make it accessible")),
    };
    if Path::new(&manifest.entry).is_relative() && !lies_beside(&real, &manifest.file) {
        return no(&format!(
            "leads out of the manifest's directory, to {}; put the program there, or write an absolute path",
            real.display()
        ));
    }
    if home.is_private(&real) {
        return no("lies among what belongs to the daemon alone; put the program into `agents/`");
    }
    let metadata = match real.metadata() {
        Ok(metadata) => metadata,
        Err(error) => return no(&format!("cannot be read: {error}; make it accessible")),
    };
    if metadata.is_dir() {
        return no("is a directory; name the program or script in it");
    }
    if !metadata.is_file() {
        return no("is not an ordinary file; name a program or a script");
    }
    match manifest.runtime {
        Runtime::RustBin => {
            let executable = metadata.permissions().mode() & 0o111 != 0;
            if !executable || access(&real, Access::EXEC_OK).is_err() {
                let shown = real.display();
                return no(&format!("cannot be executed; make it a program with `chmod +x {shown}`"));
            }
        }
        Runtime::Python3 | Runtime::Node => {
            if access(&real, Access::READ_OK).is_err() {
                let shown = real.display();
                return no(&format!("cannot be read; make it readable with `chmod u+r {shown}`"));
            }
        }
    }
    match trust::place(&real, home.root()) {
        Ok(()) => Ok(real),
        Err(distrust) => no(&format!("is not run: {distrust}")),
    }
}

/// What a run of that program may read: its own directory; of a directory that holds `agents/`, only the program itself.
pub fn package(real: &Path, agents: &Path) -> Vec<PathBuf> {
    let agents = agents.canonicalize().unwrap_or_else(|_| agents.to_owned());
    let own = real.parent().filter(|directory| !agents.starts_with(directory));
    vec![own.unwrap_or(real).to_owned()]
}

/// Whether a path without links lies in the directory of that file.
fn lies_beside(real: &Path, file: &Path) -> bool {
    let directory = file.parent().map(Path::canonicalize);
    directory.is_some_and(|directory| directory.is_ok_and(|directory| real.starts_with(directory)))
}

#[cfg(test)]
mod tests;
