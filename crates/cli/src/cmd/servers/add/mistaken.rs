//! Lines that make sense elsewhere and not here: what other programs call an option, a URL where the command stands, a
//! command and its arguments in one word. Each is told with the line that was meant.

use std::path::Path;

use super::Add;
use crate::cmd::servers::word;
use crate::exit::Failure;

/// What is wrong with a line, where something is.
pub(super) fn check(add: &Add, here: Option<&Path>) -> Result<(), Failure> {
    match elsewhere(add).or_else(|| command(add, here)) {
        Some(failure) => Err(failure),
        None => Ok(()),
    }
}

/// Options as other programs have them.
fn elsewhere(add: &Add) -> Option<Failure> {
    let (typed, ours, shape) = match (&add.short_env, &add.short_header) {
        (Some(_), _) => ("-e", "--env", "KEY=VALUE"),
        (None, Some(_)) => ("-H", "--header", "'KEY: VALUE'"),
        (None, None) => return None,
    };
    Some(Failure::usage(
        format!("`{typed}` is not an option of `mcp add`"),
        format!("write it out, before COMMAND: {ours} {shape}"),
    ))
}

/// A command that cannot be one.
fn command(add: &Add, here: Option<&Path>) -> Option<Failure> {
    let name = word(&add.name);
    let Some(typed) = add.program.first() else {
        return add.url.is_none().then(|| {
            Failure::usage(
                "a server needs the command that starts it, or the URL where it is",
                "write covenant mcp add NAME COMMAND [ARGS...], or covenant mcp add NAME --url URL",
            )
        });
    };
    if typed.starts_with('-') {
        // Most likely an option that was misspelt.
        return Some(Failure::usage(
            format!("`{}` is not an option of `mcp add`", typed.split('=').next().unwrap_or(typed)),
            "see what there is: covenant mcp add --help; a program whose name begins with `-` is given by path",
        ));
    }
    if is_url(typed) {
        let headers = if add.header.is_empty() { "" } else { " --header …" };
        return Some(Failure::usage(
            format!("`{}` is a URL, and stands where the command does", shown(typed)),
            format!("put --url before it: covenant mcp add {name} --url {}{headers}", word(shown(typed))),
        ));
    }
    if !add.header.is_empty() {
        return Some(Failure::usage(
            format!("`--header` is for a server behind a URL, and `{typed}` is a command"),
            "a program takes its credentials from variables: --env 'KEY=${secret:NAME}'",
        ));
    }
    (add.program.len() == 1 && in_one_word(typed, here)).then(|| {
        Failure::usage(
            format!("there is no program `{typed}`"),
            format!("write its arguments as words of their own, without the quotes: covenant mcp add {name} {typed}"),
        )
    })
}

/// Whether it begins as a URL does.
fn is_url(typed: &str) -> bool {
    typed.split_once("://").is_some_and(|(scheme, _)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}

/// A URL without what may be a credential in it.
pub(in crate::cmd::servers) fn shown(url: &str) -> &str {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let plain = url.get(..end).unwrap_or(url);
    if plain.contains('@') { "URL" } else { plain }
}

/// Whether that is a command and its arguments rather than a program with a space in its name. What the daemon expands
/// is not known here.
fn in_one_word(typed: &str, here: Option<&Path>) -> bool {
    let Some((first, _)) = typed.split_once(char::is_whitespace) else { return false };
    if first.is_empty() || typed.starts_with(['~', '$']) || there(typed, here) {
        return false;
    }
    !first.contains('/') || there(first, here)
}

/// Whether there is such a program, as it is typed here.
fn there(program: &str, here: Option<&Path>) -> bool {
    if program.contains('/') {
        return here.map_or_else(|| program.into(), |here| here.join(program)).is_file();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

#[cfg(test)]
mod tests {
    use super::super::tests::add;
    use super::*;
    use crate::exit::Exit;

    fn told(words: &[&str]) -> Failure {
        check(&add(words), None).unwrap_err()
    }

    #[test]
    fn a_server_without_command_and_url_and_a_misspelt_option_are_told() {
        let nothing = told(&["x"]);
        assert_eq!(nothing.exit(), Exit::Usage);
        assert!(nothing.help().contains("--url URL"), "{nothing:?}");
        assert_eq!(told(&["x", "--evn=A=b", "npx"]).message(), "`--evn` is not an option of `mcp add`");
        let header = told(&["x", "--header", "A=b", "npx"]);
        assert!(header.message().contains("`npx` is a command"), "{header:?}");
    }

    #[test]
    fn a_url_where_the_command_stands_is_told_with_the_line_that_was_meant() {
        let meant = "covenant mcp add wiki --url https://a.example/mcp";
        for words in [
            &["wiki", "https://a.example/mcp"][..],
            &["--transport", "http", "wiki", "https://a.example/mcp"],
            &["--transport", "http", "wiki", "https://a.example/mcp", "--header", "Authorization: Bearer x"],
            &["--transport", "http", "--header", "Authorization: Bearer x", "wiki", "https://a.example/mcp"],
        ] {
            let failure = told(words);
            assert_eq!(failure.exit(), Exit::Usage);
            assert!(failure.help().contains(meant), "{words:?}: {failure:?}");
        }
        for words in [&["x", "server", "https://a.example"][..], &["x", "--url", "https://a.example"]] {
            assert_eq!(check(&add(words), None), Ok(()), "{words:?}");
        }
    }

    #[test]
    fn a_url_is_shown_without_what_may_be_a_credential() {
        let failure = told(&["wiki", "https://me:hunter2@a.example/mcp"]);
        assert!(!failure.sentence().contains("hunter2"), "{failure:?}");
        assert!(!told(&["wiki", "https://a.example/mcp?key=hunter2"]).sentence().contains("hunter2"));
    }

    #[test]
    fn the_short_options_of_other_programs_are_told_with_ours() {
        for words in [&["-e", "A=b", "x", "npx"][..], &["x", "-e", "A=b", "--", "npx"]] {
            let failure = told(words);
            assert!(
                failure.message().contains("`-e`") && failure.help().contains("--env KEY"),
                "{failure:?}"
            );
        }
        assert!(told(&["x", "-H", "A: b", "https://a.example"]).help().contains("--header 'KEY"));
        assert_eq!(
            check(&add(&["x", "node", "-e", "1"]), None),
            Ok(()),
            "behind the command it is the server's"
        );
    }

    #[test]
    fn a_command_and_its_arguments_in_one_word_are_told_unless_there_is_such_a_program() {
        let failure = told(&["fs", "npx -y server-files"]);
        assert_eq!(failure.exit(), Exit::Usage);
        assert!(failure.help().ends_with("covenant mcp add fs npx -y server-files"), "{failure:?}");
        let here = tempfile::tempdir().unwrap();
        std::fs::write(here.path().join("my server"), "").unwrap();
        std::fs::write(here.path().join("server"), "").unwrap();
        let sound = |typed: &str| check(&add(&["x", typed]), Some(here.path())).is_ok();
        assert!(sound("./my server") && sound("~/my server") && sound("/opt/not yet/server"));
        assert!(!sound("./server --all") && !sound("python3 ./server.py"));
    }
}
