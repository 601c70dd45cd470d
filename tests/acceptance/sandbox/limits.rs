//! Limits: what they are when nothing is said, and what a program is told that goes beyond them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::left::alive;
use super::neighbours::Neighbours;
use super::stage::{Run, Stage, answer};
use super::{Language, as_everyone};

/// The number at the end of `ENOSPC after 97`.
fn reached(detail: &str) -> u32 {
    detail
        .rsplit(' ')
        .next()
        .and_then(|number| number.parse().ok())
        .unwrap_or_else(|| panic!("how far? {detail}"))
}

/// Insists that it was stopped by that error, and tells how far it came.
#[track_caller]
fn stopped(run: &Run, word: &str, error: &str) -> u32 {
    let answer = run.answer(word).unwrap_or_else(|| panic!("no answer to {word}: {:?}", run.ran));
    assert!(!answer.escaped && answer.detail.starts_with(error), "{word}: {answer:?}");
    reached(&answer.detail)
}

/// Insists that it went through.
#[track_caller]
fn through(run: &Run, word: &str) {
    let answer = run.answer(word).unwrap_or_else(|| panic!("no answer to {word}: {:?}", run.ran));
    assert!(answer.escaped, "{word}: {answer:?}");
}

/// A budget of time is wall-clock time, and a program that overruns it is killed, whatever it ignores or closes; the run
/// says so.
#[test]
fn a_program_that_overruns_its_time_is_killed_and_the_run_says_so() {
    as_everyone(|who| {
        let stage = Stage::new(who);
        for language in Language::ALL {
            for name in ["ignore-signals", "close-output"] {
                let mark = format!("overrun-{}-{name}", stage.canary);
                let begun = Instant::now();
                let run = stage.attack(&["--timeout", "1s"], language, &[format!("{name}={mark}")]);
                let took = begun.elapsed();
                assert_eq!(run.ran.code(), 1, "{who:?} {language:?} {name}: {:?}", run.ran);
                assert_eq!(
                    run.document["ended_by"], "deadline",
                    "{who:?} {language:?} {name}: {:?}",
                    run.ran
                );
                assert!(run.ran.stderr.contains("still running after 1 s"), "{}", run.ran.stderr);
                assert!(took >= Duration::from_secs(1), "ended early: {took:?}");
                // It hardly used the processor: what ran out is the time on the wall.
                let used = &run.document["usage"];
                assert!(used["user_ms"].as_u64().unwrap() < 1000, "{used}");
                assert_eq!(alive(&mark), Vec::<u32>::new());
            }
        }
    });
}

/// Memory is 512 MiB unless something else is said, for the whole tree, and enforced: going beyond ends the run, which
/// says so. COV-AGENT-20, COV-AGENT-57.
#[test]
fn a_program_gets_half_a_gigabyte_of_memory_and_no_more() {
    as_everyone(|who| {
        let stage = Stage::new(who);
        for language in Language::ALL {
            let run = stage.attack(&["--network", "off"], language, &["memory=360".to_owned()]);
            through(&run, "memory=360");
            let run = stage.attack(&["--network", "off"], language, &["memory=900".to_owned()]);
            over_memory(&run, "memory=900");
            assert!(run.ran.stderr.contains("used more memory than it may (512 MiB)"), "{}", run.ran.stderr);
        }
    });
}

/// It ended for its memory.
#[track_caller]
fn over_memory(run: &Run, word: &str) {
    assert!(run.answer(word).is_none_or(|answer| !answer.escaped), "{word}: {}", run.output());
    assert_eq!(run.document["over"], "memory", "{word}: {:?}", run.ran);
    assert_eq!(run.document["ended_by"], "limit", "{word}: {:?}", run.ran);
    assert_eq!(run.ran.code(), 1);
}

/// However memory is taken: by children, shared, or where no process has it. What the host cannot count is in the report.
#[test]
fn memory_is_counted_wherever_it_is_hidden() {
    as_everyone(|who| {
        let stage = Stage::new(who);
        let mut kinds =
            vec!["memory-children", "memory-shared", "memory-hidden", "memory-file", "memory-sysv"];
        kinds.push("memory-sockets");
        for name in kinds {
            let options = ["--memory-mb", "96", "--disk-mb", "16", "--timeout", "30s"];
            let word = format!("{name}=400");
            let run = stage.attack(&options, Language::Rust, std::slice::from_ref(&word));
            if run.document["over"] == "memory" {
                continue;
            }
            let answer = run.answer(&word).unwrap_or_else(|| panic!("{who:?} {word}: {:?}", run.ran));
            let gap = run.kept("memory") != "yes";
            assert!(!answer.escaped || gap, "{who:?} {word}: {answer:?}, and no word of it in the report");
        }
        let run = stage.attack(&["--memory-mb", "96"], Language::Python, &["memory-children=400".to_owned()]);
        over_memory(&run, "memory-children=400");
    });
}

/// Disk is 100 MiB unless something else is said, enforced, and a program hears it as a full disk. COV-AGENT-21.
#[test]
fn a_program_gets_a_hundred_megabytes_of_disk_and_no_more() {
    as_everyone(|who| {
        let stage = Stage::new(who);
        for language in Language::ALL {
            let words = ["disk-file=90", "disk-file=160"].map(str::to_owned);
            let run = stage.attack(&[], language, &words);
            through(&run, "disk-file=90");
            let reached = stopped(&run, "disk-file=160", "ENOSPC");
            assert!((90..=100).contains(&reached), "{who:?} {language:?}: {reached}");
        }
        let small = [
            "disk-files=40",
            "disk-deleted=40",
            "disk-file=/tmp:40",
            "disk-file=/dev/shm:40",
            "disk-names=200000",
        ];
        let run = stage.attack(&["--disk-mb", "16"], Language::Rust, &small.map(str::to_owned));
        for word in &small[..4] {
            assert!(stopped(&run, word, "ENOSPC") <= 16, "{who:?} {word}: {}", run.output());
        }
        stopped(&run, small[4], "ENOSPC");
    });
}

/// The network is `outbound-https-only` unless something else is said; `off` and `full` are what they are called.
/// COV-AGENT-22.
#[test]
fn the_network_goes_by_the_proxy_unless_something_else_is_said() {
    as_everyone(|who| {
        let stage = Stage::new(who);
        let beside = Neighbours::of(&stage);
        let (proxy, direct) = ("environment=@127.0.0.1:".to_owned(), format!("tcp={}", beside.tcp));
        for (options, expected) in [
            (&[][..], [true, false]),
            (&["--network", "outbound-https-only"], [true, false]),
            (&["--network", "off"], [false, false]),
            (&["--network", "full"], [false, true]),
        ] {
            let words = [proxy.clone(), direct.clone()];
            let run = stage.attack(options, Language::Rust, &words);
            let answers = words.each_ref().map(|word| run.answer(word).unwrap().escaped);
            assert_eq!(answers, expected, "{who:?} {options:?}: {}", run.output());
        }
        covenant_testkit::wait::until("the one that may has come", || (beside.visits() == 1).then_some(()));
    });
}

#[test]
fn a_fork_bomb_ends_at_its_limit_and_the_host_stays_usable() {
    as_everyone(|who| {
        let stage = Stage::new(who);
        let unleashed = stage.unleash(Language::Rust, &["fork-bomb=50", "thread-bomb=50"].map(str::to_owned));
        assert!(answer(&unleashed.stdout, "fork-bomb=50").unwrap().escaped, "{unleashed:?}");
        let words = ["fork-bomb=400", "thread-bomb=400"].map(str::to_owned);
        let run = stage.attack(&[], Language::Rust, &words);
        for word in &words {
            let reached = stopped(&run, word, "EAGAIN");
            assert!((200..=256).contains(&reached), "{who:?} {word}: {reached}");
        }
        for (language, limit, least) in
            [(Language::Rust, 32, 20), (Language::Python, 32, 20), (Language::Node, 48, 5)]
        {
            let words = ["fork-bomb=64", "thread-bomb=64"].map(str::to_owned);
            let run = stage.attack(&["--pids", &limit.to_string()], language, &words);
            for word in &words {
                let reached = stopped(&run, word, "EAGAIN");
                assert!(
                    (least..=limit).contains(&reached),
                    "{who:?} {language:?} {word}: {reached} of {limit}"
                );
            }
        }
    });
}

#[test]
fn a_storm_of_forks_never_gets_beyond_its_limit() {
    as_everyone(|who| {
        let stage = Stage::new(who);
        // Whatever it is called shows on the command line of each of them.
        let words = ["fork-storm=9".to_owned(), format!("environment={}-storm", stage.canary)];
        let line = stage.line(&["--pids", "40", "--timeout", "20s"], &stage.hostile(Language::Rust, &words));
        let mut child = stage.covenant(&line).spawn();
        let (mut most, mark) = (0, format!("{}-storm", stage.canary));
        while child.try_wait().unwrap().is_none() {
            most = most.max(alive(&mark).len());
            let usable = std::process::Command::new("true").status().unwrap();
            assert!(usable.success());
        }
        // The command that started it has the words on its own line as well.
        assert!((20..=41).contains(&most), "{who:?}: {most} processes");
        assert_eq!(alive(&mark), Vec::<u32>::new());
    });
}

/// Where there are no namespaces, somebody watches instead, and ends what goes too far.
#[test]
fn limits_hold_where_there_are_no_namespaces() {
    as_everyone(|who| {
        let stage = Stage::new(who);
        for (word, options, over) in [
            ("memory=600", ["--memory-mb", "96"], "memory"),
            ("memory-children=600", ["--memory-mb", "96"], "memory"),
            ("disk-deleted=60", ["--disk-mb", "16"], "scratch"),
            ("disk-files=60", ["--disk-mb", "16"], "scratch"),
            ("fork-storm=8", ["--pids", "32"], "processes"),
        ] {
            let program = stage.hostile(Language::Rust, &[word.to_owned(), "wait".to_owned()]);
            let line = stage.line(&[&options[..], &["--timeout", "20s"]].concat(), &program);
            let run = Run::of(stage.covenant_without("namespaces", &line).run());
            assert_eq!(run.document["over"], over, "{who:?} {word}: {:?}", run.ran);
            assert_eq!(run.document["ended_by"], "limit", "{who:?} {word}: {:?}", run.ran);
        }
    });
}

#[test]
fn talk_without_end_is_cut_and_costs_nobody_memory() {
    as_everyone(|who| {
        let stage = Stage::new(who);
        for (language, stream) in [
            (Language::Rust, "stdout"),
            (Language::Rust, "stderr"),
            (Language::Python, "stdout"),
            (Language::Node, "stdout"),
        ] {
            let program = stage.hostile(language, &[format!("endless={stream}")]);
            let line = stage.line(&["--timeout", "2s"], &program);
            let mut child = stage.covenant(&line).spawn();
            let (pid, mut largest) = (child.id(), 0);
            let output = std::io::BufReader::new(child.stdout.take().unwrap());
            let output = std::thread::spawn(move || serde_json::from_reader::<_, Value>(output).unwrap());
            while child.try_wait().unwrap().is_none() {
                largest = largest.max(peak_kb(pid));
                std::thread::sleep(Duration::from_millis(20));
            }
            let document = output.join().unwrap();
            assert_eq!(document["ended_by"], "deadline", "{who:?} {language:?} {stream}");
            assert_eq!(document["stdout_cut"], json!(stream == "stdout"));
            let kept =
                document["stdout"].as_str().unwrap().len() + document["stderr"].as_str().unwrap().len();
            assert!((1000..64 * 1024 * 1024).contains(&kept), "{kept} bytes of {stream} were kept");
            assert!(largest < 200 * 1024, "{who:?} {language:?} {stream}: {largest} kB");
        }
    });
}

/// The most memory a process has had; nothing where it has ended.
fn peak_kb(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
}
