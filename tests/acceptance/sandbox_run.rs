//! `covenant sandbox`: what a person sees who tries a program in it. What it holds back is tried elsewhere.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use covenant_testkit::Home;
use covenant_testkit::wait::until;
use rustix::process::{Pid, Signal, getuid, kill_process};
use serde_json::json;

use crate::home;

/// `sandbox run` with these words behind it.
fn sandboxed<'w>(words: &[&'w str]) -> Vec<&'w str> {
    [&["sandbox", "run"], words].concat()
}

/// Says so, loudly; where nothing may be skipped, it is a failure.
fn skip(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "nothing is skipped in CI: {why}");
    eprintln!("skipped: {why}");
}

#[test]
fn bytes_pass_through_a_program_in_the_sandbox_and_no_daemon_is_started() {
    let home = home();
    let bytes: Vec<u8> = (0..200_000_u32).flat_map(u32::to_le_bytes).collect();
    let sum = |bytes: &[u8]| bytes.iter().fold(7_u64, |sum, &byte| sum.rotate_left(5) ^ u64::from(byte));
    let script = "import sys; d = sys.stdin.buffer.read(); s = 7\n\
                  for b in d: s = (((s << 5) | (s >> 59)) & (2**64 - 1)) ^ b\n\
                  print(len(d), s); print('to whom it may concern', file=sys.stderr)";
    if Command::new("python3").arg("--version").output().is_err() {
        return skip("no python3");
    }
    let ran = home.command(&sandboxed(&["--", "python3", "-c", script])).input(bytes.clone()).run().ok();
    assert_eq!(ran.stdout, format!("{} {}\n", bytes.len(), sum(&bytes)));
    assert!(ran.stderr.contains("to whom it may concern\n"), "{}", ran.stderr);
    home.run(&["status", "--no-start"]).exits(4);
}

#[test]
fn each_way_to_fail_has_its_exit_code_and_its_sentence() {
    let home = home();
    let mine = home.beside("mine.txt");
    std::fs::write(&mine, "mine").unwrap();
    let mine = mine.to_str().unwrap();
    for (words, code, said) in [
        (&["--", "sh", "-c", "exit 7"][..], 1, "sh ended with exit code 7"),
        (&["--", "sh", "-c", "kill -9 $$"], 1, "sh was ended by signal 9 (SIGKILL)"),
        (&["--timeout", "1s", "--", "sleep", "600"], 1, "sleep was still running after 1 s, and was ended"),
        (&["--", "cat", mine], 1, "--read"),
        (&["--", "no-such-program"], 2, "`no-such-program` is not on PATH"),
        (&["--", "/no/such/program"], 2, "/no/such/program is not there"),
        (&["--", mine], 2, "chmod +x"),
        (&["--read", "/no/such/file", "--", "true"], 2, "/no/such/file cannot be shown to it"),
        (&["--env", "COV_NOT_SET", "--", "true"], 2, "`COV_NOT_SET` is not set here"),
        (&["--env", "HOME=/root", "--", "true"], 2, "`HOME` is set by the sandbox itself"),
        (&["--memory-mb", "0", "--", "true"], 2, "is no size in MiB"),
        (&["--network", "some", "--", "true"], 2, "outbound-https-only"),
        (&["--env", "http_proxy=x", "--", "true"], 2, "`http_proxy` is set by the sandbox itself"),
        (&["--memory", "64", "--", "true"], 2, "`--memory` is not an option of `sandbox run`"),
        (&["--memory=64", "--", "true"], 2, "`--memory` is not an option of `sandbox run`"),
        (&["--", "-x"], 2, "is given by path"),
    ] {
        let ran = home.run(&sandboxed(words)).exits(code);
        assert!(ran.stderr.contains(said), "{words:?}: {}", ran.stderr);
        assert_eq!(ran.stdout, "", "{words:?}");
    }
}

#[test]
fn a_program_sees_what_was_named_and_gets_the_variables_that_were() {
    let home = home();
    let mine = home.beside("mine");
    std::fs::create_dir(&mine).unwrap();
    std::fs::write(mine.join("in"), "read me").unwrap();
    // As root, programs in the sandbox are nobody.
    std::fs::set_permissions(&mine, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    let named = mine.to_str().unwrap();
    let script = format!("cat {named}/in; echo {named} >{named}/out; pwd; env");
    let read = home.run(&sandboxed(&["--read", named, "--", "sh", "-c", &script]));
    assert!(read.stdout.starts_with("read me"), "{}", read.stdout);
    assert!(!mine.join("out").exists());
    let words = sandboxed(&["--write", named, "--env", "GIVEN=here", "--", "sh", "-c", &script]);
    let written = home.command(&words).env("KEPT_BACK", "secret").run().ok();
    assert_eq!(std::fs::read_to_string(mine.join("out")).unwrap(), format!("{named}\n"));
    assert!(written.stdout.contains("\nGIVEN=here\n"), "{}", written.stdout);
    assert!(
        !written.stdout.contains("KEPT_BACK") && !written.stdout.contains("secret"),
        "{}",
        written.stdout
    );
    let root = home.path();
    home.write("config.toml", "");
    let root = root.to_str().unwrap();
    home.run(&sandboxed(&["--read", root, "--", "true"])).exits(2);
}

#[test]
fn the_interpreters_on_path_run_inside() {
    let home = home();
    for (name, question) in
        [("python3", ["-c", "import json, ssl; print(6 * 7)"]), ("node", ["-e", "console.log(6 * 7)"])]
    {
        if Command::new(name).arg("--version").output().is_err() {
            skip(&format!("no {name}"));
            continue;
        }
        let ran = home.run(&sandboxed(&["--", name, question[0], question[1]]));
        if ran.stderr.contains("is no interpreter itself") {
            skip(&format!("no {name} on PATH but shims"));
            continue;
        }
        assert_eq!(ran.ok().stdout, "42\n", "{name}");
    }
}

#[test]
fn output_that_cannot_be_written_is_a_failure_and_a_reader_who_has_read_enough_is_none() {
    let home = home();
    let mut command = started(&home, &["--", "echo", "hi"]);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let ran = command.stdout(full).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(1), "{said}");
    assert!(said.contains("error: standard output could not be written: No space left"), "{said}");
    let mut command = started(&home, &["--", "sh", "-c", "while echo on and on; do :; done"]);
    let mut ours = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(ours.stdout.take());
    let mut said = String::new();
    ours.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(ours.wait().unwrap().code(), Some(0), "{said}");
    assert!(!said.contains("error:"), "{said}");
}

#[test]
fn a_run_is_one_document_for_programs() {
    let home = home();
    let script = "echo out; echo err >&2; exit 3";
    let ran = home.run(&sandboxed(&["--json", "--", "sh", "-c", script])).exits(1);
    let told = ran.json();
    assert_eq!(told["status"], json!({"exited": 3}));
    assert_eq!((&told["stdout"], &told["stderr"]), (&json!("out\n"), &json!("err")));
    assert_eq!((&told["over"], &told["ended_by"]), (&json!(null), &json!("itself")));
    assert_eq!(told["report"]["measures"].as_array().map(Vec::len), Some(9));
    assert!(told["run"].is_string() && told["usage"]["peak_memory_kb"].is_u64(), "{told}");
    assert!(ran.stderr.contains("\"message\":\"sh ended with exit code 3\""), "{}", ran.stderr);
    let long = "head -c 3000000 /dev/zero";
    let told = home.run(&sandboxed(&["--json", "--", "sh", "-c", long])).ok().json();
    assert_eq!(told["stdout"].as_str().map(str::len), Some(1024 * 1024));
    assert_eq!(told["stdout_cut"], json!(true));
}

#[test]
fn a_program_reaches_the_daemon_and_is_told_what_the_proxy_refused_it() {
    let home = home();
    if Command::new("curl").arg("--version").output().is_err() {
        return skip("no curl");
    }
    let refused = home.run(&sandboxed(&["--", "curl", "-sS", "https://localhost"])).exits(1);
    assert!(refused.stderr.contains("localhost leads to a loopback address"), "{}", refused.stderr);
    let refused = home.run(&sandboxed(&["--json", "--", "curl", "-sS", "https://169.254.169.254"])).exits(1);
    assert!(refused.json()["refused"][0].as_str().unwrap().contains("link-local"), "{}", refused.stdout);
    let _daemon = home.up();
    let script = "curl -sS $COVENANT_URL/healthz; \
                  curl -sS -H \"Authorization: Bearer $COVENANT_TOKEN\" $COVENANT_URL/api/v1/status";
    for network in ["off", "outbound-https-only", "full"] {
        let ran = home.run(&sandboxed(&["--network", network, "--", "sh", "-c", script])).ok();
        let rest = ran.stdout.strip_prefix("ok").unwrap_or_else(|| panic!("{network}: {}", ran.stdout));
        assert!(rest.contains("unauthenticated"), "{network}: a run is nobody's until an agent's: {rest}");
    }
}

#[test]
fn an_interrupt_or_the_end_of_this_command_ends_the_program() {
    for (signal, code) in [(Signal::INT, Some(1)), (Signal::TERM, Some(1)), (Signal::KILL, None)] {
        let home = home();
        let mut command = Command::new(home.program());
        command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", home.beside("")).args(["--home"]);
        command.arg(home.path()).args([
            "sandbox",
            "run",
            "--",
            "sh",
            "-c",
            "trap '' TERM; echo up; sleep 600",
        ]);
        let mut ours =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(ours.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "up\n");
        let pid = Pid::from_raw(i32::try_from(ours.id()).unwrap()).unwrap();
        let launcher = children(pid);
        let below: Vec<Pid> = launcher.iter().flat_map(|&pid| children(pid)).collect();
        assert!(!below.is_empty(), "nothing runs below {pid:?}");
        kill_process(pid, signal).unwrap();
        assert_eq!(ours.wait().unwrap().code(), code);
        for one in below.into_iter().chain(launcher) {
            until("all of it has ended", || (!runs(one)).then_some(()));
        }
    }
}

/// `sandbox run` with these words, started from here.
fn started(home: &Home, words: &[&str]) -> Command {
    let mut command = Command::new(home.program());
    command.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", home.beside(""));
    command.arg("--home").arg(home.path()).args(sandboxed(words)).stdin(Stdio::null());
    command
}

#[test]
fn a_reader_who_reads_nothing_keeps_neither_the_deadline_nor_a_signal_from_ending_it() {
    for stream in ["1", "2"] {
        for signal in [None, Some(Signal::INT), Some(Signal::TERM)] {
            let home = home();
            let endless = format!("while :; do echo 'without end, on and on and on' >&{stream}; done");
            let timeout: &[&str] = if signal.is_none() { &["--timeout", "1s"] } else { &[] };
            let mut command = started(&home, &[timeout, &["--", "sh", "-c", &endless]].concat());
            let mut ours = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            let (output, errors) = (ours.stdout.take().unwrap(), ours.stderr.take().unwrap());
            // How many bytes a pipe takes depends on how they come, so it is full when it has stopped
            // growing. Or its time is up: a slow machine may not get that far.
            let mut seen = (0, Instant::now());
            until("nothing more fits in", || {
                let held = |pipe: &dyn AsFd| rustix::io::ioctl_fionread(pipe).unwrap();
                let now = held(&output) + held(&errors);
                if now != seen.0 {
                    seen = (now, Instant::now());
                }
                let full = now > 0 && seen.1.elapsed() > Duration::from_millis(500);
                (full || ours.try_wait().unwrap().is_some()).then_some(())
            });
            let pid = Pid::from_raw(i32::try_from(ours.id()).unwrap()).unwrap();
            let launcher = children(pid);
            if let Some(signal) = signal {
                kill_process(pid, signal).unwrap();
            }
            let ended = until("it has ended", || ours.try_wait().unwrap());
            assert_eq!(ended.code(), Some(1), "stream {stream}, {signal:?}");
            for one in launcher {
                until("all of it has ended", || (!runs(one)).then_some(()));
            }
        }
    }
}

#[test]
fn lines_that_come_faster_than_they_are_read_are_counted() {
    let home = home();
    let script = "i=0; while [ $i -lt 40000 ]; do echo 'on and on and on'; i=$((i + 1)); done >&2; echo done";
    let mut command = started(&home, &["--", "sh", "-c", script]);
    let mut ours = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(ours.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "done\n", "who writes to standard error waits for nobody");
    let mut said = String::new();
    ours.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(ours.wait().unwrap().code(), Some(0), "{said}");
    let told: usize = said.lines().filter(|line| *line == "on and on and on").count();
    let left_out = said.lines().find_map(|line| {
        line.strip_prefix("warning: ")?.split_once(" lines of its standard error")?.0.parse::<usize>().ok()
    });
    assert_eq!(told + left_out.unwrap(), 40_000);
}

#[test]
fn what_is_given_by_path_is_not_executed_outside_whatever_it_is_called() {
    let home = home();
    let trace = home.beside("was-run-outside");
    for name in ["python3", "node"] {
        let file = home.beside("proj/bin").join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, format!("#!/bin/sh\ntouch {} || echo held\n", trace.display())).unwrap();
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let ran = home.run(&sandboxed(&["--", file.to_str().unwrap()])).ok();
        assert_eq!(ran.stdout, "held\n", "{name}");
        assert!(!trace.exists(), "{name}");
        // Nor if it is on PATH: it may lead anywhere.
        let only = home.beside("proj/bin").to_str().unwrap().to_owned();
        let told = home.command(&sandboxed(&["--", name])).env("PATH", only).run().exits(2).stderr;
        assert!(told.contains(&format!("{} is no interpreter itself", file.display())), "{told}");
        assert!(told.contains("covenant sandbox run -- ~/.pyenv/versions/"), "{told}");
        assert!(!trace.exists(), "{name}");
    }
}

#[test]
fn what_lies_beside_an_interpreter_in_a_project_is_not_shown_with_it() {
    let home = home();
    let proj = home.beside("proj");
    std::fs::create_dir_all(proj.join("bin")).unwrap();
    std::fs::create_dir_all(proj.join("lib/node_modules")).unwrap();
    std::fs::write(proj.join(".env"), "SECRET=1").unwrap();
    std::fs::write(proj.join("lib/node_modules/seen"), "a library").unwrap();
    let file = proj.join("bin/node");
    let script = "#!/bin/sh\nd=${0%/bin/node}\ncat $d/lib/node_modules/seen\ncat $d/.env\nls -A $d\n";
    std::fs::write(&file, script).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let ran = home.run(&sandboxed(&["--", file.to_str().unwrap()])).ok();
    assert_eq!(ran.stdout, "a librarybin\nlib\n");
}

#[test]
fn a_virtual_environment_is_run_as_one_and_its_packages_are_run_inside_alone() {
    let home = home();
    let venv = home.beside("venv");
    let made = Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&venv).output();
    if !made.is_ok_and(|made| made.status.success()) {
        return skip("no python3 that makes environments");
    }
    let trace = home.beside("was-run-outside");
    let packages =
        venv.join("lib").read_dir().unwrap().flatten().next().unwrap().path().join("site-packages");
    let line = format!("import os; os.path.isdir('/scratch') or open({trace:?}, 'w').close()\n");
    std::fs::write(packages.join("x.pth"), line).unwrap();
    std::fs::write(packages.join("mine.py"), "answer = 6 * 7").unwrap();
    let program = venv.join("bin/python3");
    let script = "import mine, sys; print(mine.answer, sys.prefix)";
    let expected = format!("42 {}\n", venv.display());
    let ran = home.run(&sandboxed(&["--", program.to_str().unwrap(), "-c", script])).ok();
    assert_eq!(ran.stdout, expected);
    let path = format!("{}:/usr/bin:/bin", venv.join("bin").display());
    let words = sandboxed(&["--", "python3", "-c", script]);
    assert_eq!(home.command(&words).env("PATH", path).run().ok().stdout, expected);
    assert!(!trace.exists());
}

#[test]
fn a_link_to_a_program_is_run_by_its_real_path_and_a_link_is_not_shown() {
    let home = home();
    let tool = home.beside("tools/real");
    std::fs::create_dir_all(tool.parent().unwrap()).unwrap();
    std::fs::write(&tool, "#!/bin/sh\necho \"$0\"\n").unwrap();
    std::fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let link = home.beside("tool");
    std::os::unix::fs::symlink(&tool, &link).unwrap();
    let ran = home.run(&sandboxed(&["--", link.to_str().unwrap()])).ok();
    assert_eq!(ran.stdout, format!("{}\n", tool.display()));
    // What is to be shown is for the person to name: a link may be the work of an earlier run.
    for option in ["--read", "--write"] {
        let refused = home.run(&sandboxed(&[option, link.to_str().unwrap(), "--", "true"])).exits(2);
        let said = format!("it leads through a link to {}: name that", tool.display());
        assert!(refused.stderr.contains(&said), "{}", refused.stderr);
    }
}

/// Whether a process runs. One that has ended may stay in the table until somebody asks, which in a container may be nobody.
fn runs(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

/// The children of a process.
fn children(parent: Pid) -> Vec<Pid> {
    let pid = parent.as_raw_nonzero();
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let mut found = Vec::new();
    for thread in threads.flatten() {
        let list = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        found.extend(list.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)));
    }
    found
}

#[test]
fn check_and_doctor_say_what_this_host_can_enforce() {
    let home = home();
    let checked = home.run(&["sandbox", "check", "--json"]);
    assert!(!home.path().exists(), "to look makes nothing");
    let told = checked.json();
    assert_eq!(told["report"]["measures"].as_array().map(Vec::len), Some(9), "{told}");
    assert_eq!(checked.code(), i32::from(told["whole"] == json!(false)));
    let doctor = home.run(&["doctor", "--json"]).json();
    let found = doctor["checks"].as_array().unwrap().iter().find(|check| check["name"] == "sandbox").unwrap();
    let expected = if told["whole"] == json!(true) { "ok" } else { "warn" };
    assert_eq!(found["state"], expected, "{found}");
    let table = home.run(&["sandbox", "check"]).stdout;
    assert!(table.starts_with("PROMISE") && table.contains("\nlifetime "), "{table}");
}

#[test]
fn where_the_sandbox_must_be_whole_and_cannot_be_nothing_runs() {
    let home = home();
    home.write("config.toml", "[sandbox]\nrequired = true\n");
    let without = |words: &[&str]| {
        // As in a container that may make no namespaces of its own.
        let script = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-current-user", "--keep-caps", "--", "sh", "-c", script, "sh"]);
        command.arg(home.program()).arg("--home").arg(home.path()).args(words).output()
    };
    let Ok(ran) = without(&["sandbox", "run", "--", "echo", "ran"]) else { return skip("no unshare") };
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    if ["unshare:", "sh:"].iter().any(|who| said.starts_with(who)) {
        return skip(&said);
    }
    assert_eq!((ran.status.code(), &*ran.stdout), (Some(3), &b""[..]), "{said}");
    assert!(said.contains("no pid namespace"), "{said}");
    let doctor = without(&["doctor", "--json"]).unwrap();
    let told: serde_json::Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let found = told["checks"].as_array().unwrap().iter().find(|check| check["name"] == "sandbox").unwrap();
    assert_eq!(found["state"], "fail", "{found}");
    assert!(found["action"].as_str().unwrap().contains("user.max_user_namespaces"), "{found}");
}

#[test]
fn it_works_for_an_ordinary_user() {
    if !getuid().is_root() {
        return skip("every other test runs as an ordinary user already");
    }
    let home = home();
    let directory = home.beside("");
    std::os::unix::fs::chown(&directory, Some(65534), Some(65534)).unwrap();
    let program = directory.join("covenant");
    covenant_testkit::program::copy(home.program(), &program);
    let other = Home::within(&directory, program);
    let ran = other.command(&sandboxed(&["--", "id", "-u"])).uid(65534).run().ok();
    assert_eq!(ran.stdout, "65534\n");
    // All but memory, for which an ordinary user needs a cgroup that somebody gave away.
    let report = other.command(&["sandbox", "check", "--json"]).uid(65534).run().json();
    for measure in report["report"]["measures"].as_array().unwrap() {
        let kept = measure["kept"] == "yes" || measure["promise"] == "memory" && measure["kept"] == "partly";
        assert!(kept, "{measure}");
    }
}
