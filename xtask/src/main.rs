//! Everything this repository does beside being built: one command each, no decisions here.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that talks to the person who runs it"
)]

use std::process::ExitCode;

mod bench;
mod child;
mod licences;
mod overlap;
mod requirements;
mod setup;
mod spdx;
mod test;
mod tidy;
mod tree;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test [FILTER]                  set up what the tests need, then every check; with FILTER only the tests it names
  setup                          only the first part of that
  tidy                           the rules of the house that no compiler knows
  licences                       licences, sources and versions of dependencies against deny.toml
  requirements [--check LIST]    which requirements have a test; with LIST fail if one of those has none
  bench [NAME]                   build for release and run the benchmarks
  overlap-eval --data DIR        measure how well overlap is found on labelled texts; with --json for programs
";

/// What a command ends with: nothing, or a sentence for the person who ran it.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["test"] => test::everything(),
        ["test", filter] => test::only(filter),
        ["setup"] => setup::everything().map(|_| ()),
        ["tidy"] => tidy::run().map(print_line),
        ["licences"] => licences::run().map(print_line),
        ["requirements"] => requirements::run(None),
        ["requirements", "--check", list] => requirements::run(Some(list)),
        ["bench"] => bench::run(None),
        ["bench", name] => bench::run(Some(name)),
        ["overlap-eval", words @ ..] => overlap::run(words),
        [] | ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(())
        }
        _ => Err(format!("no such command: {}\n\n{USAGE}", words.join(" "))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("xtask: {reason}");
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the end of a chain of `map`")]
fn print_line(line: String) {
    println!("{line}");
}
