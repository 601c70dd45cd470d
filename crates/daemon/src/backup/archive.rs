//! An archive that was read to its end and found to be whole, before anything of it is believed.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use covenant_model::secret::Secret;

use super::manifest::{FORMAT, Listed, Manifest};
use super::seal::{self, Unsealed};
use super::untar::{Entry, Kind, Reader};
use super::{DIRECTORIES, EARLIER, HOME, MANIFEST, MOST_MANIFEST, MOST_SEALED, SEALED, SUM, hex};

/// What is wrong with an archive.
#[derive(Debug, thiserror::Error)]
pub enum BadArchive {
    /// It cannot be read.
    #[error("it cannot be read: {0}")]
    Unread(io::Error),
    /// What is in it cannot be put anywhere.
    #[error("what is in it cannot be written: {0}")]
    Unwritten(io::Error),
    /// It ends too early.
    #[error("it ends before it is complete, so a part of it is missing")]
    Cut,
    /// It is not what we write.
    #[error("it is no backup that Covenant made, or was changed since: {0}")]
    Strange(String),
    /// One of its entries is not what we write.
    #[error("it is no backup that Covenant made, or was changed since: `{path}` {why}")]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Entry { path: String, why: String },
    /// It is of a later version.
    #[error("it has format {0}, and this Covenant reads format {FORMAT}; use a newer Covenant")]
    Format(u32),
    /// There is nothing to open.
    #[error("no keys and secrets are in it")]
    NothingSealed,
    /// The seal does not open.
    #[error(
        "the passphrase does not open its keys and secrets, or the archive was changed since they were sealed"
    )]
    WrongPassphrase,
}

/// An archive that is whole.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    manifest: Manifest,
    sealed: Vec<u8>,
}

impl Archive {
    /// Reads all of an archive and holds it against its manifest. Writes nothing.
    pub fn open(path: &Path) -> Result<Self, BadArchive> {
        let mut reader = reader(path)?;
        let (mut found, mut sealed, mut seen) = (Vec::new(), None, HashSet::new());
        let manifest = loop {
            let entry = reader.next()?.ok_or(BadArchive::Cut)?;
            match (entry.path.as_str(), entry.kind) {
                (MANIFEST, Kind::File) => {
                    let (bytes, hash) = reader.small(&entry, MOST_MANIFEST)?;
                    vouched(&mut reader, &hash)?;
                    break manifest(&bytes)?;
                }
                (SEALED, Kind::File) if sealed.is_none() => {
                    sealed = Some(reader.small(&entry, MOST_SEALED)?);
                }
                _ => {
                    let bad = |why: &str| BadArchive::Entry { path: entry.path.clone(), why: why.to_owned() };
                    let place = in_home(&entry.path).ok_or_else(|| bad("is nothing that belongs there"))?;
                    if is_secret(place) {
                        return Err(bad("is a key or a secret, and those are in the sealed part alone"));
                    }
                    if sealed.is_some() || !seen.insert(entry.path.clone()) {
                        return Err(bad("is there twice, or in the wrong place"));
                    }
                    found.push(listed(&mut reader, &entry, io::sink())?);
                }
            }
        };
        if reader.next()?.is_some() {
            return Err(BadArchive::Strange("something follows its manifest".to_owned()));
        }
        compare(&manifest, &found, sealed.as_ref().map(|(bytes, hash)| (bytes.as_slice(), hash)))?;
        let sealed = sealed.map(|(bytes, _)| bytes).unwrap_or_default();
        Ok(Self { path: path.to_owned(), manifest, sealed })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What is in it.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Opens its keys and secrets.
    pub fn unseal(&self, passphrase: &Secret) -> Result<Unsealed, BadArchive> {
        let unsealed = seal::unseal(&self.sealed, passphrase, &self.manifest)?;
        match unsealed.0.iter().find(|file| in_home(&file.path).is_none()) {
            None => Ok(unsealed),
            Some(file) => {
                let why = "is nothing that belongs there".to_owned();
                Err(BadArchive::Entry { path: file.path.clone(), why })
            }
        }
    }

    /// Reads it once more and gives each entry of the home to whoever unpacks it, with where in the home it belongs. What
    /// is not as the manifest says is an error: the file may have been exchanged since.
    pub(super) fn unpack(
        &self,
        mut make: impl FnMut(&Path, &Listed) -> io::Result<Box<dyn io::Write>>,
    ) -> Result<(), BadArchive> {
        let mut reader = reader(&self.path)?;
        for expected in &self.manifest.entries {
            let entry = reader.next()?.ok_or(BadArchive::Cut)?;
            let place = in_home(&entry.path).ok_or(BadArchive::Cut)?;
            let into = make(Path::new(place), expected).map_err(BadArchive::Unwritten)?;
            if listed(&mut reader, &entry, into)? != *expected {
                let why = "changed while it was read".to_owned();
                return Err(BadArchive::Entry { path: entry.path, why });
            }
        }
        Ok(())
    }
}

fn reader(path: &Path) -> Result<Reader<BufReader<File>>, BadArchive> {
    let file = File::open(path).map_err(BadArchive::Unread)?;
    let metadata = file.metadata().map_err(BadArchive::Unread)?;
    if !metadata.is_file() {
        return Err(BadArchive::Strange("it is not an ordinary file".to_owned()));
    }
    Ok(Reader::new(BufReader::with_capacity(128 * 1024, file), metadata.len()))
}

/// Takes an entry in, and says what a manifest would say of it.
fn listed(
    reader: &mut Reader<BufReader<File>>,
    entry: &Entry,
    into: impl io::Write,
) -> Result<Listed, BadArchive> {
    let sha256 = match entry.kind {
        Kind::Directory => None,
        Kind::File => Some(hex(&reader.content(entry.size, into)?)),
    };
    Ok(Listed { path: entry.path.clone(), mode: entry.mode, size: entry.size, sha256 })
}

/// Whether what follows the manifest is its hash.
fn vouched(reader: &mut Reader<BufReader<File>>, hash: &[u8; 32]) -> Result<(), BadArchive> {
    let entry = reader.next()?.ok_or(BadArchive::Cut)?;
    let said = (entry.path == SUM).then(|| reader.small(&entry, 1024)).transpose()?;
    if said.is_some_and(|(said, _)| said == super::sum(hash).as_bytes()) {
        return Ok(());
    }
    Err(BadArchive::Strange("its manifest is not the one that was written".to_owned()))
}

/// What every manifest says, whatever else it does.
#[derive(serde::Deserialize)]
struct Format {
    format: u32,
}

fn manifest(bytes: &[u8]) -> Result<Manifest, BadArchive> {
    let strange =
        |error: serde_json::Error| BadArchive::Strange(format!("its manifest is malformed ({error})"));
    match serde_json::from_slice(bytes).map_err(strange)? {
        Format { format: FORMAT } => serde_json::from_slice(bytes).map_err(strange),
        Format { format } => Err(BadArchive::Format(format)),
    }
}

fn compare(
    manifest: &Manifest,
    found: &[Listed],
    sealed: Option<(&[u8], &[u8; 32])>,
) -> Result<(), BadArchive> {
    let changed = |path: &str| BadArchive::Entry {
        path: path.to_owned(),
        why: "is not what the manifest says".to_owned(),
    };
    for (at, entry) in found.iter().enumerate() {
        if manifest.entries.get(at) != Some(entry) {
            return Err(changed(&entry.path));
        }
    }
    if let Some(missing) = manifest.entries.get(found.len()) {
        return Err(BadArchive::Entry { path: missing.path.clone(), why: "is missing".to_owned() });
    }
    let said = manifest.sealed.as_ref().map(|sealed| (sealed.size, sealed.sha256.clone()));
    let there = sealed.map(|(bytes, hash)| (u64::try_from(bytes.len()).unwrap_or(u64::MAX), hex(hash)));
    if said == there { Ok(()) } else { Err(changed(SEALED)) }
}

/// Whether keys or secrets lie there. Whoever restores without them is promised new ones, not those of whoever made the
/// archive.
fn is_secret(place: &str) -> bool {
    place == "secrets.toml" || place == "identity" || place.starts_with("identity/")
}

/// Where in the home an entry belongs: a file of the home itself, or something in one of the directories that are in an
/// archive.
fn in_home(path: &str) -> Option<&str> {
    let place = path.strip_prefix(HOME)?;
    let known = |directory: &str| {
        DIRECTORIES.contains(&directory)
            || matches!(directory, "audit" | "identity")
            || directory.starts_with(EARLIER)
    };
    let fits = match place.split_once('/') {
        Some((directory, _)) => known(directory),
        // What a daemon makes for itself is no part of a backup.
        None => {
            known(place)
                || (!matches!(place, "lock" | "sock" | "run" | "logs" | "index")
                    && !place.starts_with("covenant.db-"))
        }
    };
    fits.then_some(place)
}
