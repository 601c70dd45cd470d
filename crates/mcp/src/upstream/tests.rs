//! What the tests of wires and links share: real programs, and a launcher that confines nothing.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use covenant_runner::child::Child;
use covenant_runner::ending::Ending;
use covenant_runner::nursery::{Launcher, Nursery};
use covenant_runner::order::Order;
use covenant_runner::pipes::{Input, Output};

use super::ports::{Later, RunningProgram};

/// Longer than anything takes.
pub(crate) const LONG: Duration = Duration::from_mins(1);

/// A Python that needs nothing of the environment: no script that looks for another one.
pub(crate) fn python() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_program = |path: &PathBuf| fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"));
    let found = std::env::split_paths(&path).map(|directory| directory.join("python3")).find(is_program);
    found.expect("the tests of external servers need python3 on PATH")
}

/// A program of the test.
struct Running(Child);

impl RunningProgram for Running {
    fn take_input(&mut self) -> Option<Input> {
        self.0.take_input()
    }

    fn take_output(&mut self) -> Option<Output> {
        self.0.take_output()
    }

    fn wait(&mut self) -> Later<'_, Ending> {
        Box::pin(self.0.wait())
    }

    fn stop(&mut self, grace: Duration) -> Later<'_, Ending> {
        Box::pin(self.0.stop(grace))
    }
}

/// Starts a Python program with the words of `prelude.py` at hand.
pub(crate) async fn program(script: &str) -> Box<dyn RunningProgram> {
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/src/upstream/tests");
    let arguments = ["-I".to_owned(), "-S".to_owned(), format!("{here}/launcher.py")].to_vec();
    let nursery = Nursery::new(Launcher { program: python(), arguments });
    let prelude = fs::read_to_string(format!("{here}/prelude.py")).unwrap();
    let order = Order {
        name: "tested".to_owned(),
        program: python(),
        arguments: ["-I", "-S", "-c", &format!("{prelude}\n{script}")].map(str::to_owned).to_vec(),
        environment: vec![("PATH".to_owned(), std::env::var("PATH").unwrap_or_default())],
        directory: "/".into(),
        sandbox: None,
    };
    Box::new(Running(nursery.start(order, Arc::new(str::to_owned)).await.unwrap()))
}

/// Waits until it is so.
pub(crate) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(LONG, waiting).await.unwrap_or_else(|_| panic!("{what}"));
}
