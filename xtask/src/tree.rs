//! The files of this repository, without what builds leave behind.

use std::fs;
use std::path::{Path, PathBuf};

/// A file somebody wrote.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// Where it is, from the root, with `/`.
    pub(crate) path: String,
    /// What it says.
    pub(crate) text: String,
}

impl Source {
    /// Whether it lies in that folder.
    pub(crate) fn is_in(&self, folder: &str) -> bool {
        self.path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Whether its name ends so.
    pub(crate) fn ends(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }
}

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// One file, by its path from the root.
pub(crate) fn read(path: &str) -> Result<String, String> {
    fs::read_to_string(root().join(path)).map_err(|error| format!("{path} cannot be read: {error}"))
}

/// Every text file under a folder, by path; files that are not text are left out.
pub(crate) fn sources(folder: &str) -> Result<Vec<Source>, String> {
    let mut found = Vec::new();
    let root = root();
    let start = if folder.is_empty() { root.clone() } else { root.join(folder) };
    if start.is_dir() {
        collect(&root, &start, &mut found)?;
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

const LEFT_BY_BUILDS: [&str; 5] = ["target", ".git", ".tools", "node_modules", "__pycache__"];

fn collect(root: &Path, folder: &Path, found: &mut Vec<Source>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{} cannot be read: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
        if kind.is_dir() && !LEFT_BY_BUILDS.iter().any(|name| entry.file_name() == *name) {
            collect(root, &path, found)?;
        } else if kind.is_file() {
            let Ok(text) = fs::read_to_string(&path) else { continue };
            let path = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            found.push(Source { path, text });
        }
    }
    Ok(())
}
