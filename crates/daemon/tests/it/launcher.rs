//! These tests once more, as the process beside every program that a daemon of theirs starts.

use covenant_runner::nursery::Launcher;

/// The test below, by its name.
const NAME: &str = "launcher::these_tests_can_be_a_launcher";

/// What daemons are started with here: their own program has no `launch`.
pub(crate) fn own() -> Launcher {
    let arguments = [NAME, "--exact", "--test-threads=1", "--nocapture"].map(str::to_owned).to_vec();
    Launcher { program: std::env::current_exe().unwrap(), arguments }
}

#[test]
fn these_tests_can_be_a_launcher() {
    let given = std::env::args().skip(1);
    if std::env::var_os("COVENANT_RUN").is_some() && given.eq(own().arguments) {
        covenant_runner::launcher::run();
        std::process::exit(0);
    }
    assert!(own().program.is_absolute());
}
