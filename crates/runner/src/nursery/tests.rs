//! Launchers that do not do what a launcher should.

use std::time::Duration;

use super::*;
use crate::ending::Status;
use crate::linux::tree::mark::marked;

fn order() -> Order {
    Order {
        name: "test".into(),
        program: "/bin/true".into(),
        arguments: vec![],
        environment: vec![],
        directory: "/".into(),
        sandbox: None,
    }
}

fn scrub() -> Scrub {
    Arc::new(str::to_owned)
}

/// A nursery whose launcher is that script. The order comes over its standard input, and answers go there.
fn nursery(script: &str) -> Nursery {
    let arguments = vec!["-c".into(), script.into()];
    Nursery::new(Launcher { program: "/bin/sh".into(), arguments })
}

async fn refused(script: &str) -> StartError {
    nursery(script).start(order(), scrub()).await.unwrap_err()
}

/// Longer than anything takes.
const LONG: Duration = Duration::from_mins(1);

/// What a launcher answers that plays by the rules.
const READY_LINE: &str =
    r#"echo '{"ready":{"pid":'$$',"report":{"measures":[]},"door":false,"proxy":false}}' >&0"#;

#[tokio::test]
async fn a_launcher_that_is_not_there_is_named() {
    let nursery = Nursery::new(Launcher { program: "/no/such/launcher".into(), arguments: vec![] });
    let error = nursery.start(order(), scrub()).await.unwrap_err();
    assert!(error.to_string().starts_with("its launcher /no/such/launcher could not be started"), "{error}");
}

#[tokio::test]
async fn a_launcher_that_ends_or_talks_nonsense_is_an_error() {
    assert!(matches!(refused("read order; exit 0").await, StartError::Gone));
    assert!(matches!(refused("read order; echo nonsense >&0; sleep 60").await, StartError::Answer(_)));
    assert!(matches!(refused("read order; echo '{\"ended\":1}' >&0; sleep 60").await, StartError::Answer(_)));
    let refusal = r#"read order; echo '{"refused":{"setup":"no luck"}}' >&0"#;
    assert_eq!(refused(refusal).await.to_string(), "it could not be set up: no luck");
    let listener = READY_LINE.replace("\"door\":false", "\"door\":true");
    assert!(matches!(refused(&format!("read order; {listener}")).await, StartError::Answer(_)));
}

/// A launcher with this to say that never listens, and the mark of its run in a file.
struct Stubborn {
    directory: tempfile::TempDir,
    nursery: Nursery,
}

impl Stubborn {
    fn new(says: &str, start: Duration) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let note = directory.path().join("run").display().to_string();
        // What it leaves in a session of its own inherits the mark.
        let script = format!(
            "read order; echo $COVENANT_RUN > {note}.new; mv {note}.new {note}; {says}; setsid sleep 300 & exec sleep 300"
        );
        let patience = Patience { start, end: Duration::from_millis(100) };
        let (ledgered, _) = Nursery::with_ledger(
            nursery(&script).launcher.as_ref().clone(),
            &directory.path().join("ledger"),
        )
        .unwrap();
        Self { directory, nursery: Nursery { patience, ..ledgered } }
    }

    /// The id of its run, once it has begun.
    fn run(&self) -> Option<String> {
        let run = std::fs::read_to_string(self.directory.path().join("run")).ok()?;
        Some(run.trim().to_owned())
    }

    /// Waits until nothing of its run is left: no process, no record.
    async fn leaves_nothing(&self) {
        let run = [self.run().unwrap()];
        let records = || std::fs::read_dir(self.directory.path().join("ledger")).unwrap().count();
        let nothing_left = async {
            while !marked(&run).is_empty() || records() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(LONG, nothing_left).await.unwrap();
    }
}

#[tokio::test]
async fn a_launcher_that_says_nothing_is_late_and_nothing_of_it_stays() {
    // On a slow machine it may not have begun, and is given longer.
    for patience in [300, 3_000, 30_000].map(Duration::from_millis) {
        let stubborn = Stubborn::new("true", patience);
        let error = stubborn.nursery.start(order(), scrub()).await.unwrap_err();
        assert!(matches!(error, StartError::Late(_)), "{error}");
        if stubborn.run().is_some() {
            return stubborn.leaves_nothing().await;
        }
    }
    panic!("it never began");
}

#[tokio::test]
async fn a_launcher_that_does_not_end_is_ended_with_all_it_started() {
    let stubborn = Stubborn::new(READY_LINE, LONG);
    let mut child = stubborn.nursery.start(order(), scrub()).await.unwrap();
    assert_eq!(child.kill().await.status, Status::Unknown);
    assert_eq!(child.wait().await.status, Status::Unknown, "and says so again");
    stubborn.leaves_nothing().await;
}

#[tokio::test]
async fn a_child_that_is_dropped_and_a_start_that_is_given_up_leave_nothing() {
    let stubborn = Stubborn::new(READY_LINE, LONG);
    drop(stubborn.nursery.start(order(), scrub()).await.unwrap());
    stubborn.leaves_nothing().await;

    let stubborn = Stubborn::new("true", LONG);
    let note = stubborn.directory.path().join("run");
    let begun = async {
        while !note.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        _ = stubborn.nursery.start(order(), scrub()) => panic!("it says nothing"),
        () = begun => {}
    }
    stubborn.leaves_nothing().await;
}
