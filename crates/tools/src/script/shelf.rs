//! Where scripts lie: `NAME.star` in one directory. A script is read anew each time, and what was read is what is judged and
//! run: there is no copy that could be another.

use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use covenant_gate::Content;

use super::header::Header;
use crate::files::{FileError, Page, Root, Why};

/// The longest script.
pub const LONGEST: u64 = 256 << 10;

/// How many scripts are listed.
const MOST: usize = 1000;

/// What a script's file is called behind its name.
const SUFFIX: &str = ".star";

/// How the name of a text begins that was sent to be run and lies nowhere.
pub(crate) const SENT: &str = "exec-";

/// A directory of scripts.
#[derive(Debug, Clone)]
pub struct Shelf {
    path: PathBuf,
}

/// A script as it lies there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// Its name, without `.star`.
    pub name: String,
    /// Its whole text.
    pub text: String,
}

/// Why there is no such script: a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoScript {
    /// There is none of that name.
    #[error("script '{0}' not found")]
    Missing(String),
    /// There is one, and it cannot be used.
    #[error("script '{name}' cannot be used: {reason}")]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Unfit { name: String, reason: String },
}

impl Script {
    /// The name of its file, which is what people approve.
    pub fn file(&self) -> String {
        format!("{}{SUFFIX}", self.name)
    }

    /// What it says of itself.
    pub fn header(&self) -> Header {
        Header::of(&self.text)
    }

    /// The hash of its text, as people write it.
    pub fn sha256(&self) -> String {
        let hash = Content { name: "", text: &self.text }.sha256();
        hash.iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"))
    }
}

impl Shelf {
    /// The scripts in that directory, which need not be there.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// The script of that name, with or without `.star`. This blocks.
    pub fn read(&self, name: &str) -> Result<Script, NoScript> {
        let bare = name.strip_suffix(SUFFIX).unwrap_or(name);
        let missing = || NoScript::Missing(shown(bare));
        if !is_name(bare) {
            return Err(missing());
        }
        let unfit = |reason: String| NoScript::Unfit { name: bare.to_owned(), reason };
        let root = match self.root() {
            Ok(Some(root)) => root,
            Ok(None) => return Err(missing()),
            Err(reason) => return Err(unfit(reason)),
        };
        let file = format!("{bare}{SUFFIX}");
        let bytes = match root.read(&file, LONGEST) {
            Ok(bytes) => bytes,
            Err(error) if error.why == Why::Missing => return Err(missing()),
            Err(error) => return Err(unfit(Self::trouble(&error))),
        };
        check(&self.path.join(&file)).map_err(unfit)?;
        let text = String::from_utf8(bytes).map_err(|_| unfit("it is not UTF-8 text".to_owned()))?;
        Ok(Script { name: bare.to_owned(), text })
    }

    /// Every script, by name, each with what is wrong with it if something is. This blocks.
    pub fn all(&self) -> Result<Vec<Result<Script, NoScript>>, String> {
        let Some(root) = self.root()? else { return Ok(Vec::new()) };
        let page = Page { after: "", count: MOST, bytes: 1 << 20 };
        let listed =
            root.list(".", page, &mut |_| ControlFlow::Continue(())).map_err(|error| error.to_string())?;
        // What begins with a dot is an editor's.
        let names = listed.entries.iter().filter_map(|entry| entry.name.strip_suffix(SUFFIX));
        let names = names.filter(|name| !name.is_empty() && !name.starts_with('.'));
        Ok(names.map(|name| if is_name(name) { self.read(name) } else { Err(misnamed(name)) }).collect())
    }

    /// Whether its scripts can be used at all: the directory is one, and nobody else can change it. This blocks.
    pub fn check(&self) -> Result<(), String> {
        self.root().map(drop)
    }

    /// The directory, unless there is none. One that others may write is none of ours.
    fn root(&self) -> Result<Option<Root>, String> {
        match Root::open(&self.path, "scripts") {
            Ok(root) => {
                check(&self.path)?;
                Ok(Some(root.unlinked()))
            }
            Err(error) if error.why == Why::Missing => Ok(None),
            Err(error) if error.why == Why::NotADirectory => Err(format!(
                "{} is not a directory, or goes through a file; correct `path` of `[scripts]` in config.toml",
                self.path.display()
            )),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Why a file there cannot be read, as whoever keeps scripts is told.
    fn trouble(error: &FileError) -> String {
        match error.why {
            Why::Directory => "it is a directory; a script is a file".to_owned(),
            Why::Link => {
                "it is a symbolic link, and none is followed; put a copy of the file in its place".to_owned()
            }
            _ => error.to_string(),
        }
    }
}

/// Whether nobody else can change it: whoever can write a script decides what runs.
fn check(path: &Path) -> Result<(), String> {
    let found = path.symlink_metadata().map_err(|error| error.to_string())?;
    let owner = rustix::process::geteuid().as_raw();
    let (shown, typed) = (path.display(), typed(path));
    if found.uid() != owner && found.uid() != 0 {
        return Err(format!(
            "{shown} belongs to another user; make it your own with: chown \"$USER\" {typed}"
        ));
    }
    if found.mode() & 0o022 != 0 {
        return Err(format!("{shown} can be written by others; take that away with: chmod go-w {typed}"));
    }
    Ok(())
}

/// A path as a shell takes it for one.
fn typed(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// What is said of a file that could be a script, were it called something else.
fn misnamed(name: &str) -> NoScript {
    let reason =
        "a script's name is 1 to 64 letters, digits, `_`, `-` and `.`; give the file another".to_owned();
    NoScript::Unfit { name: shown(name), reason }
}

/// Whether a script can be called that.
pub fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    (1..=64).contains(&name.len()) && name.chars().all(plain) && !name.starts_with('.')
}

/// A name as it may be repeated: whole or not at all, as a part of a secret would not be known as one, and nothing that
/// steers a terminal.
fn shown(name: &str) -> String {
    match name.chars().count() {
        0..=64 => name.escape_debug().collect(),
        count => format!("a name of {count} characters"),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn shelf(files: &[(&str, &str)]) -> (tempfile::TempDir, Shelf) {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        let shelf = Shelf::new(directory.path());
        (directory, shelf)
    }

    #[test]
    fn a_script_is_read_by_name_with_or_without_its_suffix() {
        let (_directory, shelf) = shelf(&[("weather.star", "x = 1\n"), ("notes.txt", "")]);
        for name in ["weather", "weather.star"] {
            assert_eq!(shelf.read(name).unwrap().text, "x = 1\n");
        }
        let all = shelf.all().unwrap();
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].as_ref().unwrap().file(), "weather.star");
        assert_eq!(Shelf::new(Path::new("/nowhere/at/all")).all().unwrap(), []);
    }

    #[test]
    fn what_is_no_name_of_a_script_is_not_found() {
        let (_directory, shelf) = shelf(&[("weather.star", "x = 1\n")]);
        for name in
            ["", ".", "..", "../weather", "/etc/passwd", "a/b", "a\0", "WEATHER", ".hidden", "x\u{1b}[2J"]
        {
            let error = shelf.read(name).unwrap_err();
            assert!(matches!(error, NoScript::Missing(_)), "{name:?}: {error}");
            assert!(!error.to_string().contains('\u{1b}'), "{error}");
        }
        assert_eq!(shelf.read("nope").unwrap_err().to_string(), "script 'nope' not found");
        let long = shelf.read(&"x".repeat(65)).unwrap_err().to_string();
        assert_eq!(long, "script 'a name of 65 characters' not found", "not a part of it is said");
    }

    #[test]
    fn what_others_can_change_or_what_leads_elsewhere_is_not_run() {
        let (directory, shelf) = shelf(&[("open.star", "x = 1\n"), ("large.star", "x = 1\n")]);
        let path = |name: &str| directory.path().join(name);
        std::fs::set_permissions(path("open.star"), std::fs::Permissions::from_mode(0o666)).unwrap();
        assert!(shelf.read("open").unwrap_err().to_string().contains("can be written by others"));
        let advice = format!("chmod go-w {}", path("open.star").display());
        assert!(shelf.read("open").unwrap_err().to_string().ends_with(&advice));
        symlink("/etc/passwd", path("passwd.star")).unwrap();
        let link = shelf.read("passwd").unwrap_err().to_string();
        assert!(
            link.contains("is a symbolic link") && link.contains("put a copy of the file in its place"),
            "{link}"
        );
        std::fs::write(path("large.star"), vec![b'#'; 300 << 10]).unwrap();
        assert!(matches!(shelf.read("large").unwrap_err(), NoScript::Unfit { .. }));
        std::fs::write(path("bytes.star"), [0xff, 0xfe]).unwrap();
        std::fs::set_permissions(path("bytes.star"), std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(shelf.read("bytes").unwrap_err().to_string().contains("not UTF-8"));
        std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let reason = shelf.all().unwrap_err();
        assert!(reason.contains("can be written by others"), "{reason}");
        assert!(reason.ends_with(&format!("chmod go-w {}", directory.path().display())), "{reason}");
        assert_eq!(shelf.check(), Err(reason));
    }

    #[test]
    fn what_could_be_a_script_and_is_none_is_listed_with_the_reason() {
        let (directory, shelf) = shelf(&[("a.star", "x = 1\n"), ("bad name.star", ""), (".swap.star", "")]);
        std::fs::create_dir(directory.path().join("dir.star")).unwrap();
        let listed: Vec<_> = shelf.all().unwrap().into_iter().map(|one| one.map(|one| one.name)).collect();
        let unfit = |name: &str, reason: &str| {
            let (name, reason) = (name.to_owned(), reason.to_owned());
            Err(NoScript::Unfit { name, reason })
        };
        let named = "a script's name is 1 to 64 letters, digits, `_`, `-` and `.`; give the file another";
        let expected = [
            Ok("a".to_owned()),
            unfit("bad name", named),
            unfit("dir", "it is a directory; a script is a file"),
        ];
        assert_eq!(listed, expected);
    }

    #[test]
    fn a_path_in_advice_can_be_typed() {
        for (path, written) in
            [("/home/ada/x.star", "/home/ada/x.star"), ("/my notes/it's", "'/my notes/it'\\''s'")]
        {
            assert_eq!(typed(Path::new(path)), written);
        }
    }
}
