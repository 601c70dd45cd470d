//! Ways to files that are somebody else's. The working directory is a place of one's own.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::answer::Attack;
use crate::kernel::{address, call, flag};

pub(crate) const ATTACKS: &[(&str, Attack)] = &[
    ("read-file", |path| read(Path::new(path))),
    ("list", list),
    ("stat", |path| fs::metadata(path).map(|found| format!("{} bytes", found.len()))),
    ("write-file", |path| write(Path::new(path))),
    ("overwrite", |path| overwrite(Path::new(path))),
    ("make-directory", |path| {
        fs::create_dir(path)?;
        fs::remove_dir(path).map(|()| "made".to_owned())
    }),
    ("remove", |path| fs::remove_file(path).map(|()| "removed".to_owned())),
    ("change-mode", change_mode),
    ("change-times", |path| {
        let (path, here) = (CString::new(path)?, flag(libc::AT_FDCWD));
        call(libc::SYS_utimensat, &[here, address(path.as_c_str())]).map(|_| "changed".to_owned())
    }),
    ("truncate", |path| {
        let length = usize::try_from(fs::metadata(path)?.len()).unwrap_or_default();
        let path = CString::new(path)?;
        call(libc::SYS_truncate, &[address(path.as_c_str()), length]).map(|_| "set its length".to_owned())
    }),
    ("symlink-read", |path| {
        symlinked(path, "link-to-read")?;
        read(Path::new("link-to-read"))
    }),
    ("symlink-write", |path| {
        symlinked(path, "link-to-write")?;
        overwrite(Path::new("link-to-write"))
    }),
    ("symlink-directory", |path| {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        symlinked(directory, "link-to-directory")?;
        read(&Path::new("link-to-directory").join(name))
    }),
    ("hard-link", |path| {
        fs::hard_link(path, "hard")?;
        let found = read(Path::new("hard"));
        fs::remove_file("hard")?;
        found
    }),
    ("rename-out", rename_out),
    ("rename-in", |path| {
        fs::rename(path, "moved-in")?;
        fs::rename("moved-in", path).map(|()| "moved in, and back".to_owned())
    }),
    ("dotdot", |path| read(Path::new(&format!("../../../../../../../../../..{path}")))),
    ("change-directory", |path| {
        let own = std::env::current_dir()?;
        std::env::set_current_dir(path)?;
        let found = list(".");
        std::env::set_current_dir(own)?;
        found
    }),
];

/// The beginning of a file.
fn read(path: &Path) -> io::Result<String> {
    let mut text = Vec::new();
    File::open(path)?.take(80).read_to_end(&mut text)?;
    if text.is_empty() {
        Err(io::Error::other("empty"))
    } else {
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

/// Opens it to write, and writes nothing. What is covered by `/dev/null` takes everything and keeps nothing.
fn overwrite(path: &Path) -> io::Result<String> {
    use std::os::unix::fs::MetadataExt as _;
    let file = OpenOptions::new().append(true).open(path)?;
    if file.metadata()?.rdev() == 0x103 {
        Err(io::Error::other("covered"))
    } else {
        Ok("opened for writing".to_owned())
    }
}

fn list(path: &str) -> io::Result<String> {
    let names: Vec<_> =
        fs::read_dir(path)?.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    if names.is_empty() { Err(io::Error::other("empty")) } else { Ok(names.join(" ")) }
}

/// Makes a file that was not there, and removes it, so that trying it outside of a sandbox leaves nothing.
fn write(path: &Path) -> io::Result<String> {
    OpenOptions::new().write(true).create_new(true).open(path)?.write_all(b"escaped\n")?;
    fs::remove_file(path)?;
    Ok("written".to_owned())
}

fn change_mode(path: &str) -> io::Result<String> {
    let permissions = fs::metadata(path)?.permissions();
    fs::set_permissions(path, permissions).map(|()| "changed".to_owned())
}

fn symlinked(path: &str, link: &str) -> io::Result<()> {
    let _ = fs::remove_file(link);
    symlink(path, link)
}

fn rename_out(directory: &str) -> io::Result<String> {
    fs::write("to-be-moved", "escaped\n")?;
    let there = Path::new(directory).join(format!("moved-out-{}", std::process::id()));
    fs::rename("to-be-moved", &there)?;
    fs::remove_file(there).map(|()| "moved out".to_owned())
}
