//! Which promises hold, by which means: put together in one place, so that no part of the sandbox praises itself.

use rustix::process::getuid;

use crate::linux::fence;
use crate::linux::identity::Identity;
use crate::linux::inside::Go;
use crate::order::{Network, Sandbox};
use crate::report::{Promise, Report};

/// What bounds memory, by a cgroup or not, and what bounds processes.
pub(super) fn counted(memory: Option<&str>, processes: &[&str]) -> Report {
    let mut report = Report::default();
    match memory {
        Some(cgroup) => report.keeps(Promise::Memory, &["watchdog", cgroup]),
        None => report.keeps_partly(
            Promise::Memory,
            &["watchdog"],
            "no memory cgroup: shared memory that nobody has mapped, and what the kernel holds in sockets, is not counted",
        ),
    }
    report.keeps(Promise::Processes, processes);
    report
}

/// For a program in namespaces of its own.
pub(super) fn namespaces(sandbox: &Sandbox, go: &Go) -> Report {
    let strength = fence::strength();
    let mut report = go.report.clone();
    report.keeps(Promise::Lifetime, &["pid namespace", "parent-death signal"]);
    let files: &[&str] = if strength.files { &["mount namespace", "landlock"] } else { &["mount namespace"] };
    report.keeps(Promise::Files, files);
    report.keeps(Promise::Scratch, &["file system in memory"]);
    match sandbox.network {
        Network::Full => report.keeps(Promise::Network, &["open, as asked"]),
        _ => report.keeps(Promise::Network, &["network namespace"]),
    }
    match (sandbox.network, strength.scopes) {
        (Network::Full, false) => report.keeps_partly(
            Promise::Neighbours,
            &["pid namespace", "ipc namespace"],
            "this kernel cannot keep a program with full network from abstract Unix sockets of others (Linux 6.12 can)",
        ),
        (Network::Full, true) => {
            report.keeps(Promise::Neighbours, &["pid namespace", "ipc namespace", "landlock"]);
        }
        (_, _) => {
            report.keeps(Promise::Neighbours, &["pid namespace", "ipc namespace", "network namespace"]);
        }
    }
    privileges(&mut report, go.identity, &["no new privileges", "no capabilities", "user namespace"]);
    calls(&mut report);
    report
}

/// For a program that shares the namespaces of the host; `why` there are none of its own.
pub(super) fn shared(sandbox: &Sandbox, identity: Identity, ports: &[u16], why: &str) -> Report {
    let strength = fence::strength();
    let mut report = counted(None, &["watchdog"]);
    report.keeps_partly(
        Promise::Lifetime,
        &["subreaper", "parent-death signal"],
        format!("no pid namespace ({why}): what outlives a launcher that was killed is found by its mark, which it can shed"),
    );
    if strength.files {
        report.keeps_partly(
            Promise::Files,
            &["landlock"],
            format!("no mount namespace ({why}): elsewhere names and sizes can be seen, modes and times changed, not contents"),
        );
    } else {
        report.lacks(Promise::Files, format!("neither a mount namespace ({why}) nor landlock"));
    }
    report.keeps_partly(
        Promise::Scratch,
        &["limit on file size", "watchdog"],
        format!("no mount namespace ({why}): the directory is measured, not bounded"),
    );
    network(&mut report, sandbox, ports, why);
    let by: Vec<_> = [("landlock", strength.scopes), ("seccomp", fence::filters_calls())]
        .into_iter()
        .filter_map(|(means, there)| there.then_some(means))
        .collect();
    let signalled = if strength.scopes { "" } else { ", and processes of the same user can be signalled" };
    let note = format!("no pid namespace ({why}): command lines of other processes can be read{signalled}");
    report.keeps_partly(Promise::Neighbours, &by, note);
    privileges(&mut report, identity, &["no new privileges", "no capabilities"]);
    calls(&mut report);
    report
}

/// Without the filter only what needs a privilege is refused: there is none to be had.
fn calls(report: &mut Report) {
    if fence::filters_calls() {
        report.keeps(Promise::Calls, &["seccomp"]);
    } else {
        report.lacks(Promise::Calls, "this kernel has no seccomp, or this processor no list of calls");
    }
}

fn privileges(report: &mut Report, identity: Identity, by: &[&str]) {
    if identity == Identity::Same && getuid().is_root() {
        let note = "the daemon runs as root and may not run programs as another user";
        return report.keeps_partly(Promise::Privileges, by, note);
    }
    if !fence::filters_calls() {
        let note = "without seccomp it can leave set-user-id programs where it may write";
        return report.keeps_partly(Promise::Privileges, by, note);
    }
    report.keeps(Promise::Privileges, by);
}

fn network(report: &mut Report, sandbox: &Sandbox, ports: &[u16], why: &str) {
    if sandbox.network == Network::Full {
        return report.keeps(Promise::Network, &["open, as asked"]);
    }
    if !fence::filters_calls() {
        return report.lacks(Promise::Network, format!("neither a network namespace ({why}) nor seccomp"));
    }
    if !fence::strength().tcp {
        return report.lacks(
            Promise::Network,
            format!("no network namespace ({why}) and a kernel whose landlock knows no TCP: only UDP and the like are off"),
        );
    }
    if ports.is_empty() {
        return report.keeps(Promise::Network, &["landlock", "seccomp"]);
    }
    let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
    report.keeps_partly(
        Promise::Network,
        &["landlock", "seccomp"],
        format!("no network namespace ({why}): TCP to port {} is open to every host", ports.join(" and ")),
    );
}
