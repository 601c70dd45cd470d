//! What stays out of sight, under every name it has: the home of the daemon, whatever was named around it.
//!
//! A second mount of the same directory, of one above it or of one below it would show what the first one hides; so the
//! kernel's list of mounts is asked where else it is seen.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use crate::control::Refusal;
use crate::linux::sources::{Source, Sources, Use};

/// Which file or directory it is, however it is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Same {
    device: u64,
    inode: u64,
}

impl Same {
    /// What is at that path, itself and not what it may lead to.
    pub(super) fn at(path: &Path) -> Option<Self> {
        let about = path.symlink_metadata().ok()?;
        Some(Self { device: about.dev(), inode: about.ino() })
    }

    /// What a descriptor leads to.
    pub(super) fn of(about: &rustix::fs::Stat) -> Self {
        Self { device: about.st_dev, inode: about.st_ino }
    }
}

/// Every path at which something hidden would show: its own, and those by way of other mounts of the same.
pub(super) fn places(hidden: &[PathBuf]) -> Vec<PathBuf> {
    let mounts = mounts(&std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default());
    let mut places: Vec<PathBuf> = hidden.to_vec();
    for path in hidden {
        places.extend(aliases(path, &mounts));
    }
    places.sort();
    places.dedup();
    places
}

/// A mount: what of which file system is seen where.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    system: String,
    root: PathBuf,
    at: PathBuf,
}

/// Where else a path shows: in mounts that hold it, and at mounts of what lies in it.
fn aliases(path: &Path, mounts: &[Mount]) -> Vec<PathBuf> {
    let holds = |mount: &&Mount| path.starts_with(&mount.at);
    // Of two on the same place the later one is seen.
    let Some(own) = mounts.iter().filter(holds).max_by_key(|mount| mount.at.components().count()) else {
        return Vec::new();
    };
    let inside = own.root.join(path.strip_prefix(&own.at).unwrap_or(path));
    let others = mounts.iter().filter(|mount| mount.system == own.system);
    let alias = |mount: &Mount| match inside.strip_prefix(&mount.root) {
        Ok(rest) => Some(mount.at.join(rest)),
        Err(_) => mount.root.starts_with(&inside).then(|| mount.at.clone()),
    };
    others.filter_map(alias).collect()
}

/// The mounts in the kernel's list, where spaces and the like are written as numbers.
fn mounts(list: &str) -> Vec<Mount> {
    let one = |line: &str| {
        let mut fields = line.split(' ').skip(2);
        let (system, root, at) = (fields.next()?, fields.next()?, fields.next()?);
        Some(Mount { system: system.to_owned(), root: unescaped(root), at: unescaped(at) })
    };
    list.lines().filter_map(one).collect()
}

fn unescaped(text: &str) -> PathBuf {
    let mut plain = text.to_owned();
    for (code, character) in [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")] {
        plain = plain.replace(code, character);
    }
    PathBuf::from(plain)
}

/// Refuses an order that would lend something hidden to be written, also where it is covered: whoever may write above
/// could move it away and put something else in its place. And one that names it itself: it would be covered.
pub(super) fn is_not_lent(sources: &Sources) -> Result<(), Refusal> {
    holds_none(sources, &[Use::Write], "the program could put another in its place")?;
    let named = |source: &&Source| source.purpose == Use::Named && sources.hidden.contains(&source.at);
    match sources.all.iter().find(named) {
        Some(source) => {
            let reason = "it stays hidden: name what is needed inside".to_owned();
            Err(Refusal::Path { path: source.at.clone(), reason })
        }
        None => Ok(()),
    }
}

/// Refuses an order that shows something around what is hidden, on a host that cannot cover it.
pub(super) fn needs_no_cover(sources: &Sources) -> Result<(), Refusal> {
    holds_none(sources, &[Use::System, Use::Named], "this host cannot cover it")
}

fn holds_none(sources: &Sources, uses: &[Use], why: &str) -> Result<(), Refusal> {
    for source in sources.all.iter().filter(|source| uses.contains(&source.purpose)) {
        if let Some(inside) = sources.hidden.iter().find(|hidden| hidden.starts_with(&source.at)) {
            let reason = format!("it holds {}, which stays hidden, and {why}", inside.display());
            return Err(Refusal::Path { path: source.at.clone(), reason });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "\
22 27 0:21 / /proc rw - proc proc rw
27 1 254:0 / / rw - ext4 /dev/vda rw
30 27 254:0 /people/ann /mnt/ann\\040too rw - ext4 /dev/vda rw
31 27 254:0 /people/ann/.covenant/agents /srv/agents rw - ext4 /dev/vda rw
32 27 254:0 /people/bob /mnt/bob rw - ext4 /dev/vda rw
33 27 0:40 / /people/ann rw - tmpfs tmpfs rw
";

    #[test]
    fn a_path_shows_wherever_what_holds_it_or_lies_in_it_is_mounted() {
        let mut mounts = mounts(LIST);
        // Covered by another file system, it is what is in that one.
        assert_eq!(
            aliases(Path::new("/people/ann/.covenant"), &mounts),
            [Path::new("/people/ann/.covenant")]
        );
        mounts.pop();
        let expected = ["/people/ann/.covenant", "/mnt/ann too/.covenant", "/srv/agents"].map(PathBuf::from);
        assert_eq!(aliases(Path::new("/people/ann/.covenant"), &mounts), expected);
        assert_eq!(aliases(Path::new("/people/carl"), &mounts), [Path::new("/people/carl")]);
        assert!(aliases(Path::new("/people"), &[]).is_empty());
    }
}
