//! Archives, good and bad. What is bad is refused before anything is written, and however it is bad nothing panics.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use covenant_model::secret::Secret;
use covenant_model::time::Timestamp;
use covenant_store::Store;

use super::manifest::{FORMAT, Listed, Manifest};
use super::tar::Writer;
use super::*;
use crate::config::Config;
use crate::home::Home;
use crate::identity::Identity;

const NOW: u64 = 1_795_000_000_123;

struct Ground {
    dir: tempfile::TempDir,
    home: Home,
}

impl Ground {
    /// A home with a little of everything in it.
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(&dir.path().join("home")).unwrap();
        home.prepare().unwrap();
        Identity::load_or_make(&home).unwrap();
        Store::open("sqlite:covenant.db", home.root()).await.unwrap().close().await;
        let ground = Self { dir, home };
        ground.put("config.toml", "# mine\n[database]\nurl = \"sqlite:covenant.db\" # here\n", 0o600);
        ground.put("secrets.toml", "API_KEY = \"sk-very-secret\"\n", 0o600);
        ground.put("agents/a/agent.toml", "id = 1\n", 0o644);
        ground.put(&format!("agents/a/{}/run", "long/".repeat(40)), "#!/bin/sh\n", 0o755);
        ground.put("memory/note.md", "", 0o600);
        ground.put("workspace/mine.txt", "not in it", 0o600);
        ground
    }

    fn put(&self, path: &str, text: &str, mode: u32) {
        let path = self.home.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    async fn back_up(&self, into: &Path, secrets: Secrets) -> Result<Made, BackupError> {
        let config = Config::load(&self.home, &crate::config::Overrides::default()).unwrap().config;
        let (home, told) = (self.home.clone(), Arc::new(|_| {}));
        let now = Timestamp::from_millis(NOW);
        make(Order { home, config, into: into.to_owned(), replace: Replace::Nothing, secrets, now, told })
            .await
    }

    /// What lies beside the home.
    fn beside(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

fn passphrase() -> Secret {
    Secret::new("correct horse battery".to_owned())
}

async fn restored(archive: &Archive, home: &Path, keys: Keys) -> Result<Restored, RestoreError> {
    archive.restore(&Home::at(home).unwrap(), keys, Replace::Nothing, Timestamp::from_millis(NOW)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_home_comes_back_as_it_was_and_nothing_is_left_lying_about() {
    let ground = Ground::new().await;
    symlink("/etc/passwd", ground.home.root().join("agents/a/link")).unwrap();
    let file = ground.path("b.tar");
    let made = ground.back_up(&file, Secrets::Sealed(passphrase())).await.unwrap();
    assert_eq!(made.left_out, ["agents/a/link"]);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(ground.beside(), ["b.tar", "home"]);
    let bytes = fs::read(&file).unwrap();
    for secret in ["sk-very-secret", "operator.token", "local.key"] {
        assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()), "{secret}");
    }
    let archive = Archive::open(&file).unwrap();
    let keys = Keys::Own(archive.unseal(&passphrase()).unwrap());
    let other = ground.path("other");
    restored(&archive, &other, keys).await.unwrap();
    let read = |root: &Path, path: &str| fs::read(root.join(path)).unwrap();
    let run = format!("agents/a/{}run", "long/".repeat(40));
    for path in ["secrets.toml", "identity/local.key", "identity/operator.token", "memory/note.md", &run] {
        assert_eq!(read(&other, path), read(ground.home.root(), path), "{path}");
    }
    assert_eq!(
        read(&other, "config.toml"),
        b"# mine\n[database]\n",
        "the database lies where it lies by default"
    );
    let bits = |path: &str| fs::metadata(other.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((bits(&run), bits("agents/a/agent.toml"), bits("identity/local.key")), (0o755, 0o644, 0o600));
    assert!(!other.join("workspace").exists() && !other.join("agents/a/link").exists());
    assert_eq!(ground.beside(), ["b.tar", "home", "other"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archive_is_not_written_over_another_nor_into_the_home() {
    let ground = Ground::new().await;
    let file = ground.path("b.tar");
    fs::write(&file, "mine").unwrap();
    assert!(matches!(ground.back_up(&file, Secrets::Without).await, Err(BackupError::Exists(_))));
    assert_eq!(fs::read(&file).unwrap(), b"mine");
    let inside = ground.home.root().join("agents/b.tar");
    assert!(matches!(ground.back_up(&inside, Secrets::Without).await, Err(BackupError::Inside { .. })));
    assert!(!inside.exists());
    let nowhere = ground.path("no/such/b.tar");
    assert!(ground.back_up(&nowhere, Secrets::Without).await.is_err());
    assert_eq!(ground.beside(), ["b.tar", "home"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_home_that_is_there_stays_unless_it_is_to_be_moved_aside() {
    let ground = Ground::new().await;
    let file = ground.path("b.tar");
    ground.back_up(&file, Secrets::Without).await.unwrap();
    let archive = Archive::open(&file).unwrap();
    let refused = restored(&archive, ground.home.root(), Keys::New).await;
    assert!(matches!(refused, Err(RestoreError::Occupied(_))));
    assert_eq!(ground.beside(), ["b.tar", "home"]);
    let now = Timestamp::from_millis(NOW);
    let done = archive.restore(&ground.home, Keys::New, Replace::What, now).await.unwrap();
    let moved = done.moved.unwrap();
    assert!(moved.join("secrets.toml").exists(), "what was there is still there, elsewhere");
    assert!(!ground.home.secrets().exists() && ground.home.database().exists());
    let key = |root: &Path| fs::read(root.join("identity/local.pub")).unwrap();
    assert_ne!(key(&moved), key(ground.home.root()), "it has keys of its own");
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_byte_is_changed_or_missing_it_is_refused() {
    let ground = Ground::new().await;
    fs::remove_file(ground.home.database()).unwrap();
    let file = ground.path("b.tar");
    ground.back_up(&file, Secrets::Sealed(passphrase())).await.unwrap();
    let whole = fs::read(&file).unwrap();
    Archive::open(&file).unwrap();
    for length in (0..whole.len()).step_by(509) {
        fs::write(&file, &whole[..length]).unwrap();
        assert!(Archive::open(&file).is_err(), "cut to {length}");
    }
    for at in (0..whole.len()).step_by(61) {
        let mut changed = whole.clone();
        changed[at] ^= 0x41;
        fs::write(&file, &changed).unwrap();
        assert!(Archive::open(&file).is_err(), "byte {at}");
    }
    fs::write(&file, [whole.as_slice(), &[0; 512]].concat()).unwrap();
    assert!(Archive::open(&file).is_err(), "something follows");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passphrase_opens_only_the_archive_it_sealed() {
    let ground = Ground::new().await;
    let (one, two) = (ground.path("one.tar"), ground.path("two.tar"));
    ground.back_up(&one, Secrets::Sealed(passphrase())).await.unwrap();
    let archive = Archive::open(&one).unwrap();
    let wrong = archive.unseal(&Secret::new("correct horse batteri".to_owned()));
    assert!(matches!(wrong, Err(BadArchive::WrongPassphrase)));
    // The sealed part of one beside the files of another, all hashes as they should be.
    let mut manifest = archive.manifest().clone();
    let text = b"allow = \"everything\"\n";
    manifest.entries = vec![listed("home/config.toml", text)];
    let sealed = sealed_part(&one);
    write(&two, &[("home/config.toml", text), (SEALED, &sealed)], Some(&manifest));
    let forged = Archive::open(&two).unwrap();
    assert!(matches!(forged.unseal(&passphrase()), Err(BadArchive::WrongPassphrase)));
    // What it would cost to try is bounded too.
    manifest.sealed.as_mut().unwrap().memory_kib = u32::MAX;
    write(&two, &[("home/config.toml", text), (SEALED, &sealed)], Some(&manifest));
    assert!(matches!(Archive::open(&two).unwrap().unseal(&passphrase()), Err(BadArchive::Strange(_))));
}

#[test]
fn paths_that_lead_elsewhere_are_refused_however_well_they_are_listed() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("b.tar");
    let long = format!("home/agents/{}", "a/".repeat(600));
    for path in [
        "/etc/cron.d/x",
        "home/../x",
        "home/agents/../../x",
        "home//x",
        "home/agents/./x",
        "..",
        "etc/passwd",
        "home/workspace/x",
        "home/run/x",
        "home/lock",
        "home/sock",
        "home/covenant.db-wal",
        "home/unknown/x",
        "home/identity/local.key",
        "home/identity/operator.token",
        "home/secrets.toml",
        &long,
    ] {
        write(&file, &[(path, b"x")], None);
        let refused = Archive::open(&file).unwrap_err().to_string();
        assert!(refused.contains("no backup that Covenant made"), "{path}: {refused}");
    }
    write(&file, &[("home/config.toml", b"x"), ("home/config.toml", b"x")], None);
    assert!(Archive::open(&file).unwrap_err().to_string().contains("twice"));
    write(&file, &[("home/config.toml", b"x")], None);
    Archive::open(&file).unwrap();
}

/// An entry with a sound header that says something we never say.
fn odd(change: impl Fn(&mut [u8; 512])) -> Vec<u8> {
    let mut tar = Writer::new(Vec::new(), 0);
    tar.file("home/config.toml", 0o600, 1, &b"x"[..]).unwrap();
    let mut bytes = tar.finish().unwrap();
    let mut header: [u8; 512] = bytes[..512].try_into().unwrap();
    change(&mut header);
    let sum = tar::sum(&header);
    header[tar::field::SUM].copy_from_slice(&sum);
    bytes[..512].copy_from_slice(&header);
    bytes
}

#[test]
fn links_devices_and_sizes_that_are_not_there_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("b.tar");
    let refused = |bytes: &[u8]| {
        fs::write(&file, bytes).unwrap();
        Archive::open(&file).unwrap_err().to_string()
    };
    for kind in *b"12346LKgxSD\0" {
        let bytes = odd(|header| header[tar::field::KIND].copy_from_slice(&[kind]));
        let told = refused(&bytes);
        assert!(told.contains("no backup") || told.contains("ends before"), "{kind}: {told}");
    }
    let sizes: [&[u8; 12]; 4] = [b"77777777777\0", b"-0000000001\0", b"0x000000001\0", &[0xff; 12]];
    for size in sizes {
        refused(&odd(|header| header[tar::field::SIZE].copy_from_slice(size)));
    }
    refused(&odd(|header| header[tar::field::MODE].copy_from_slice(b"0000777\0")));
    refused(&odd(|header| header[tar::field::MODE].copy_from_slice(b"0004755\0")));
    // A size of the extended kind that no disk has.
    for record in
        ["27 size=18446744073709551615\n", "30 size=18446744073709551615\n", "9 x=y\n", "0 a=b\n", "x"]
    {
        let mut bytes = odd(|header| {
            header[tar::field::KIND].copy_from_slice(b"x");
            header[tar::field::SIZE].copy_from_slice(format!("{:011o}\0", record.len()).as_bytes());
        });
        bytes.splice(512..1024, record.bytes().chain(std::iter::repeat_n(0, 512 - record.len())));
        bytes.splice(1024..1024, odd(|_| {}));
        refused(&bytes);
    }
}

#[test]
fn a_later_format_is_told_from_damage() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("b.tar");
    let later = Manifest { format: FORMAT + 1, ..manifest(&[]) };
    write(&file, &[], Some(&later));
    assert!(Archive::open(&file).unwrap_err().to_string().contains("use a newer Covenant"));
}

fn listed(path: &str, content: &[u8]) -> Listed {
    use sha2::Digest as _;
    let sha256 = Some(hex(&sha2::Sha256::digest(content)));
    Listed { path: path.to_owned(), mode: 0o600, size: u64::try_from(content.len()).unwrap(), sha256 }
}

fn manifest(files: &[(&str, &[u8])]) -> Manifest {
    Manifest {
        format: FORMAT,
        covenant: "0.1.0".to_owned(),
        created_at: Timestamp::from_millis(NOW),
        database: None,
        schema: None,
        public_key: None,
        entries: files.iter().map(|(path, content)| listed(path, content)).collect(),
        sealed: None,
    }
}

/// Writes an archive with these files and that manifest; without one, with the one that fits.
fn write(path: &Path, files: &[(&str, &[u8])], said: Option<&Manifest>) {
    let mut tar = Writer::new(Vec::new(), 0);
    for (path, content) in files {
        tar.file(path, 0o600, u64::try_from(content.len()).unwrap(), *content).unwrap();
    }
    let fits = manifest(files);
    let list = serde_json::to_vec(said.unwrap_or(&fits)).unwrap();
    let hash = tar.file(MANIFEST, 0o600, u64::try_from(list.len()).unwrap(), list.as_slice()).unwrap();
    let sum = sum(&hash);
    tar.file(SUM, 0o600, u64::try_from(sum.len()).unwrap(), sum.as_bytes()).unwrap();
    fs::write(path, tar.finish().unwrap()).unwrap();
}

/// The bytes of the sealed part.
fn sealed_part(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).unwrap();
    let mut reader = untar::Reader::new(bytes.as_slice(), u64::try_from(bytes.len()).unwrap());
    while let Some(entry) = reader.next().unwrap() {
        let (content, _) = reader.small(&entry, u64::MAX).unwrap();
        if entry.path == SEALED {
            return content;
        }
    }
    panic!("it is not sealed")
}
