//! `covenant sandbox`: run a program in the sandbox agents get, and see what this host can enforce. Neither needs a daemon,
//! and neither starts one.

mod check;
mod ground;
mod hint;
mod order;
mod play;
mod program;
mod promises;
mod refusals;
mod run;
mod told;

pub(crate) use check::probe;

use clap::Subcommand;

use crate::exit::{Exit, Failure};
use crate::setting::Setting;

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  covenant sandbox check           # what this host can enforce
  covenant sandbox run -- python3 -c 'print(2 + 2)'
  covenant sandbox run --report --network off -- curl https://example.com";

/// Try the sandbox that agents run in.
#[derive(Debug, Subcommand)]
pub(crate) enum Sandbox {
    Run(run::Run),
    Check(check::Check),
}

impl Sandbox {
    pub(crate) fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        match self {
            Self::Run(run) => run.run(setting),
            Self::Check(check) => check.run(setting),
        }
    }
}
