//! The way to a file, link by link: who may write where a link lies decides where it leads.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// The most links that are followed, as the kernel does.
const LINKS: usize = 40;

/// Whether a file lies in one of these directories, or whether a link on the way to it does.
pub fn leads_through(file: &Path, directories: &[PathBuf]) -> bool {
    let holds = |directory: &PathBuf| {
        let real = directory.canonicalize().unwrap_or_else(|_| directory.clone());
        way(file).iter().any(|step| step.starts_with(&real)) || file.starts_with(directory)
    };
    directories.iter().any(holds)
}

/// Whether a link on the way to this file lies in that directory, which is given by its real path.
pub(super) fn has_link_in(file: &Path, directory: &Path) -> bool {
    let mut steps = way(file);
    steps.pop();
    steps.iter().any(|link| link.parent() == Some(directory))
}

/// Where each link on the way really lies, and at last the file.
fn way(file: &Path) -> Vec<PathBuf> {
    let (mut steps, mut here) = (Vec::new(), PathBuf::from("/"));
    let mut ahead: VecDeque<OsString> = parts(file).collect();
    while let Some(name) = ahead.pop_front() {
        if name == ".." {
            here.pop();
            continue;
        }
        let next = here.join(&name);
        let Ok(target) = next.read_link() else {
            here = next;
            continue;
        };
        steps.push(next);
        if steps.len() > LINKS {
            return steps;
        }
        if target.is_absolute() {
            here = PathBuf::from("/");
        }
        parts(&target).rev().for_each(|part| ahead.push_front(part));
    }
    steps.push(here);
    steps
}

fn parts(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    path.components().filter_map(|part| match part {
        Component::ParentDir => Some(OsString::from("..")),
        Component::Normal(name) => Some(name.to_owned()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_link_on_the_way_is_a_place_it_leads_through() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        for part in ["far", "mine", "other"] {
            std::fs::create_dir(root.join(part)).unwrap();
        }
        std::fs::write(root.join("far/tool"), "").unwrap();
        // other/first -> mine/way -> far, and so other/first/tool is far/tool by way of mine.
        symlink("../far", root.join("mine/way")).unwrap();
        symlink(root.join("mine/way"), root.join("other/first")).unwrap();
        let file = root.join("other/first/tool");
        for part in ["far", "mine", "other"] {
            assert!(leads_through(&file, &[root.join(part)]), "{part}");
        }
        assert!(!leads_through(&root.join("far/tool"), &[root.join("mine"), root.join("other")]));
        assert!(leads_through(&root.join("far/tool"), &[root.join("other/first")]), "named by a link");
    }

    #[test]
    fn a_way_without_end_has_one() {
        let directory = tempfile::tempdir().unwrap();
        let (one, two) = (directory.path().join("one"), directory.path().join("two"));
        symlink(&one, &two).unwrap();
        symlink(&two, &one).unwrap();
        assert!(leads_through(&one, &[directory.path().to_owned()]));
    }
}
