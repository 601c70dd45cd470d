//! The check of the sandbox: what a tiny program in it could count on, and what would make good what is missing.

use std::path::Path;

use covenant_daemon::config::{Config, Overrides};
use covenant_runner::report::{Measure, Promise, Report};

use super::Finding;
use crate::cmd::sandbox::probe;
use crate::setting::Setting;

const NAME: &str = "sandbox";

/// What the kernel says about itself; every part may be unknown.
#[derive(Debug, Default)]
struct Kernel {
    /// `user.max_user_namespaces`.
    max_user_namespaces: Option<u64>,
    /// `kernel.unprivileged_userns_clone`, on Debian and its kin.
    userns_clone: Option<u64>,
    /// `kernel.apparmor_restrict_unprivileged_userns`, on Ubuntu and its kin.
    apparmor_restricts: Option<u64>,
    /// The security modules that are on.
    modules: Option<String>,
    /// Whether we are in a container.
    is_container: bool,
    /// Whether we are root.
    is_root: bool,
}

/// What this host can enforce.
pub(super) fn all(setting: &Setting) -> Finding {
    if !cfg!(target_os = "linux") {
        return Finding::skip(NAME, "there is none on this system: programs run with your own rights");
    }
    // What is wrong with the configuration is said elsewhere.
    let config = Config::load(&setting.home, &Overrides::from_environment());
    let config = config.map(|loaded| loaded.config).unwrap_or_default();
    match probe(setting, &config) {
        Ok(report) => finding(&report, config.sandbox.required, &Kernel::here()),
        Err(failure) if config.sandbox.required => Finding::fail(NAME, failure.message(), failure.help()),
        Err(failure) => Finding::warn(NAME, failure.message(), failure.help()),
    }
}

fn finding(report: &Report, required: bool, kernel: &Kernel) -> Finding {
    if report.is_whole() {
        return Finding::ok(NAME, format!("every promise is kept, by {}", means(report)));
    }
    let gaps: Vec<String> = report.gaps().map(told).collect();
    let detail = format!("not every promise is kept: {}", gaps.join("; "));
    let action = remedies(report, kernel).join("; ");
    if required {
        let detail = format!("{detail}. `[sandbox] required` is set, so nothing sandboxed runs");
        return Finding::fail(NAME, detail, action);
    }
    Finding::warn(NAME, detail, action)
}

fn told(gap: &Measure) -> String {
    let (note, _) = apart(&gap.note);
    format!("{} ({note})", gap.promise)
}

/// A note without the reason in parentheses that every gap would repeat, and that reason.
fn apart(note: &str) -> (String, Option<&str>) {
    let Some(start) = note.find(" (") else { return (note.to_owned(), None) };
    let mut depth = 0_u32;
    for (at, character) in note.char_indices().skip_while(|(at, _)| *at <= start) {
        depth = match character {
            '(' => depth + 1,
            ')' if depth == 1 => {
                let reason = note.get(start + 2..at);
                let rest = note.get(at + 1..).unwrap_or_default();
                return (format!("{}{rest}", note.get(..start).unwrap_or_default()), reason);
            }
            ')' => depth.saturating_sub(1),
            _ => depth,
        };
    }
    (note.to_owned(), None)
}

/// The means that matter, in a few words: each once, and the namespaces as one.
fn means(report: &Report) -> String {
    const KNOWN: [&str; 5] = ["namespace", "landlock", "seccomp", "cgroup", "watchdog"];
    let used =
        |known: &&str| report.measures.iter().flat_map(|measure| &measure.by).any(|by| by.contains(*known));
    let names: Vec<&str> = KNOWN.into_iter().filter(used).collect();
    names.join(", ").replacen("namespace", "namespaces", 1)
}

/// What to do about the gaps.
fn remedies(report: &Report, kernel: &Kernel) -> Vec<String> {
    let is_kept_by = |promise, means: &str| {
        report.of(promise).is_some_and(|measure| measure.by.iter().any(|by| by == means))
    };
    let mut remedies = Vec::new();
    if !is_kept_by(Promise::Lifetime, "pid namespace") {
        let reason = report.of(Promise::Lifetime).and_then(|measure| apart(&measure.note).1);
        remedies.push(kernel.namespaces(reason.unwrap_or("nobody knows why")));
    }
    let is_memory_short = report.gaps().any(|gap| gap.promise == Promise::Memory);
    if is_memory_short && is_kept_by(Promise::Lifetime, "pid namespace") {
        remedies.push(kernel.memory());
    }
    if !is_kept_by(Promise::Files, "landlock") {
        remedies.push(kernel.rules());
    } else if report.gaps().any(|gap| gap.note.contains("kernel")) {
        remedies.push(
            "a newer kernel closes the rest: Linux 6.7 for landlock on TCP, 6.12 for its scopes".to_owned(),
        );
    }
    remedies.push("docs/sandbox.md says what each gap means".to_owned());
    remedies
}

impl Kernel {
    fn here() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).ok();
        let number = |path: &str| read(path)?.trim().parse().ok();
        Self {
            max_user_namespaces: number("/proc/sys/user/max_user_namespaces"),
            userns_clone: number("/proc/sys/kernel/unprivileged_userns_clone"),
            apparmor_restricts: number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
            modules: read("/sys/kernel/security/lsm"),
            is_container: ["/.dockerenv", "/run/.containerenv"].iter().any(|path| Path::new(path).exists()),
            is_root: rustix::process::geteuid().is_root(),
        }
    }

    /// Why there are no namespaces, most likely, and what gives them.
    fn namespaces(&self, reason: &str) -> String {
        if self.max_user_namespaces == Some(0) {
            return "allow user namespaces: sysctl -w user.max_user_namespaces=15000".to_owned();
        }
        if self.userns_clone == Some(0) {
            return "allow user namespaces: sysctl -w kernel.unprivileged_userns_clone=1".to_owned();
        }
        if self.apparmor_restricts == Some(1) {
            return "allow this program user namespaces by an AppArmor profile with `userns,` (docs/sandbox.md has one), \
                    or all programs: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
                .to_owned();
        }
        if self.is_container {
            return "let the container make user namespaces: a seccomp profile that allows clone and mount, such as \
                    --security-opt seccomp=unconfined"
                .to_owned();
        }
        format!("find out why there are no namespaces ({reason}): unshare --user --map-current-user true")
    }

    /// What gives a memory cgroup.
    fn memory(&self) -> String {
        if self.is_root {
            return "for memory, let it write to a memory cgroup: in a container, mount /sys/fs/cgroup writable"
                .to_owned();
        }
        "for memory, start the daemon where systemd gives it a cgroup: systemd-run --user --scope -p Delegate=yes \
         covenant up, or a user service with Delegate=yes"
            .to_owned()
    }

    /// Why there is no landlock, most likely, and what gives it.
    fn rules(&self) -> String {
        match &self.modules {
            Some(modules) if !modules.contains("landlock") => {
                format!("turn landlock on at boot: lsm=landlock,{}", modules.trim())
            }
            _ => "use a kernel with landlock: Linux 5.13 or newer, with CONFIG_SECURITY_LANDLOCK".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cmd::doctor::State;

    fn whole() -> Report {
        let mut report = Report::default();
        for promise in Promise::ALL {
            report.keeps(promise, &["pid namespace", "mount namespace", "seccomp"]);
        }
        report.keeps(Promise::Files, &["mount namespace", "landlock"]);
        report
    }

    fn fenced() -> Report {
        let mut report = whole();
        let why = "no pid namespace (No space left (os error 28)): some of it may stay";
        report.keeps_partly(Promise::Lifetime, &["subreaper"], why);
        report
    }

    #[test]
    fn the_reason_that_all_gaps_share_is_told_apart_from_the_gap() {
        let (note, reason) = apart("no x (No y (os error 28)): z (w)");
        assert_eq!((&*note, reason), ("no x: z (w)", Some("No y (os error 28)")));
        for plain in ["nothing of it", "", "an (open end", "a) b"] {
            assert_eq!(apart(plain), (plain.to_owned(), None));
        }
    }

    #[test]
    fn a_whole_sandbox_is_told_in_a_few_words() {
        let found = finding(&whole(), true, &Kernel::default());
        assert_eq!(found, Finding::ok(NAME, "every promise is kept, by namespaces, landlock, seccomp"));
    }

    #[test]
    fn gaps_are_a_warning_and_fail_only_where_none_is_allowed() {
        let found = finding(&fenced(), false, &Kernel::default());
        assert_eq!(found.state, State::Warn);
        assert!(found.detail.contains("lifetime (no pid namespace: some of it may stay)"), "{found:?}");
        let found = finding(&fenced(), true, &Kernel::default());
        assert_eq!(found.state, State::Fail);
    }

    #[test]
    fn memory_without_a_cgroup_is_a_warning_that_says_who_gives_one() {
        let mut report = whole();
        report.keeps_partly(Promise::Memory, &["watchdog"], "no memory cgroup: some is not counted");
        for (is_root, remedy) in [(false, "Delegate=yes"), (true, "/sys/fs/cgroup")] {
            let found = finding(&report, false, &Kernel { is_root, ..Kernel::default() });
            assert_eq!(found.state, State::Warn);
            assert!(found.detail.ends_with("memory (no memory cgroup: some is not counted)"), "{found:?}");
            assert!(found.action.contains(remedy), "{found:?}");
        }
        // Where there are no namespaces, a cgroup would not be used.
        report.keeps_partly(Promise::Lifetime, &["subreaper"], "no pid namespace (x): y");
        let found = finding(&report, false, &Kernel::default());
        assert!(!found.action.contains("Delegate"), "{found:?}");
    }

    #[test]
    fn the_setting_that_is_in_the_way_is_named() {
        for (kernel, setting) in [
            (Kernel { max_user_namespaces: Some(0), ..Kernel::default() }, "user.max_user_namespaces"),
            (Kernel { userns_clone: Some(0), ..Kernel::default() }, "unprivileged_userns_clone=1"),
            (Kernel { apparmor_restricts: Some(1), ..Kernel::default() }, "AppArmor profile"),
            (Kernel { is_container: true, ..Kernel::default() }, "--security-opt"),
            (Kernel::default(), "(No space left (os error 28)): unshare --user"),
        ] {
            let found = finding(&fenced(), false, &kernel);
            assert!(found.action.contains(setting), "{found:?}");
        }
        let mut bare = whole();
        bare.lacks(Promise::Files, "neither");
        let kernel = Kernel { modules: Some("lockdown,yama\n".to_owned()), ..Kernel::default() };
        let found = finding(&bare, false, &kernel);
        assert!(found.action.contains("lsm=landlock,lockdown,yama"), "{found:?}");
    }
}
