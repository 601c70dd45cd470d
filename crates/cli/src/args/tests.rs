//! What can be typed, and what is refused with a reason.

mod shell;

use clap::CommandFactory as _;

use super::*;

fn parse(line: &[&str]) -> Result<CommandLine, clap::Error> {
    CommandLine::try_parse_from(line)
}

#[test]
fn the_command_line_is_consistent() {
    CommandLine::command().debug_assert();
}

/// Every command, groups and the whole included, with what stands below its help.
fn helps() -> Vec<(String, String)> {
    fn visit(command: &clap::Command, path: &str, found: &mut Vec<(String, String)>) {
        let path = format!("{path} {}", command.get_name());
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        found.push((path.clone(), help));
        for one in command.get_subcommands() {
            visit(one, &path, found);
        }
    }
    let mut found = Vec::new();
    visit(&CommandLine::command(), "", &mut found);
    found
}

#[test]
fn every_command_has_examples_that_fit_eighty_columns() {
    for (path, help) in helps() {
        assert!(help.starts_with("Examples:\n  ") && help.contains("covenant"), "{path} has no examples");
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{path}: {line}");
        }
    }
}

#[test]
fn every_example_can_be_pasted() {
    let mut parsed = 0;
    for (path, help) in helps() {
        let block = help.strip_prefix("Examples:\n").unwrap().split("\n\n").next().unwrap();
        for words in shell::commands(block) {
            let Some(place) = words.iter().position(|word| word == "covenant") else { continue };
            let settings = &words[..place];
            assert!(settings.iter().all(|word| word.contains('=')), "{path}: {words:?}");
            if let Err(error) = CommandLine::try_parse_from(&words[place..]) {
                panic!("{path}: {words:?}: {error}");
            }
            parsed += 1;
        }
    }
    assert!(parsed > 50, "{parsed}");
}

#[test]
fn the_shell_of_these_tests_is_one() {
    let text = "A=1 x 'a b' \\\n  c > f # no\ny <in|\"$(z \"1\")\" && w\nT=$(v)";
    let expected: [&[&str]; 6] = [&["A=1", "x", "a b", "c"], &["y"], &["z", "1"], &["w"], &["T="], &["v"]];
    let mut found = shell::commands(text);
    found.sort();
    let mut expected =
        expected.map(|words| words.iter().map(ToString::to_string).collect::<Vec<_>>()).to_vec();
    expected.push(vec![String::new()]);
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
#[should_panic(expected = "unquoted")]
fn a_bare_glob_is_no_example() {
    shell::commands("covenant clients add x --grant tool.call.*");
}

#[test]
fn what_comes_later_is_told_from_mistakes() {
    for (line, what) in [
        (&["covenant", "local"][..], "`covenant local` is"),
        (&["covenant", "mcp", "login", "x"], "`covenant mcp login` is"),
        (&["covenant", "mcp", "import"], "`covenant mcp import` is"),
        (&["covenant", "team", "usage"], "`covenant team usage` is"),
        (&["covenant", "clients", "add", "x", "--tool-mode=search"], "`--tool-mode` is"),
    ] {
        let failure = unknown(&parse(line).unwrap_err()).unwrap_or_else(|| panic!("{line:?}"));
        assert_eq!(failure.exit(), crate::exit::Exit::Usage);
        assert!(
            failure.message().contains(what) && failure.message().contains("not part of this version yet")
        );
    }
    for line in [
        &["covenant", "dashbaord"][..],
        &["covenant", "tools", "list", "--every"],
        &["covenant", "up", "x"],
        &["covenant", "login"],
        &["covenant", "mcp", "dashboard"],
        &["covenant", "mcp", "test", "x", "--url", "http://x"],
        &["covenant", "status", "--url", "http://x"],
    ] {
        assert!(unknown(&parse(line).unwrap_err()).is_none(), "{line:?}");
    }
    let help = CommandLine::command().render_long_help().to_string();
    assert!(!help.contains("\n  local "), "{help}");
}

#[test]
fn a_bare_tool_is_taken_for_what_was_meant() {
    for line in [
        &["covenant", "capabilities", "explain", "user@local", "echo"][..],
        &["covenant", "capabilities", "grant", "echo"],
        &["covenant", "clients", "add", "x", "--grant", "echo"],
    ] {
        let error = parse(line).unwrap_err().to_string();
        assert!(error.contains("did you mean `tool.call.echo`?"), "{error}");
    }
    assert!(!action("a b").unwrap_err().contains("did you mean"));
    assert!(!action("tool..echo").unwrap_err().contains("did you mean"));
}

#[test]
fn names_and_counts_are_refused_in_words() {
    for (line, words) in [
        (&["covenant", "tools", "show", ""][..], "covenant tools list"),
        (&["covenant", "clients", "add", "a b"], "letters, digits"),
        (&["covenant", "clients", "revoke", ""], "letters, digits"),
        (&["covenant", "mcp", "test", " "], "covenant mcp list"),
        (&["covenant", "mcp", "add", "x", "--transport", "grpc", "y"], "stdio, http, sse"),
        (&["covenant", "mcp", "logs", "x", "-n", "ten"], "`ten` is not a count"),
        (&["covenant", "audit", "recent", "-n", "ten"], "`ten` is not a count"),
        (&["covenant", "logs", "-n", "99999999999"], "is not a count"),
    ] {
        let error = parse(line).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn the_commands_of_the_founding_document_are_understood() {
    for line in [
        &["covenant", "tools", "list", "--json"][..],
        &["covenant", "capabilities", "grant", "tool.call.echo"],
        &["covenant", "tools", "call", "echo", "--args", r#"{"text":"hi"}"#],
        &["covenant", "--mcp"],
        &["covenant", "mcp", "list"],
        &["covenant", "mcp", "add", "files", "npx", "-y", "--json", "--help"],
        &["covenant", "mcp", "remove", "files"],
        &["covenant", "mcp", "test", "files"],
    ] {
        parse(line).unwrap_or_else(|error| panic!("{line:?}: {error}"));
    }
}

#[test]
fn global_options_stand_anywhere() {
    let line = parse(&["covenant", "tools", "list", "--home", "/h", "--no-start", "--json"]).unwrap();
    assert!(line.global.json && line.global.no_start);
    assert_eq!(line.global.home, Some("/h".into()));
    assert!(parse(&["covenant", "--json", "tools", "list"]).unwrap().global.json);
}

#[test]
fn a_grant_to_nobody_or_of_nothing_is_refused() {
    for line in [
        &["covenant", "capabilities", "grant", "echo"][..],
        &["covenant", "capabilities", "grant", "tool.*.echo"],
        &["covenant", "capabilities", "grant", "tool.call.echo", "--to", "claude"],
        &["covenant", "capabilities", "grant", "tool.call.echo", "--expires", "soon"],
        &["covenant", "capabilities", "grant", "tool.call.echo", "--approval", "maybe"],
        &["covenant", "clients", "add", "x", "--preset", "everything"],
    ] {
        let error = parse(line).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{line:?}");
    }
}

#[test]
fn a_wrong_limit_is_named_and_a_right_one_is_shown() {
    for (text, part) in [
        (r#"{"max_call": 1}"#, "no limit called `max_call`: there are `arguments`, `max_calls`"),
        (r#"{"max_calls": "3"}"#, "`max_calls` is a whole number"),
        (r#"{"max_calls": -1}"#, "`max_calls` is a whole number"),
        (r#"{"rate": "fast"}"#, "`rate` is a number"),
        (r#"{"arguments": []}"#, "`arguments` is an object"),
        (r#"{"arguments": {"path": "x"}}"#, "the rule for `path` is an object"),
        (r#"{"arguments": {"path": {"regex": "x"}}}"#, "no rule called `regex`"),
        (r#"{"arguments": {"path": {"glob": 1}}}"#, "`glob` for `path` takes a text"),
        (r#"{"arguments": {"n": {"range": 1}}}"#, "`range` for `n` takes {\"min\""),
        ("", "--where '{"),
        ("{", "--where '{"),
        ("[]", "--where '{"),
        (r#"{"max_calls": 1, "max_calls": 2}"#, "--where '{"),
    ] {
        let error = constraints(text).unwrap_err();
        assert!(error.contains(part) && error.contains("--where '{"), "{text}: {error}");
        assert!(!error.contains("u64") && !error.contains("invalid type"), "{text}: {error}");
    }
    for text in [r#"{"max_calls": 0}"#, r#"{"rate": -1}"#] {
        assert!(constraints(text).is_err(), "{text}");
    }
}

#[test]
fn limits_as_documented_are_read() {
    let limits =
        constraints(r#"{"arguments": {"a.b": {"equals": 1}, "p": {"path": "notes/**"}}, "max_calls": 3}"#);
    assert_eq!(limits.unwrap().max_calls, Some(3));
}

#[test]
fn arguments_are_one_object_without_surprises() {
    assert_eq!(object(r#"{"a": 1}"#).unwrap().len(), 1);
    for text in ["", "hi", "[]", "null", r#"{"a": 1, "a": 2}"#, &"[".repeat(10_000)] {
        assert!(object(text).is_err(), "{text}");
    }
}

#[test]
fn moments_are_spans_or_dates() {
    let now = Timestamp::from_millis(10_000_000);
    assert_eq!(moment("1h").unwrap().ahead_of(now).millis(), 13_600_000);
    assert_eq!(moment("1h").unwrap().before(now).millis(), 6_400_000);
    assert_eq!(moment("1970-01-02").unwrap().before(now).millis(), 86_400_000);
    assert!(moment("yesterday").is_err());
}
