//! What stays out of sight, under every name it has: the home of the daemon, whatever was named around it.
//!
//! A path is compared by what it is and not only by how it is written, so that a second mount of the same directory does not
//! show what the first one hides.

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

/// Every path in what is seen at which something hidden would show.
pub(super) fn places(hidden: &[PathBuf], sources: &Sources) -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = hidden.to_vec();
    for path in hidden {
        for above in path.ancestors() {
            let Some(same) = Same::at(above) else { continue };
            let rest = path.strip_prefix(above).unwrap_or(Path::new(""));
            let others = sources.all.iter().filter(|source| source.same == Some(same) && source.at != above);
            places.extend(others.map(|source| source.at.join(rest)));
        }
    }
    places
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
