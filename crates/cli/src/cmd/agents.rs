//! `covenant agents`: which there are and what they used, whether a file could be a manifest, and a new one to begin with.

mod check;
mod new;
mod roster;
mod template;

use clap::Subcommand;

use crate::exit::{Exit, Failure};
use crate::setting::Setting;

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  covenant agents list
  covenant agents new helper              # a manifest, and a program that works
  covenant agents check agent.toml        # before it is put into place";

/// Make agents and look at them.
#[derive(Debug, Subcommand)]
pub(crate) enum Agents {
    List(roster::List),
    Show(roster::Show),
    Check(check::Check),
    New(new::New),
    Reload(roster::Reload),
    Usage(roster::Usage),
}

impl Agents {
    pub(crate) fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        match self {
            Self::List(_) => roster::List::run(setting),
            Self::Show(show) => show.run(setting),
            Self::Check(check) => check.run(setting),
            Self::New(new) => new.run(setting),
            Self::Reload(_) => roster::Reload::run(setting),
            Self::Usage(usage) => usage.run(setting),
        }
    }
}
