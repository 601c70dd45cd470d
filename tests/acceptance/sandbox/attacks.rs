//! What is tried, what it would break, and what may be said to it.

use super::neighbours::Neighbours;
use super::stage::Stage;
use super::{Language, Who};

/// One attempt to get out.
#[derive(Clone)]
pub(crate) struct Attack {
    /// As a hostile program takes it.
    pub(crate) word: String,
    /// The promise it would break.
    pub(crate) promise: &'static str,
    /// How the answers begin that mean it was stopped.
    pub(crate) stops: &'static [&'static str],
    /// Who succeeds without a sandbox, on any host.
    pub(crate) control: Control,
    /// Which of the fixtures can do it.
    languages: &'static [Language],
}

/// Who succeeds without a sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Control {
    Everyone,
    Root,
    /// It depends on the kernel and its settings, or would do harm.
    Nobody,
}

use Control::{Everyone, Nobody, Root};
use Language::{Node, Python, Rust};

const ALL: &[Language] = &[Rust, Python, Node];
const TWO: &[Language] = &[Rust, Python];
const ONE: &[Language] = &[Rust];

/// It is not there, or may not be touched.
const UNSEEN: &[&str] = &["ENOENT", "EACCES", "ENOTDIR"];
/// Nobody writes there.
const UNWRITTEN: &[&str] = &["EROFS", "EACCES", "ENOENT", "EPERM", "ENOTDIR", "covered"];
/// Nothing is moved between here and there.
const APART: &[&str] = &["EXDEV", "ENOENT", "EACCES", "EPERM", "EROFS"];
/// Nobody is there, or the way is closed. Not `ETIMEDOUT` and `EHOSTUNREACH`: those come from a network.
const UNREACHED: &[&str] =
    &["ENETUNREACH", "ECONNREFUSED", "EACCES", "EPERM", "EADDRNOTAVAIL", "EAFNOSUPPORT"];
/// The call is refused.
const REFUSED: &[&str] = &["EPERM", "ENOSYS", "EACCES", "SIGSYS"];
/// The kind of socket is refused, or this kernel has none such.
const UNMADE: &[&str] =
    &["EPERM", "EACCES", "EAFNOSUPPORT", "EPROTONOSUPPORT", "ESOCKTNOSUPPORT", "EINVAL", "SIGSYS"];
/// There is no such process, or it is out of reach.
const ALONE: &[&str] =
    &["ESRCH", "EPERM", "EACCES", "ENOENT", "ENOSYS", "EINVAL", "only our own", "in none", "no other"];
/// There was nothing to be had.
const NONE: &[&str] =
    &["none", "not ", "no ", "nothing", "it ran without", "EPERM", "EACCES", "ENOENT", "EINVAL", "user "];

impl Attack {
    fn new(
        word: impl Into<String>,
        promise: &'static str,
        stops: &'static [&'static str],
        control: Control,
        languages: &'static [Language],
    ) -> Self {
        Self { word: word.into(), promise, stops, control, languages }
    }

    pub(crate) fn is_for(&self, language: Language) -> bool {
        self.languages.contains(&language)
    }

    /// Whether it must succeed without a sandbox.
    pub(crate) fn succeeds_for(&self, who: Who) -> bool {
        match self.control {
            Everyone => true,
            Root => who == Who::Root,
            Nobody => false,
        }
    }
}

/// Everything that is tried where the network is off or goes by the proxy.
pub(crate) fn everything(stage: &Stage, beside: &Neighbours) -> Vec<Attack> {
    let mut all = files(stage);
    all.extend(links(stage));
    all.extend(system(stage));
    all.extend(network(beside));
    all.extend(neighbours(stage, beside));
    all.extend(privileges(stage));
    all.extend(calls(stage));
    all.extend(sockets());
    all
}

/// What is still closed where the network is open.
pub(crate) fn with_full_network(stage: &Stage, beside: &Neighbours) -> Vec<Attack> {
    let mut all = files(stage);
    all.extend(neighbours(stage, beside));
    all.extend(privileges(stage));
    all.extend(calls(stage));
    all.extend(sockets());
    all
}

/// Files of the operator, of the daemon and of others.
fn files(stage: &Stage) -> Vec<Attack> {
    let key = stage.at("operator/.ssh/id_ed25519");
    let notes = stage.at("outside/notes.txt");
    let mut all = Vec::new();
    let mut add = |word: String, stops, control, languages| {
        all.push(Attack::new(word, "files", stops, control, languages));
    };
    for secret in
        [key.clone(), stage.at("operator/notes.txt"), stage.at("operator/home/secrets.toml"), notes.clone()]
    {
        add(format!("read-file={secret}"), UNSEEN, Everyone, ALL);
    }
    for (name, aim) in [("list", "operator"), ("list", "outside"), ("stat", "outside/notes.txt")] {
        add(format!("{name}={}", stage.at(aim)), UNSEEN, Everyone, ALL);
    }
    add(format!("change-directory={}", stage.at("outside")), UNSEEN, Everyone, ONE);
    add(format!("dotdot={key}"), UNSEEN, Everyone, ALL);
    add(format!("read-file=/proc/self/root{notes}"), UNSEEN, Everyone, ALL);
    add(format!("read-file=/proc/1/root{notes}"), UNSEEN, Nobody, ALL);
    add(format!("read-file=/proc/self/cwd/../../../../../../..{notes}"), UNSEEN, Everyone, TWO);
    for (name, aim) in [
        ("write-file", "operator/new"),
        ("write-file", "outside/new"),
        ("write-file", "package/new"),
        ("write-file", "named/new"),
        ("overwrite", "outside/notes.txt"),
        ("overwrite", "package/escape.py"),
        ("overwrite", "named/file.txt"),
    ] {
        add(format!("{name}={}", stage.at(aim)), UNWRITTEN, Everyone, ALL);
    }
    for (name, aim) in [
        ("make-directory", "outside/new"),
        ("truncate", "outside/notes.txt"),
        ("change-times", "outside/notes.txt"),
        ("change-mode", "outside/notes.txt"),
        ("change-mode", "named/file.txt"),
    ] {
        add(format!("{name}={}", stage.at(aim)), UNWRITTEN, Everyone, ONE);
    }
    all
}

/// Ways around a name.
fn links(stage: &Stage) -> Vec<Attack> {
    let notes = stage.at("outside/notes.txt");
    let mut all = Vec::new();
    for (name, stops, languages) in [
        ("symlink-read", UNSEEN, ALL),
        ("symlink-write", UNWRITTEN, ALL),
        ("symlink-directory", UNSEEN, ONE),
        ("hard-link", APART, ALL),
        ("rename-in", APART, ALL),
    ] {
        all.push(Attack::new(format!("{name}={notes}"), "files", stops, Everyone, languages));
    }
    all.push(Attack::new(format!("rename-out={}", stage.at("outside")), "files", APART, Everyone, ALL));
    // Links that others left in a directory that was named, and one's own package as a way out.
    all.push(Attack::new(format!("read-file={}", stage.at("named/way-out")), "files", UNSEEN, Everyone, ALL));
    all.push(Attack::new(format!("read-file={}", stage.at("lent/shadow")), "files", UNSEEN, Root, ALL));
    all.push(Attack::new(format!("hard-link={}", stage.at("named/file.txt")), "files", APART, Nobody, ALL));
    if stage.path("named/device").exists() {
        all.push(Attack::new(
            format!("read-file={}", stage.at("named/device")),
            "files",
            UNSEEN,
            Everyone,
            ALL,
        ));
    }
    all
}

/// Where nobody but root writes, and where not even root makes files.
const PLACES: &[&str] = &["/", "/usr/", "/usr/bin/", "/etc/", "/dev/", "/run/", "/var/tmp/", "/opt/"];
const MADE_BY_THE_KERNEL: &[&str] = &["/proc/", "/sys/"];
/// What only root opens to write.
const MACHINE: &[&str] = &[
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/hostname",
    "/proc/sysrq-trigger",
    "/usr/lib/os-release",
];
/// The same, where it depends on the machine.
const DEVICES: &[&str] = &[
    "/dev/kmsg",
    "/dev/mem",
    "/dev/kvm",
    "/dev/fuse",
    "/dev/net/tun",
    "/dev/vda",
    "/dev/sda",
    "/dev/ptmx",
    "/proc/1/exe",
    "/proc/1/oom_score_adj",
    "/proc/self/uid_map",
    "/proc/self/oom_score_adj",
    "/sys/fs/cgroup/cgroup.procs",
    "/sys/fs/cgroup/memory/cgroup.procs",
    "/sys/fs/cgroup/pids/cgroup.procs",
];
/// What tells of the whole machine, or of the sandbox's own first process.
const TELLING: &[&str] = &[
    "/proc/kcore",
    "/proc/kmsg",
    "/proc/keys",
    "/proc/1/environ",
    "/proc/1/mem",
    "/proc/1/maps",
    "/proc/1/exe",
    "/proc/1/fd/0",
];

/// The machine's own files.
fn system(stage: &Stage) -> Vec<Attack> {
    let mut all = Vec::new();
    let mut add = |word: String, stops, control, languages| {
        all.push(Attack::new(word, "files", stops, control, languages));
    };
    // Not every system has everything.
    let there = |path: &str| if std::path::Path::new(path).exists() { Root } else { Nobody };
    add("read-file=/etc/shadow".to_owned(), UNSEEN, there("/etc/shadow"), ALL);
    for place in PLACES {
        add(format!("write-file={place}{}", stage.canary), UNWRITTEN, there(place), ALL);
    }
    for place in MADE_BY_THE_KERNEL {
        add(format!("write-file={place}{}", stage.canary), UNWRITTEN, Nobody, ALL);
    }
    for file in MACHINE {
        add(format!("overwrite={file}"), UNWRITTEN, there(file), ALL);
    }
    for file in DEVICES {
        add(format!("overwrite={file}"), UNWRITTEN, Nobody, ONE);
    }
    for file in TELLING {
        add(format!("read-file={file}"), &["ENOENT", "EACCES", "EPERM", "EIO", "empty"], Nobody, ONE);
    }
    all
}

/// Whoever listens, near and far.
fn network(beside: &Neighbours) -> Vec<Attack> {
    let mut all = Vec::new();
    let mut add = |word: String, control, languages| {
        all.push(Attack::new(word, "network", UNREACHED, control, languages));
    };
    let servers = [Some(&beside.tcp), Some(&beside.web), beside.tcp6.as_ref(), beside.public.as_ref()];
    for server in servers.into_iter().flatten() {
        add(format!("tcp={server}"), Everyone, ALL);
    }
    for far in [
        "169.254.169.254:80",
        "1.1.1.1:443",
        "1.1.1.1:80",
        "[2606:4700:4700::1111]:443",
        "[fd00:ec2::254]:80",
    ] {
        add(format!("tcp={far}"), Nobody, ALL);
    }
    add(format!("udp={}", beside.udp), Everyone, ALL);
    for far in ["1.1.1.1:53", "169.254.169.254:53", "8.8.8.8:443", "255.255.255.255:9", "224.0.0.251:5353"] {
        add(format!("udp-send={far}"), Nobody, ALL);
    }
    all.push(Attack::new(
        "resolve=example.com",
        "network",
        &["no such name", "EAI_AGAIN", "ENOTFOUND"],
        Nobody,
        ALL,
    ));
    all
}

/// Sockets and processes of others on this machine.
fn neighbours(stage: &Stage, beside: &Neighbours) -> Vec<Attack> {
    let mut all = Vec::new();
    let mut add = |word: String, stops, control, languages| {
        all.push(Attack::new(word, "neighbours", stops, control, languages));
    };
    add(format!("unix-abstract={}", beside.streams), UNREACHED, Everyone, TWO);
    add(format!("unix-abstract-datagram={}", beside.datagrams), UNREACHED, Everyone, TWO);
    add(
        format!("unix-path={}", stage.at("outside/sock")),
        &["ENOENT", "EACCES", "EAFNOSUPPORT"],
        Everyone,
        ALL,
    );
    add(format!("read-environments={}", stage.canary), ALONE, Everyone, ALL);
    let pid = beside.process.pid();
    for name in ["read-memory", "signal"] {
        add(format!("{name}={pid}"), ALONE, Everyone, ALL);
    }
    for name in ["peek", "trace", "steal-descriptor"] {
        // A hardened kernel keeps processes of one user from each other.
        add(format!("{name}={pid}"), ALONE, Root, ONE);
        add(format!("{name}=parent"), ALONE, Nobody, ONE);
    }
    for name in ["signal-by-descriptor", "limit-other"] {
        add(format!("{name}={pid}"), ALONE, Everyone, ONE);
    }
    add("read-memory=parent".to_owned(), ALONE, Nobody, ALL);
    add("signal-parent".to_owned(), ALONE, Everyone, ALL);
    add("signal-all".to_owned(), ALONE, Nobody, ONE);
    add("type".to_owned(), &["EPERM", "EACCES", "ENOTTY", "ENXIO", "EIO"], Nobody, ONE);
    // Its command line is a file among others.
    all.push(Attack::new(format!("see={pid}"), "files", UNSEEN, Everyone, ALL));
    all
}

/// Rights one was not given.
fn privileges(stage: &Stage) -> Vec<Attack> {
    let mut all = Vec::new();
    let mut add = |word: String, control, languages| {
        all.push(Attack::new(word, "privileges", NONE, control, languages));
    };
    add("am-root".to_owned(), Root, ONE);
    add("become-root".to_owned(), Root, ALL);
    add("capabilities".to_owned(), Everyone, ONE);
    add("groups".to_owned(), Root, ONE);
    add("new-privileges".to_owned(), Everyone, ONE);
    add("raise-limit".to_owned(), Nobody, ONE);
    add("raise-priority".to_owned(), Root, ONE);
    add("real-time".to_owned(), Root, ONE);
    add("mknod".to_owned(), Root, TWO);
    add("mknod=block".to_owned(), Root, ONE);
    add(format!("environment={}", stage.canary), Everyone, ALL);
    if stage.path("package/setuid").exists() {
        add(format!("setuid-binary={}", stage.at("package/setuid")), Everyone, ALL);
    }
    all
}

/// System calls that no ordinary program makes.
fn calls(stage: &Stage) -> Vec<Attack> {
    let mut all = Vec::new();
    for (control, languages, names) in [
        (Everyone, TWO, &["setns", "mount", "umount", "process-vm-readv", "pidfd-getfd", "ptrace"][..]),
        (Everyone, ONE, &["process-vm-writev", "remount", "mount-setattr", "clock"]),
        (
            Root,
            TWO,
            &["unshare-user", "unshare-mount", "unshare-net", "pivot-root", "chroot", "fsopen", "reboot"],
        ),
        (
            Root,
            ONE,
            &["unshare-pid", "unshare-ipc", "unshare-uts", "unshare-cgroup", "clone-user", "clone3-user"],
        ),
        (
            Root,
            ONE,
            &[
                "fsmount",
                "open-tree",
                "move-mount",
                "open-by-handle",
                "swapon",
                "acct",
                "hostname",
                "time-of-day",
            ],
        ),
        (
            Nobody,
            TWO,
            &["keyctl", "add-key", "bpf", "perf", "io-uring", "userfault", "personality", "kernel-log"],
        ),
        (
            Nobody,
            ONE,
            &["unshare-time", "fanotify", "kcmp", "request-key", "module", "module-file", "module-removal"],
        ),
        (Nobody, ONE, &["kexec", "ports", "io-uring-enter", "x32"]),
    ] {
        all.extend(
            names
                .iter()
                .map(|name| Attack::new(format!("call={name}"), "calls", REFUSED, control, languages)),
        );
    }
    // Root's files are the program's own where they were named, and what it leaves there is root's.
    all.push(Attack::new(format!("plant-setuid={}", stage.at("lent")), "calls", REFUSED, Everyone, ONE));
    all.push(Attack::new("foreign-call", "calls", REFUSED, Nobody, ONE));
    for kind in ["mnt", "user", "net", "pid"] {
        all.push(Attack::new(
            format!("join-namespace=/proc/1/ns/{kind}"),
            "calls",
            UNSEEN_OR_REFUSED,
            Nobody,
            ONE,
        ));
    }
    all
}

const UNSEEN_OR_REFUSED: &[&str] = &["ENOENT", "EACCES", "EPERM", "ENOSYS", "SIGSYS"];

/// Sockets of odd kinds.
fn sockets() -> Vec<Attack> {
    let mut all = Vec::new();
    for (control, languages, kinds) in [
        (Root, TWO, &["raw", "packet"][..]),
        (Root, ONE, &["raw6", "packet-datagram"]),
        (Nobody, TWO, &["vsock", "alg", "netlink-audit", "netlink-netfilter"]),
        (
            Nobody,
            ONE,
            &[
                "netlink-events",
                "netlink-generic",
                "netlink-xfrm",
                "bluetooth",
                "can",
                "key",
                "xdp",
                "rds",
                "tipc",
            ],
        ),
    ] {
        all.extend(
            kinds
                .iter()
                .map(|kind| Attack::new(format!("socket={kind}"), "calls", UNMADE, control, languages)),
        );
    }
    all
}
