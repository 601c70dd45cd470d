//! Which agents there are: every manifest of the home, read in the order of their paths. A bad one is told, and hides no other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use covenant_model::manifest::Manifest;

use super::entry;
use super::manifest::{self, Reading};
use crate::home::Home;
use crate::trust::{self, Distrust, Kind};

/// The most manifests that are read.
const MOST: usize = 1000;

/// The agents of a home.
#[derive(Debug, Default, Clone)]
pub struct Catalogue {
    /// Those that can be named, in the order of their files.
    pub agents: Vec<Arc<Manifest>>,
    /// Manifests that are not used.
    pub bad: Vec<BadManifest>,
    /// What a person should know of the others: keys without effect, programs that are not there.
    pub warnings: Vec<String>,
}

/// A manifest that is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadManifest {
    /// The file.
    pub file: PathBuf,
    /// Everything that is wrong with it, a whole sentence each.
    pub problems: Vec<String>,
}

impl Catalogue {
    /// Reads the manifests of that home, `agents/*.toml` and `agents/*/agent.toml`. Waits for the file system.
    pub fn scan(home: &Home) -> Self {
        let mut catalogue = Self::default();
        let directory = home.agents();
        let files = match files(&directory) {
            Ok(files) => files,
            Err(distrust) => {
                catalogue.refuse(&directory, vec![distrust.to_string()]);
                return catalogue;
            }
        };
        let mut taken = Taken::default();
        for file in files.iter().take(MOST) {
            match one(file, home).and_then(|reading| taken.take(reading)) {
                Ok(reading) => catalogue.add(reading, home),
                Err(problems) => catalogue.refuse(file, problems),
            }
        }
        if let Some(first) = files.get(MOST) {
            catalogue.warnings.push(format!(
                "{} holds {} manifests, of which the first {MOST} are read; {} and those after it are not",
                directory.display(),
                files.len(),
                first.display()
            ));
        }
        catalogue
    }

    /// What a person should know of all of it.
    pub fn remarks(&self) -> Vec<String> {
        self.bad.iter().flat_map(|bad| &bad.problems).chain(&self.warnings).cloned().collect()
    }

    fn add(&mut self, reading: Reading, home: &Home) {
        let Reading { manifest, warnings } = reading;
        self.warnings.extend(warnings.iter().map(|warning| warning.of(&manifest.file)));
        self.warnings.extend(entry::check(&manifest, home).err());
        self.agents.push(Arc::new(manifest));
    }

    fn refuse(&mut self, file: &Path, problems: Vec<String>) {
        self.bad.push(BadManifest { file: file.to_owned(), problems });
    }
}

/// The manifests that lie in that directory, in the order of their paths. What begins with a dot is no manifest: editors
/// and file systems leave such files.
fn files(directory: &Path) -> Result<Vec<PathBuf>, Distrust> {
    let io = |error| Distrust::Io { path: directory.to_owned(), error };
    if !trust::directory(directory)? {
        return Ok(Vec::new());
    }
    let mut files = Vec::new();
    for found in std::fs::read_dir(directory).map_err(io)? {
        let path = found.map_err(io)?.path();
        let hidden = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let inner = path.join("agent.toml");
        if hidden {
        } else if path.is_dir() {
            files.extend(Some(inner).filter(|inner| inner.symlink_metadata().is_ok()));
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// One of them, if nobody else can have written it.
fn one(file: &Path, home: &Home) -> Result<Reading, Vec<String>> {
    let one = |problem: String| vec![problem];
    // Before it is opened: a place that others can write is what has to be mended first.
    if file.exists() {
        trust::place(file, home.root()).map_err(|distrust| one(distrust.to_string()))?;
    }
    let content = match trust::read(file, Kind::Program) {
        Ok(Some(content)) => content.bytes,
        // A circle of links is found as one link too many.
        Ok(None) | Err(Distrust::Link { .. }) => {
            let shown = file.display();
            return Err(one(format!("{shown} is a link that leads nowhere; correct it, or remove it")));
        }
        Err(Distrust::TooLarge { path, .. }) => {
            let (shown, most) = (path.display(), manifest::LIMIT >> 10);
            return Err(one(format!("{shown} has more than {most} KiB, and a manifest may not")));
        }
        Err(distrust) => return Err(one(distrust.to_string())),
    };
    manifest::read(file, &content)
        .map_err(|problems| problems.iter().map(|problem| problem.of(file)).collect())
}

/// Which names are taken, and by which file.
#[derive(Default)]
struct Taken {
    ids: BTreeMap<String, PathBuf>,
    tools: BTreeMap<String, PathBuf>,
}

impl Taken {
    /// Lets a manifest have its names, if nobody before it has them.
    fn take(&mut self, reading: Reading) -> Result<Reading, Vec<String>> {
        let Manifest { id, name, file, .. } = &reading.manifest;
        let (shown, tool) = (file.display(), reading.manifest.tool());
        let mut problems = Vec::new();
        if let Some(first) = self.ids.get(id) {
            let first = first.display();
            problems.push(format!(
                "{shown}: `agent.id` is \"{id}\", and so it is in {first}; give it another id"
            ));
        }
        if let Some(first) = self.tools.get(&tool) {
            let (first, name) = (first.display(), name.escape_debug());
            problems.push(format!(
                "{shown}: `agent.name` is \"{name}\", which makes the tool {tool}, and so does the name in {first}; \
                 give it another name"
            ));
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        self.ids.insert(id.clone(), file.clone());
        self.tools.insert(tool, file.clone());
        Ok(reading)
    }
}

#[cfg(test)]
mod tests;
