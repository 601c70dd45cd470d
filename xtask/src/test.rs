//! The order of the checks. Each is one line with its time; the first that fails ends the run.

use std::time::Instant;

use crate::child::{cargo, run};
use crate::setup::{self, Ready};
use crate::{Outcome, licences, requirements, tidy};

/// Sets up what the tests need and runs every check.
pub(crate) fn everything() -> Outcome {
    let start = Instant::now();
    let ready = step("setup", setup::everything)?;
    step("format", || run(&mut cargo(&["fmt", "--all", "--check"])))?;
    step("clippy", || {
        run(&mut cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny", "warnings"]))
    })?;
    println!("{}", step("tidy", tidy::run)?);
    println!("{}", step("licences", licences::run)?);
    step("tests", || tests(&ready, None))?;
    step("documentation", documentation)?;
    step("requirements", requirements::done)?;
    println!("xtask: everything passed in {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Sets up, and runs the tests whose names hold that text.
pub(crate) fn only(filter: &str) -> Outcome {
    let ready = step("setup", setup::everything)?;
    step("tests", || tests(&ready, Some(filter)))
}

fn step<T>(name: &str, body: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let start = Instant::now();
    let result = body();
    let seconds = start.elapsed().as_secs_f64();
    match result {
        Ok(value) => {
            println!("xtask: {name} passed in {seconds:.1} s");
            Ok(value)
        }
        Err(reason) => Err(format!("{name} FAILED after {seconds:.1} s: {reason}")),
    }
}

fn tests(ready: &Ready, filter: Option<&str>) -> Outcome {
    // Tests drive the product's binary, which a test build of another package does not build.
    run(&mut cargo(&["build", "--workspace", "--bins", "--quiet"]))?;
    let mut command = cargo(&["test", "--workspace", "--no-fail-fast"]);
    command.args(filter).envs(ready.variables.iter().map(|(name, value)| (name, value)));
    run(&mut command)
}

fn documentation() -> Outcome {
    let mut command = cargo(&["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"]);
    run(command.env("RUSTDOCFLAGS", "--deny warnings"))
}
