//! Runs the benchmark programs of `bench/`, which print their own tables.

use crate::Outcome;
use crate::child::{cargo, run as run_child};
use crate::tree;

/// All of them, or the one with that name.
pub(crate) fn run(name: Option<&str>) -> Outcome {
    let programs = programs()?;
    let chosen: Vec<_> = programs.iter().filter(|program| name.is_none_or(|name| name == *program)).collect();
    if chosen.is_empty() {
        let asked = name.map(|name| format!(" called {name}")).unwrap_or_default();
        return Err(format!("there is no benchmark{asked}; there are: {}", programs.join(", ")));
    }
    // Some of them drive the product's own binary.
    run_child(&mut cargo(&["build", "--release", "--package", "covenant"]))?;
    run_child(&mut cargo(&["build", "--profile", "bench", "--package", "covenant-bench", "--bins"]))?;
    for program in chosen {
        println!("\n== {program}");
        let words = [
            "run",
            "--quiet",
            "--profile",
            "bench",
            "--package",
            "covenant-bench",
            "--bin",
            program.as_str(),
        ];
        run_child(&mut cargo(&words))?;
    }
    Ok(())
}

fn programs() -> Result<Vec<String>, String> {
    let stem = |path: &str| Some(path.strip_prefix("bench/src/bin/")?.strip_suffix(".rs")?.to_owned());
    let programs: Vec<_> =
        tree::sources("bench/src/bin")?.iter().filter_map(|source| stem(&source.path)).collect();
    if programs.is_empty() {
        Err("there are no benchmarks: bench/src/bin is empty".to_owned())
    } else {
        Ok(programs)
    }
}
