//! Where on this host a group can be made, by version and by what it can bound there.
//!
//! Version 1 has a hierarchy for each controller, and a group may be made below our own in each. Version 2 has one, where
//! a group that has processes cannot bound its children: there a group is made beside our own, if that place was handed
//! to us, and otherwise below our own, just to be killed as a whole.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{getxattr, statfs};
use rustix::process::geteuid;

use super::Controller;

/// What `statfs` says of a hierarchy of each version.
const MAGIC_ONE: u64 = 0x0027_e0eb;
const MAGIC_TWO: u64 = 0x6367_7270;

/// The version of a hierarchy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

/// A directory in which groups can be made, perhaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) directory: PathBuf,
    pub(super) version: Version,
    /// What a group there can bound.
    pub(super) controllers: Vec<Controller>,
}

/// Every place, and why there is none for some controllers.
pub(super) fn places() -> (Vec<Place>, Vec<String>) {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mut places: Vec<Place> = Vec::new();
    let mut missing = Vec::new();
    if let Some((directory, top)) = own(&groups, &mounts, None).filter(|(path, _)| is(path, MAGIC_TWO)) {
        places.push(second(directory, &top));
    }
    for controller in Controller::ALL {
        if places.iter().any(|place| place.controllers.contains(&controller)) {
            continue;
        }
        let found = own(&groups, &mounts, Some(controller)).filter(|(path, _)| is(path, MAGIC_ONE));
        let Some((directory, _)) = found else {
            missing.push(format!("no {} cgroup can be made from where this process is", controller.name()));
            continue;
        };
        // Both may be in one hierarchy.
        match places.iter_mut().find(|place| place.directory == directory) {
            Some(place) => place.controllers.push(controller),
            None => places.push(Place { directory, version: Version::One, controllers: vec![controller] }),
        }
    }
    (places, missing)
}

/// Where in the hierarchy of version 2 a group gets the most.
fn second(own: PathBuf, top: &Path) -> Place {
    // Only the root of all may hand on what it has while it has processes.
    if !own.join("cgroup.type").exists() {
        hand_on(&own);
    }
    let below = given(&own);
    let parent = own.parent().filter(|_| below.is_empty() && own != top && is_unbounded(&own));
    let beside = parent.filter(|parent| is_delegated(parent) || is_ours(parent)).map(|parent| {
        if is_delegated(parent) {
            hand_on(parent);
        }
        (parent.to_owned(), given(parent))
    });
    match beside.filter(|(_, given)| !given.is_empty()) {
        Some((directory, controllers)) => Place { directory, version: Version::Two, controllers },
        None => Place { directory: own, version: Version::Two, controllers: below },
    }
}

/// Has a group give its children what it can. All at once or nothing: where the group has processes of its own the
/// kernel refuses that for memory, but would grant it for tasks alone, and change what kind of group it is.
fn hand_on(group: &Path) {
    let given = given(group);
    let more: Vec<Controller> = offered(group).into_iter().filter(|one| !given.contains(one)).collect();
    if more.contains(&Controller::Memory) {
        let words: Vec<String> = more.iter().map(|one| format!("+{}", one.name())).collect();
        fs::write(group.join("cgroup.subtree_control"), words.join(" ")).ok();
    }
}

/// What the children of a group are given.
fn given(group: &Path) -> Vec<Controller> {
    listed(&group.join("cgroup.subtree_control"))
}

/// What a group could give its children.
fn offered(group: &Path) -> Vec<Controller> {
    listed(&group.join("cgroup.controllers"))
}

fn listed(file: &Path) -> Vec<Controller> {
    let text = fs::read_to_string(file).unwrap_or_default();
    let has = |one: &Controller| text.split_ascii_whitespace().any(|name| name == one.name());
    Controller::ALL.into_iter().filter(has).collect()
}

/// Whether the service manager's mark says that the place is for whoever runs in it to divide.
fn is_delegated(group: &Path) -> bool {
    ["user.delegate", "trusted.delegate"].iter().any(|name| {
        let mut value = [0; 8];
        getxattr(group, *name, &mut value).is_ok_and(|length| value.get(..length) == Some(b"1"))
    })
}

/// Whether the place was given to us, who are not root.
fn is_ours(group: &Path) -> bool {
    let user = geteuid();
    !user.is_root() && fs::metadata(group).is_ok_and(|found| found.uid() == user.as_raw())
}

/// Whether a group has no memory limit, which a run outside of it would escape.
fn is_unbounded(group: &Path) -> bool {
    let limits = ["memory.max", "memory.high"].map(|file| fs::read_to_string(group.join(file)));
    limits.iter().flatten().all(|limit| limit.trim() == "max")
}

/// Whether that directory is in a file system of this kind.
fn is(directory: &Path, magic: u64) -> bool {
    statfs(directory).is_ok_and(|found| u64::try_from(found.f_type) == Ok(magic))
}

/// The directory of our own group in the hierarchy of that controller, or in that of version 2; and the highest directory
/// of that hierarchy that can be seen.
fn own(groups: &str, mounts: &str, controller: Option<Controller>) -> Option<(PathBuf, PathBuf)> {
    let wanted = controller.map_or("", Controller::name);
    // Lines such as `4:memory:/group`, and `0::/group` for version 2.
    let group = groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (names, path) = rest.split_once(':')?;
        names.split(',').any(|name| name == wanted).then_some(Path::new(path))
    })?;
    mounts.lines().filter_map(Mount::parse).find_map(|mount| {
        let fits = match controller {
            Some(_) => mount.kind == "cgroup" && mount.options.split(',').any(|option| option == wanted),
            None => mount.kind == "cgroup2",
        };
        // A group that is not below what is mounted cannot be reached; `..` in its path says the same.
        let below = group.strip_prefix(&mount.root).ok().filter(|_| fits)?;
        let inside = below.components().all(|part| matches!(part, std::path::Component::Normal(_)));
        inside.then(|| (mount.point.join(below), mount.point.clone()))
    })
}

/// A line of `mountinfo`.
struct Mount<'a> {
    root: PathBuf,
    point: PathBuf,
    kind: &'a str,
    options: &'a str,
}

impl<'a> Mount<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (place, system) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, point) = (plain(place.next()?), plain(place.next()?));
        let mut system = system.split(' ');
        let (kind, options) = (system.next()?, system.nth(1)?);
        Some(Self { root: root.into(), point: point.into(), kind, options })
    }
}

/// A path as `mountinfo` writes it, with blanks and the like as octal numbers.
fn plain(path: &str) -> String {
    let written = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    written.iter().fold(path.to_owned(), |path, (octal, plain)| path.replace(octal, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "23 1 0:21 / /sys rw - sysfs sysfs rw
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
39 31 0:36 /docker/abc /sys/fs/cgroup/a\\040b rw,relatime shared:7 - cgroup cgroup rw,cpu,pids
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw,nsdelegate
";

    fn found(groups: &str, controller: Option<Controller>) -> Option<String> {
        own(groups, MOUNTS, controller).map(|(path, _)| path.to_str().unwrap().to_owned())
    }

    #[test]
    fn our_own_group_is_found_in_each_hierarchy() {
        let groups = "4:memory:/one/two:three\n3:cpu,pids:/docker/abc/x\n0::/user.slice/a\n";
        let expected = |path: &str| Some(path.to_owned());
        assert_eq!(found(groups, Some(Controller::Memory)), expected("/sys/fs/cgroup/memory/one/two:three"));
        assert_eq!(found(groups, Some(Controller::Pids)), expected("/sys/fs/cgroup/a b/x"));
        assert_eq!(found(groups, None), expected("/sys/fs/cgroup/unified/user.slice/a"));
    }

    #[test]
    fn a_group_out_of_reach_is_not_found() {
        assert_eq!(found("3:cpu,pids:/docker/other\n0::/../x\n", Some(Controller::Pids)), None);
        assert_eq!(found("3:cpu,pids:/docker/other\n0::/../x\n", None), None);
        assert_eq!(found("", Some(Controller::Memory)), None);
        assert_eq!(found("garbage\n::\n4\n", None), None);
        assert!(own("0::/", "garbage\n1 2 - \n - - -\n", None).is_none());
    }

    /// A made-up hierarchy of version 2: `top/middle/own`, of which `middle` hands memory and tasks to its children.
    fn made_up() -> (tempfile::TempDir, PathBuf) {
        let top = tempfile::tempdir().unwrap();
        let own = top.path().join("middle/own");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("cgroup.type"), "domain\n").unwrap();
        fs::write(own.join("memory.max"), "max\n").unwrap();
        fs::write(own.join("cgroup.subtree_control"), "\n").unwrap();
        fs::write(top.path().join("middle/cgroup.subtree_control"), "cpu memory pids\n").unwrap();
        (top, own)
    }

    #[test]
    fn a_group_that_has_processes_lends_nothing_and_its_place_is_used_only_if_it_was_handed_to_us() {
        let (top, own) = made_up();
        let (middle, below) =
            (own.parent().unwrap(), Place { controllers: vec![], ..second(own.clone(), &own) });
        assert_eq!(below.directory, own);
        if geteuid().is_root() {
            assert_eq!(second(own.clone(), top.path()), below);
            let mark =
                rustix::fs::setxattr(middle, "trusted.delegate", b"1", rustix::fs::XattrFlags::empty());
            if mark.is_err() {
                return;
            }
        }
        let beside =
            Place { directory: middle.to_owned(), controllers: Controller::ALL.to_vec(), ..below.clone() };
        assert_eq!(second(own.clone(), top.path()), beside);
        assert_eq!(second(own.clone(), &own), below, "above what is mounted there is nothing");
        fs::write(own.join("memory.max"), "1000000\n").unwrap();
        assert_eq!(second(own, top.path()), below, "a limit of ours must not be escaped");
    }

    #[test]
    fn what_is_handed_on_below_our_own_group_is_used_there() {
        let (top, own) = made_up();
        fs::write(own.join("cgroup.subtree_control"), "pids\n").unwrap();
        let place = second(own.clone(), top.path());
        assert_eq!((place.directory, place.controllers), (own, vec![Controller::Pids]));
    }
}
