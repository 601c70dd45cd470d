//! Ordinary programs that run in the sandbox with the default limits and notice nothing.

use std::process::Command;

use serde_json::Value;

use super::stage::{Run, Stage};
use super::{Language, Who, as_everyone};
use crate::installed::root;

/// An ordinary program on the stage: how it is started.
fn plain(stage: &Stage, language: Language) -> Vec<String> {
    let source = |name: &str| root().join("tests/sandbox").join(name);
    match language {
        Language::Python | Language::Node => {
            let (interpreter, name) =
                if language == Language::Node { ("node", "plain.mjs") } else { ("python3", "plain.py") };
            std::fs::copy(source(name), stage.path("package").join(name)).unwrap();
            vec![interpreter.to_owned(), stage.at(&format!("package/{name}"))]
        }
        Language::Rust => {
            let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
            let linked = ["--edition", "2024", "-C", "target-feature=+crt-static", "-o"];
            let built = Command::new(compiler)
                .args(linked)
                .arg(stage.path("package/plain"))
                .arg(source("plain.rs"))
                .output()
                .unwrap();
            assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
            vec![stage.at("package/plain")]
        }
    }
}

/// Runs it with `hello` on its input; it is told to end with that code.
fn run(stage: &Stage, program: &[String], code: i32) -> Run {
    let program = [program, &[code.to_string()]].concat();
    let line = stage.line(&["--env", "MODE=test", "--timeout", "50s"], &program);
    Run::of(stage.covenant(&line).input("hello").run())
}

#[test]
fn ordinary_programs_run_unharmed_with_the_default_limits() {
    as_everyone(|who| {
        let stage = Stage::new(who);
        for language in Language::ALL {
            let program = plain(&stage, language);
            let run = run(&stage, &program, 0);
            assert_eq!(run.document["status"]["exited"], 0, "{who:?} {language:?}: {:?}", run.ran);
            assert_eq!(run.ran.code(), 0, "{:?}", run.ran);
            let answers: Value = serde_json::from_str(run.output()).unwrap();
            let answers = answers.as_object().unwrap();
            assert!(answers.len() >= 8, "{answers:?}");
            let failed: Vec<_> = answers.iter().filter(|(_, answer)| *answer != "ok").collect();
            assert!(failed.is_empty(), "{who:?} {language:?}: {failed:?}");
            assert_eq!(run.document["stderr"].as_str().unwrap().trim(), "on stderr");
            assert_eq!(run.document["over"], Value::Null);
        }
    });
}

#[test]
fn an_exit_code_comes_out_as_it_is() {
    let stage = Stage::new(Who::ordinary());
    for language in Language::ALL {
        let run = stage.attack(&[], language, &["exit=42".to_owned()]);
        assert_eq!(run.document["status"]["exited"], 42, "{language:?}: {:?}", run.ran);
        assert_eq!(run.ran.code(), 1, "a program that failed is a failure");
        assert!(run.ran.stderr.contains("exit code 42"), "{}", run.ran.stderr);
    }
}

/// What is named is there, at its own path: to be read, and to be written.
#[test]
fn what_is_named_can_be_used() {
    as_everyone(|who| {
        let stage = Stage::new(who);
        let (named, lent) = (stage.at("named"), stage.at("lent"));
        let words = [
            format!("read-file={named}/file.txt"),
            format!("overwrite={named}/file.txt"),
            format!("write-file={lent}/new"),
            format!("rename-out={lent}"),
        ];
        for language in Language::ALL {
            let run = stage.attack(&["--read", &named, "--write", &lent], language, &words);
            let answers = words.each_ref().map(|word| run.answer(word).unwrap().escaped);
            // A rename from another file system is never one.
            assert_eq!(answers, [true, false, true, false], "{who:?} {language:?}: {}", run.output());
        }
        let run = stage.run(
            &["--write", &lent],
            &["/bin/sh", "-c", &format!("echo kept > {lent}/kept")].map(str::to_owned),
        );
        assert_eq!(run.document["status"]["exited"], 0, "{who:?}: {:?}", run.ran);
        assert_eq!(std::fs::read_to_string(stage.path("lent/kept")).unwrap(), "kept\n", "{who:?}");
    });
}

/// To name a directory is to name its sockets: no kernel can keep one from the other.
#[test]
fn a_socket_in_a_directory_that_was_named_is_within_reach() {
    as_everyone(|who| {
        let stage = Stage::new(who);
        let beside = super::neighbours::Neighbours::of(&stage);
        let word = format!("unix-path={}", stage.at("named/sock"));
        let run = stage.attack(&["--read", &stage.at("named")], Language::Rust, std::slice::from_ref(&word));
        assert!(run.answer(&word).unwrap().escaped, "{who:?}: {}", run.output());
        covenant_testkit::wait::until("the listener saw it", || (beside.visits() == 1).then_some(()));
    });
}
