//! Runs the program of the testkit that measures how well overlap is found.

use crate::Outcome;
use crate::child::{cargo, run as run_child};

/// With the words of the command line, which are that program's own.
pub(crate) fn run(words: &[&str]) -> Outcome {
    let program = ["run", "--quiet", "--package", "covenant-testkit", "--bin", "overlap_eval", "--"];
    run_child(cargo(&program).args(words))
}
