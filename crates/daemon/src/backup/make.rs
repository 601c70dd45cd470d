//! Makes a backup: a draft beside its place, with everything in it, which takes its name when it is whole. A daemon may
//! run meanwhile; what it changes in a way that would not fit together is read again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use covenant_model::secret::Secret;
use covenant_model::time::Timestamp;
use covenant_store::{Progress, Snapshot};

use super::audit::Log;
use super::gather::{self, Gathered};
use super::manifest::{FORMAT, Listed, Manifest};
use super::seal;
use super::tar::Writer;
use super::{BackupError, HOME, MANIFEST, SEALED, SUM, beside, hex};
use crate::config::Config;
use crate::home::Home;
use crate::trust::{self, Kind};

/// How often a home that changes under our hands is read again.
const TRIES: usize = 5;

/// Whether keys and secrets go in.
#[derive(Debug, Clone)]
pub enum Secrets {
    /// They do not.
    Without,
    /// They do, under that passphrase.
    Sealed(Secret),
}

/// What is told while it goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The database is copied.
    Database(Progress),
    /// That file was added, after so many others.
    Added(String, usize),
}

/// What is to be made.
pub struct Order {
    /// Of which home.
    pub home: Home,
    /// By which configuration.
    pub config: Config,
    /// Where.
    pub into: PathBuf,
    /// Whether a file that is there is replaced.
    pub replace: super::Replace,
    /// Whether keys and secrets go in.
    pub secrets: Secrets,
    /// When.
    pub now: Timestamp,
    /// Who is told how it goes.
    pub told: Arc<dyn Fn(Step) + Send + Sync>,
}

/// What was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// What is in it.
    pub manifest: Manifest,
    /// How many bytes it has.
    pub bytes: u64,
    /// What was found and is not in it, from the home on: links, sockets, names that are not UTF-8.
    pub left_out: Vec<String>,
}

/// Makes a backup.
pub async fn make(order: Order) -> Result<Made, BackupError> {
    let into = std::path::absolute(&order.into)
        .map_err(|error| BackupError::Unwritten { path: order.into.clone(), error })?;
    if !order.home.exists() {
        return Err(BackupError::NoHome(order.home.root().to_owned()));
    }
    refuse_inside(&order.home, &into)?;
    refuse_existing(&order, &into)?;
    let unwritten = |error| BackupError::Unwritten { path: into.clone(), error };
    if let Some(directory) = into.parent() {
        fs::read_dir(directory)
            .map_err(|error| BackupError::Unwritten { path: directory.to_owned(), error })?;
    }
    let draft = Draft {
        archive: beside(&into, "tmp").map_err(unwritten)?,
        database: beside(&into, "db").map_err(unwritten)?,
    };
    // The database first: what it says of the log is then surely in the log.
    let told = Arc::clone(&order.told);
    let said = move |progress| told(Step::Database(progress));
    let url = &order.config.database.url;
    let snapshot = covenant_store::snapshot(url, order.home.root(), &draft.database, &said).await?;
    let written = tokio::task::spawn_blocking(move || {
        let made = write(&order, &draft, snapshot.as_ref())?;
        refuse_existing(&order, &into)?;
        let named = fs::rename(&draft.archive, &into).and_then(|()| sync_directory(&into));
        named.map_err(|error| BackupError::Unwritten { path: into.clone(), error })?;
        Ok(made)
    });
    written.await.unwrap_or_else(|gone| Err(BackupError::Seal(gone.to_string())))
}

/// Files that are gone, whatever happens, when nobody needs them any more.
struct Draft {
    archive: PathBuf,
    database: PathBuf,
}

impl Drop for Draft {
    fn drop(&mut self) {
        for path in [&self.archive, &self.database] {
            // What is not there need not be removed.
            let _ = fs::remove_file(path);
        }
    }
}

fn refuse_inside(home: &Home, into: &Path) -> Result<(), BackupError> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let directory = into.parent().map(real).unwrap_or_default();
    if directory.starts_with(real(home.root())) {
        return Err(BackupError::Inside { path: into.to_owned() });
    }
    Ok(())
}

fn refuse_existing(order: &Order, into: &Path) -> Result<(), BackupError> {
    if order.replace == super::Replace::Nothing && into.symlink_metadata().is_ok() {
        return Err(BackupError::Exists(into.to_owned()));
    }
    Ok(())
}

fn sync_directory(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |parent| File::open(parent)?.sync_all())
}

fn write(order: &Order, draft: &Draft, snapshot: Option<&Snapshot>) -> Result<Made, BackupError> {
    for _ in 0..TRIES {
        match write_once(order, draft, snapshot) {
            Err(BackupError::Restless(_)) => {}
            settled => return settled,
        }
    }
    Err(BackupError::Restless(order.home.root().to_owned()))
}

fn write_once(order: &Order, draft: &Draft, snapshot: Option<&Snapshot>) -> Result<Made, BackupError> {
    let home = &order.home;
    let unwritten = |error| BackupError::Unwritten { path: order.into.clone(), error };
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft.archive);
    let out = BufWriter::with_capacity(128 * 1024, file.map_err(unwritten)?);
    let mut packing =
        Packing { tar: Writer::new(out, order.now.millis() / 1000), entries: Vec::new(), order };
    if let Some(content) = trust::read(&home.config(), Kind::Program)? {
        packing.text("config.toml", &without_database(&content.bytes))?;
    }
    if snapshot.is_some() {
        packing.file("covenant.db", 0o600, &draft.database)?;
    }
    packing.log()?;
    let Gathered { found, left_out } = gather::gather(home, &order.config)?;
    for found in found {
        if found.is_directory {
            packing.directory(&found.path, found.mode)?;
        } else {
            packing.file(&found.path, found.mode, &found.at)?;
        }
    }
    let Packing { mut tar, entries, .. } = packing;
    let key = trust::read(&home.public_key(), Kind::Program)?;
    let mut manifest = Manifest {
        format: FORMAT,
        covenant: covenant_model::VERSION.to_owned(),
        created_at: order.now,
        database: snapshot.map(|snapshot| snapshot.place.clone()),
        schema: snapshot.map(|snapshot| snapshot.schema),
        public_key: key.map(|key| String::from_utf8_lossy(&key.bytes).trim().to_owned()),
        entries,
        sealed: None,
    };
    if let Secrets::Sealed(passphrase) = &order.secrets {
        let (sealed, bytes) = seal::seal(&gather::secrets(home, &order.config)?, passphrase, &manifest)?;
        tar.file(SEALED, 0o600, sealed.size, bytes.as_slice()).map_err(unwritten)?;
        manifest.sealed = Some(sealed);
    }
    let list = serde_json::to_vec_pretty(&manifest).map_err(|error| BackupError::Seal(error.to_string()))?;
    let length = u64::try_from(list.len()).unwrap_or(u64::MAX);
    let hash = tar.file(MANIFEST, 0o600, length, list.as_slice()).map_err(unwritten)?;
    let sum = super::sum(&hash);
    let length = u64::try_from(sum.len()).unwrap_or(u64::MAX);
    tar.file(SUM, 0o600, length, sum.as_bytes()).map_err(unwritten)?;
    let mut out = tar.finish().map_err(unwritten)?;
    out.flush().map_err(unwritten)?;
    let file = out.get_ref();
    file.sync_all().map_err(unwritten)?;
    let bytes = file.metadata().map_err(unwritten)?.len();
    Ok(Made { manifest, bytes, left_out })
}

/// An archive that is being filled.
struct Packing<'o> {
    tar: Writer<BufWriter<File>>,
    entries: Vec<Listed>,
    order: &'o Order,
}

impl Packing<'_> {
    fn directory(&mut self, path: &str, mode: u32) -> Result<(), BackupError> {
        let path = format!("{HOME}{path}");
        let added = self.tar.directory(&path, mode);
        added.map_err(|error| BackupError::Unwritten { path: self.order.into.clone(), error })?;
        self.entries.push(Listed { path, mode, size: 0, sha256: None });
        Ok(())
    }

    fn text(&mut self, path: &str, content: &[u8]) -> Result<(), BackupError> {
        let size = u64::try_from(content.len()).unwrap_or(u64::MAX);
        self.add(path, 0o600, size, content, Path::new(path))
    }

    /// Adds a file as it is when it is opened.
    fn file(&mut self, path: &str, mode: u32, at: &Path) -> Result<(), BackupError> {
        let unread = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => BackupError::Restless(at.to_owned()),
            _ => BackupError::Unread { path: at.to_owned(), error },
        };
        // A FIFO put there since it was looked at would hang this.
        let nonblock = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
        let flags = i32::try_from(nonblock.bits()).unwrap_or_default();
        let file = OpenOptions::new().read(true).custom_flags(flags).open(at).map_err(unread)?;
        let size = file.metadata().map_err(unread)?.len();
        self.add(path, mode, size, file, at)
    }

    /// Adds the log, as far as it is written.
    fn log(&mut self) -> Result<(), BackupError> {
        let directory = self.order.home.audit();
        let unread = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => BackupError::Restless(directory.clone()),
            _ => BackupError::Unread { path: directory.clone(), error },
        };
        let Some(mut log) = Log::at(&directory).map_err(unread)? else { return Ok(()) };
        self.directory("audit", 0o700)?;
        while let Some(part) = log.next().map_err(unread)? {
            self.add(&format!("audit/{}", part.name), 0o600, part.length, part.file, &directory)?;
        }
        if log.still_holds() { Ok(()) } else { Err(BackupError::Restless(directory)) }
    }

    fn add(
        &mut self,
        path: &str,
        mode: u32,
        size: u64,
        content: impl io::Read,
        at: &Path,
    ) -> Result<(), BackupError> {
        let path = format!("{HOME}{path}");
        let added = self.tar.file(&path, mode, size, content);
        let hash = added.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => BackupError::Restless(at.to_owned()),
            _ => BackupError::Unwritten { path: self.order.into.clone(), error },
        })?;
        (self.order.told)(Step::Added(path.clone(), self.entries.len()));
        self.entries.push(Listed { path, mode, size, sha256: Some(hex(&hash)) });
        Ok(())
    }
}

/// The configuration for the database in the archive, which lies where it lies by default. The URL it was copied from may
/// hold a password. What cannot be read as a configuration stays as it is.
fn without_database(config: &[u8]) -> Vec<u8> {
    let document =
        std::str::from_utf8(config).ok().and_then(|text| text.parse::<toml_edit::DocumentMut>().ok());
    let Some(mut document) = document else { return config.to_vec() };
    let removed = document
        .get_mut("database")
        .and_then(toml_edit::Item::as_table_like_mut)
        .and_then(|database| database.remove("url"));
    if removed.is_some() { document.to_string().into_bytes() } else { config.to_vec() }
}
