//! `covenant completions`: a script that completes commands in a shell.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::args::CommandLine;
use crate::exit::{Exit, Failure};
use crate::print;

const EXAMPLES: &str = "\
Examples:
  # bash
  mkdir -p ~/.local/share/bash-completion/completions
  covenant completions bash \\
      > ~/.local/share/bash-completion/completions/covenant
  # zsh, with ~/.zfunc in $fpath
  mkdir -p ~/.zfunc && covenant completions zsh > ~/.zfunc/_covenant
  # fish
  mkdir -p ~/.config/fish/completions
  covenant completions fish > ~/.config/fish/completions/covenant.fish";

/// Print a script that completes commands in your shell.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Completions {
    /// Which shell.
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut CommandLine::command(), "covenant", &mut script);
        print::raw(&script)?;
        Ok(Exit::Done)
    }
}
