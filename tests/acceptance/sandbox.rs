//! The sandbox held against programs that want out, through the built program: as root and as an ordinary user, on this
//! host and on poorer ones. Every attack is also tried without a sandbox, where it must succeed, so that each can fail.

mod allowed;
mod attacks;
mod escape;
mod hosts;
mod left;
mod limits;
mod neighbours;
mod stage;
mod table;
mod unharmed;

use std::io::Write as _;

/// Who runs the program under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// Root, whose sandboxed programs run as nobody.
    Root,
    /// An ordinary user without a home: what a test that is root can become.
    Nobody,
    /// Whoever runs the tests, where that is not root.
    Own,
}

/// The user and group that own nothing.
const NOBODY: u32 = 65534;

impl Who {
    /// Everyone the sandbox can be tried as from here.
    pub(crate) fn everyone() -> Vec<Self> {
        static SAID: std::sync::Once = std::sync::Once::new();
        if rustix::process::geteuid().is_root() {
            return vec![Self::Root, Self::Nobody];
        }
        assert!(
            std::env::var_os("CI").is_none(),
            "CI tries the sandbox as root and as an ordinary user: run it as root"
        );
        let skipped = "SKIPPED: the sandbox is tried as this user only; tests as root try it as root, too\n";
        SAID.call_once(|| say(skipped));
        vec![Self::Own]
    }

    /// Only the ordinary user.
    pub(crate) fn ordinary() -> Self {
        if rustix::process::geteuid().is_root() { Self::Nobody } else { Self::Own }
    }

    /// The user to become.
    fn uid(self) -> Option<u32> {
        (self == Self::Nobody).then_some(NOBODY)
    }
}

/// Runs a test as everyone it can be run as, at the same time.
fn as_everyone(test: impl Fn(Who) + Sync) {
    let test = &test;
    let failed = std::thread::scope(|scope| {
        let all: Vec<_> = Who::everyone().into_iter().map(|who| scope.spawn(move || test(who))).collect();
        all.into_iter().filter_map(|one| one.join().err()).last()
    });
    if let Some(failed) = failed {
        std::panic::resume_unwind(failed);
    }
}

/// What a fixture is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Language {
    Rust,
    Python,
    Node,
}

impl Language {
    pub(crate) const ALL: [Self; 3] = [Self::Rust, Self::Python, Self::Node];
}

/// Says something that a passing test should say, too.
fn say(text: &str) {
    // Past the capture of the test runner, which takes what the macros print.
    std::io::stderr().lock().write_all(text.as_bytes()).unwrap();
}

/// Whether somebody could read that file without being its owner.
fn is_reachable(path: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let open = |path: &std::path::Path, bits: u32| {
        std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & bits == bits)
    };
    open(path, 0o5) && path.ancestors().skip(1).all(|above| open(above, 0o1))
}
