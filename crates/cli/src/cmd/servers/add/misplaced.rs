//! Options of ours that stand behind the command: there they are the server's, which most likely was not meant.

use clap::CommandFactory as _;

use crate::args::CommandLine;

/// A sentence for each option of ours among the arguments of the server.
pub(super) fn remarks(arguments: &[String]) -> Vec<String> {
    let ours = ours();
    let mut found: Vec<&str> = Vec::new();
    for word in arguments {
        let name = word.split('=').next().unwrap_or(word);
        if ours.iter().any(|option| option == name) && !found.contains(&name) {
            found.push(name);
        }
    }
    let told = |name: &&str| format!("`{name}` was passed to the server; write it before NAME for covenant");
    found.iter().map(told).collect()
}

/// The options of `mcp add` and of every command, as they are typed.
fn ours() -> Vec<String> {
    let line = CommandLine::command();
    let add = line.find_subcommand("mcp").and_then(|group| group.find_subcommand("add"));
    let own = add.into_iter().flat_map(clap::Command::get_arguments).filter(|option| !option.is_hide_set());
    let everywhere = line.get_arguments().filter(|option| option.is_global_set());
    own.chain(everywhere).filter_map(|option| Some(format!("--{}", option.get_long()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(words: &[&str]) -> Vec<String> {
        remarks(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn every_option_of_ours_is_told_once() {
        for option in [
            "--json",
            "--home",
            "--no-start",
            "--prefix",
            "--env",
            "--url",
            "--header",
            "--transport",
            "--era",
            "--isolation",
            "--cwd",
            "--lazy",
            "--no-connect",
            "--until-restart",
        ] {
            let sentence = format!("`{option}` was passed to the server; write it before NAME for covenant");
            assert_eq!(told(&["-y", option, "x", option]), [sentence], "{option}");
        }
        assert_eq!(told(&["--home=/srv", "--json"]).len(), 2);
    }

    #[test]
    fn what_is_the_servers_own_is_not() {
        assert!(told(&["-y", "-e", "--verbose", "json", "--jsonl", "--", "-"]).is_empty());
    }
}
