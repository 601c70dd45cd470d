//! What is left of a run when it is over, however it ended: nothing.

use std::collections::BTreeSet;
use std::path::Path;

use covenant_testkit::wait::until;

use super::stage::{Run, Stage, answer};
use super::{Language, as_everyone};

/// Processes whose command line shows that mark.
pub(crate) fn alive(mark: &str) -> Vec<u32> {
    processes().filter(|pid| command_line(*pid).contains(mark)).collect()
}

fn processes() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn command_line(pid: u32) -> String {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

/// A process and when it began, so that a number used again is not mistaken for it.
type Life = (u32, String);

/// Everything that process started, and all they did.
fn descendants(pid: u32) -> Vec<Life> {
    let all: Vec<(Life, u32)> =
        processes().filter_map(|pid| Some(((pid, begun(pid)?), parent(pid)?))).collect();
    let mut found: Vec<Life> = Vec::new();
    let mut wanted = vec![pid];
    while let Some(above) = wanted.pop() {
        for ((pid, begun), _) in all.iter().filter(|(_, parent)| *parent == above) {
            found.push((*pid, begun.clone()));
            wanted.push(*pid);
        }
    }
    found
}

/// The fields of a process after its name, which may hold anything; none for one that has ended.
fn fields(pid: u32) -> Option<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<String> = stat.rsplit_once(')')?.1.split_whitespace().map(str::to_owned).collect();
    (fields[0] != "Z" && fields[0] != "X").then_some(fields)
}

fn parent(pid: u32) -> Option<u32> {
    fields(pid)?.get(1)?.parse().ok()
}

fn begun(pid: u32) -> Option<String> {
    fields(pid)?.get(19).cloned()
}

#[test]
fn a_daemon_that_was_left_behind_ends_with_the_run() {
    as_everyone(|who| {
        let stage = Stage::new(who);
        for language in Language::ALL {
            let mark = format!("daemon-{}-{language:?}", stage.canary);
            let run = stage.attack(&[], language, &[format!("leave-daemon={mark}")]);
            assert!(
                answer(run.output(), &format!("leave-daemon={mark}")).unwrap().escaped,
                "it was not left: {run:?}"
            );
            assert_eq!(alive(&mark), Vec::<u32>::new(), "{who:?} {language:?}");
            let mark = format!("fenced-{}-{language:?}", stage.canary);
            if language != Language::Rust {
                continue;
            }
            let line = stage.line(&[], &stage.hostile(language, &[format!("leave-daemon={mark}")]));
            let run = Run::of(stage.covenant_without("namespaces", &line).run());
            assert!(
                answer(run.output(), &format!("leave-daemon={mark}")).unwrap().escaped,
                "it was not left: {run:?}"
            );
            assert_eq!(alive(&mark), Vec::<u32>::new(), "{who:?}, without namespaces");
        }
    });
}

/// Starts a run that leaves a daemon behind and stays, and ends it with that signal; nothing of it must live on.
fn nothing_survives(stage: &Stage, host: Option<&str>, language: Language, signal: rustix::process::Signal) {
    use std::io::BufRead as _;
    let mark = format!("survivor-{}-{language:?}-{signal:?}", stage.canary);
    // Not as JSON, which is printed only at the end.
    let mut line = stage.line(&[], &stage.hostile(language, &[format!("leave-and-wait={mark}")]));
    line.retain(|word| word != "--json");
    let command = match host {
        Some(lacks) => stage.covenant_without(lacks, &line),
        None => stage.covenant(&line),
    };
    let mut child = command.spawn();
    let mut said = String::new();
    std::io::BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "ready\n", "{language:?}");
    let started = descendants(child.id());
    // A launcher, the program and its daemon at least.
    assert!(started.len() >= 3, "{started:?}");
    assert!(alive(&mark).len() >= 3, "{:?}", alive(&mark));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, signal).unwrap();
    child.wait().unwrap();
    let still = |(pid, since): &&Life| begun(*pid).is_some_and(|begun| begun == *since);
    until("everything that was started has ended", || {
        (started.iter().filter(still).count() == 0 && alive(&mark).is_empty()).then_some(())
    });
}

/// No process of a run outlives whoever started it, even if that is killed outright. COV-MCP-37.
#[test]
fn nothing_survives_whoever_started_it() {
    use rustix::process::Signal;
    as_everyone(|who| {
        let stage = Stage::new(who);
        for language in Language::ALL {
            nothing_survives(&stage, None, language, Signal::KILL);
        }
        nothing_survives(&stage, None, Language::Rust, Signal::TERM);
        nothing_survives(&stage, None, Language::Rust, Signal::INT);
        nothing_survives(&stage, Some("namespaces"), Language::Rust, Signal::KILL);
        nothing_survives(&stage, Some("namespaces"), Language::Rust, Signal::TERM);
    });
}

/// Every path below a directory.
fn paths(directory: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        found.insert(entry.path().display().to_string());
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(paths(&entry.path()));
        }
    }
    found
}

/// Lines that some file has about us.
fn lines_about(file: &str, words: &[String]) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().filter(|line| words.iter().any(|word| line.contains(word))).map(str::to_owned).collect()
}

/// A hundred runs, of all sorts, and everything is as it was before the first.
#[test]
fn a_hundred_runs_leave_nothing_behind() {
    as_everyone(|who| {
        let stage = Stage::new(who);
        let temporary = stage.at("place");
        let mark = format!("hundred-{}", stage.canary);
        let mut ids = Vec::new();
        let mut before = None;
        for number in 0..100 {
            let word = match number % 5 {
                0 => format!("leave-daemon={mark}"),
                1 => "disk-file=5".to_owned(),
                2 => "exit=3".to_owned(),
                3 => "fork-bomb=20".to_owned(),
                _ => format!("environment={mark}"),
            };
            let line = stage.line(&["--memory-mb", "64"], &stage.hostile(Language::Rust, &[word]));
            let command = if number % 10 == 4 {
                stage.covenant_without("namespaces", &line)
            } else {
                stage.covenant(&line)
            };
            let run = Run::of(command.env("TMPDIR", &temporary).run());
            ids.push(run.document["run"].as_str().unwrap_or_else(|| panic!("{:?}", run.ran)).to_owned());
            // What the first run makes in the home is there for all of them.
            before.get_or_insert_with(|| paths(&stage.path("")));
        }
        assert_eq!(alive(&mark), Vec::<u32>::new(), "{who:?}");
        assert_eq!(paths(&stage.path("")), before.unwrap(), "{who:?}");
        ids.push(mark);
        assert_eq!(lines_about("/proc/self/mountinfo", &ids), Vec::<String>::new(), "{who:?}");
        let groups = paths(Path::new("/sys/fs/cgroup"));
        let left: Vec<_> = groups.iter().filter(|path| ids.iter().any(|id| path.contains(id))).collect();
        assert_eq!(left, Vec::<&String>::new(), "{who:?}");
    });
}
