//! Who a sandboxed program is: the user who runs the daemon, without a privilege; nobody, where that user is root.

use std::io;

use rustix::process::{
    DumpableBehavior, Gid, Pid, Signal, Uid, getgid, getuid, set_dumpable_behavior,
    set_parent_process_death_signal,
};
use rustix::thread::{CapabilitySet, CapabilitySets};
use serde::{Deserialize, Serialize};

/// The user and group of that number, who owns nothing.
pub(super) const NOBODY: u32 = 65534;

/// Who the program will be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Identity {
    /// The user who runs the daemon.
    Same,
    /// Nobody: the daemon runs as root, and root's files should be a stranger's to the program.
    Nobody,
}

impl Identity {
    /// Who it should be.
    pub(super) fn wanted() -> Self {
        if getuid().is_root() { Self::Nobody } else { Self::Same }
    }

    /// Who it can be without a user namespace: a root that has no other users cannot become one.
    pub(super) fn attainable() -> Self {
        let has = |file: &str| std::fs::read_to_string(file).is_ok_and(|map| covers(&map, NOBODY));
        match Self::wanted() {
            Self::Nobody if has("/proc/self/uid_map") && has("/proc/self/gid_map") => Self::Nobody,
            _ => Self::Same,
        }
    }

    /// Whether the kernel counts its processes: root's it lets pass, whatever the limit.
    pub(super) fn is_counted(self) -> bool {
        self.ids().0 != 0
    }

    /// Its numbers.
    pub(super) fn ids(self) -> (u32, u32) {
        match self {
            Self::Same => (getuid().as_raw(), getgid().as_raw()),
            Self::Nobody => (NOBODY, NOBODY),
        }
    }
}

/// Says who is who in the user namespace of that process: everybody the same as outside, as far as we may. From outside.
pub(super) fn map(pid: Pid) -> io::Result<Identity> {
    let file = |name: &str| format!("/proc/{}/{name}", pid.as_raw_nonzero());
    let wanted = Identity::wanted();
    if wanted == Identity::Nobody {
        let both = format!("0 0 1\n{NOBODY} {NOBODY} 1\n");
        let mapped =
            std::fs::write(file("uid_map"), &both).and_then(|()| std::fs::write(file("gid_map"), &both));
        if mapped.is_ok() {
            return Ok(Identity::Nobody);
        }
    }
    // Without the privilege one may map oneself, and must give up changing groups.
    let (uid, gid) = Identity::Same.ids();
    std::fs::write(file("setgroups"), "deny")?;
    std::fs::write(file("uid_map"), format!("{uid} {uid} 1\n"))?;
    std::fs::write(file("gid_map"), format!("{gid} {gid} 1\n"))?;
    Ok(Identity::Same)
}

/// Whether a map of users, as the kernel writes it, has this number.
fn covers(map: &str, number: u32) -> bool {
    map.lines().any(|line| {
        let mut fields = line.split_ascii_whitespace().map(str::parse::<u64>);
        let (Some(Ok(first)), Some(Ok(_)), Some(Ok(count))) = (fields.next(), fields.next(), fields.next())
        else {
            return false;
        };
        u64::from(number).checked_sub(first).is_some_and(|at| at < count)
    })
}

/// Becomes that user and gives up every privilege, for good.
pub(super) fn assume(identity: Identity) -> io::Result<()> {
    for capability in CapabilitySet::all() {
        // A kernel that does not know one has not got it either.
        rustix::thread::remove_capability_from_bounding_set(capability).ok();
    }
    if identity == Identity::Nobody {
        rustix::thread::set_thread_groups(&[])?;
        let gid = Gid::from_raw(NOBODY);
        rustix::thread::set_thread_res_gid(gid, gid, gid)?;
        let uid = Uid::from_raw(NOBODY);
        rustix::thread::set_thread_res_uid(uid, uid, uid)?;
    }
    rustix::thread::clear_ambient_capability_set().ok();
    let none = CapabilitySet::empty();
    rustix::thread::set_capabilities(
        None,
        CapabilitySets { effective: none, permitted: none, inheritable: none },
    )?;
    rustix::thread::set_no_new_privs(true)?;
    Ok(())
}

/// Ends this process with its parent, and keeps its memory from others. To be said after [`assume`], which undoes it.
pub(super) fn hold_to_parent() -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    Ok(())
}

/// Allows no further namespaces in this user namespace, a second lock behind the filter on system calls, and few of what the
/// user outside has to share with it. Needs the namespace's privileges and a `/proc` that can be written to.
pub(super) fn last_of_its_kind() {
    // Mount namespaces are left out: the copies the view is built from count as such, and without a user namespace nobody
    // in here can make one.
    for kind in ["user", "pid", "net", "ipc", "uts", "cgroup", "time"] {
        // A kernel that does not know one has none to give.
        std::fs::write(format!("/proc/sys/user/max_{kind}_namespaces"), "0").ok();
    }
    for (kind, most) in [
        ("inotify_instances", "16"),
        ("inotify_watches", "8192"),
        ("fanotify_groups", "0"),
        ("fanotify_marks", "0"),
    ] {
        std::fs::write(format!("/proc/sys/user/max_{kind}"), most).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_of_users_is_read_as_the_kernel_writes_it() {
        assert!(covers("         0          0 4294967295\n", NOBODY));
        assert!(covers("0 1000 1\n1 100000 65536\n", NOBODY));
        assert!(!covers("0 1000 1\n1 100000 65533\n", NOBODY));
        assert!(!covers("0 0 1\n", NOBODY) && !covers("", NOBODY) && !covers("nonsense", NOBODY));
    }
}
