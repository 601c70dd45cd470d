//! Programs that want out, and do not get out.

use super::attacks::{self, Attack};
use super::neighbours::Neighbours;
use super::stage::{Run, Stage, answer};
use super::table::Table;
use super::{Language, Who, as_everyone, say};

/// The attacks that one language can do, as it takes them.
pub(crate) fn words(attacks: &[Attack], language: Language) -> Vec<String> {
    attacks.iter().filter(|attack| attack.is_for(language)).map(|attack| attack.word.clone()).collect()
}

/// Without a sandbox they get out: otherwise their failing inside would show nothing.
fn control(stage: &Stage, attacks: &[Attack], beside: &Neighbours) {
    let before = beside.visits();
    for language in Language::ALL {
        let certain = |attack: &&Attack| attack.is_for(language) && attack.succeeds_for(stage.who);
        let certain: Vec<&Attack> = attacks.iter().filter(certain).collect();
        let words: Vec<String> = certain.iter().map(|attack| attack.word.clone()).collect();
        let ran = stage.unleash(language, &words);
        for attack in certain {
            let answer = answer(&ran.stdout, &attack.word)
                .unwrap_or_else(|| panic!("{language:?} said nothing of {}: {ran:?}", attack.word));
            assert!(answer.escaped, "without a sandbox, {} in {language:?}: {}", attack.word, answer.detail);
        }
    }
    // Four TCP servers, one of UDP, three Unix sockets, at least one of each by three languages.
    assert!(beside.visits() >= before + 15, "the listeners saw {} visits", beside.visits() - before);
}

/// Holds a run to its promises; what gets out where the report says so is no surprise, and stands in the table.
pub(crate) fn judge(
    stage: &Stage,
    run: &Run,
    language: Language,
    attacks: &[Attack],
    table: &mut Table,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for attack in attacks.iter().filter(|attack| attack.is_for(language)) {
        let short = stage.shortened(&attack.word);
        let Some(answer) = run.answer(&attack.word) else {
            wrong.push(format!("{language:?} {short}: no answer"));
            continue;
        };
        let known = attack.stops.iter().any(|stop| answer.detail.starts_with(stop));
        let told = if answer.escaped { format!("OUT: {}", answer.detail) } else { answer.detail.clone() };
        match (answer.escaped, run.kept(attack.promise)) {
            (true, "yes") => wrong.push(format!("{language:?} {short}: {told}")),
            (false, "yes") if !known => {
                wrong.push(format!("{language:?} {short}: stopped by something unforeseen: {told}"));
            }
            _ => {}
        }
        table.tell(&short, language, &told, &run.means(attack.promise));
    }
    if run.output().contains(&stage.secret) && run.kept("files") == "yes" {
        wrong.push(format!("{language:?}: a secret came out: {}", run.output()));
    }
    wrong
}

/// Tries everything in one mode of the network, and looks at it from outside as well.
fn hold(
    stage: &Stage,
    network: &str,
    attacks: &[Attack],
    beside: &Neighbours,
    table: &mut Table,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let before = beside.visits();
    for language in Language::ALL {
        let (named, lent) = (stage.at("named"), stage.at("lent"));
        let options = ["--network", network, "--read", &named, "--write", &lent, "--timeout", "50s"];
        let run = stage.attack(&options, language, &words(attacks, language));
        if run.document["status"]["exited"] != 0 {
            wrong.push(format!("{language:?}, network {network}: {:?}", run.ran));
            continue;
        }
        for gap in run.gaps() {
            // Without a memory cgroup, which ordinary users seldom get, some memory is nobody's.
            if stage.who == Who::Root || gap != "memory" {
                wrong.push(format!(
                    "{language:?}, network {network}: {gap} is not kept: {}",
                    run.document["report"]
                ));
            }
        }
        wrong.extend(judge(stage, &run, language, attacks, table));
    }
    if beside.visits() != before {
        wrong.push(format!("network {network}: {} visits outside", beside.visits() - before));
    }
    wrong
}

fn nothing_gets_out(who: Who) {
    let stage = Stage::new(who);
    let beside = Neighbours::of(&stage);
    let attacks = attacks::everything(&stage, &beside);
    control(&stage, &attacks, &beside);
    let (mut table, mut wrong) = (Table::default(), Vec::new());
    for network in ["off", "outbound-https-only"] {
        wrong.extend(hold(&stage, network, &attacks, &beside, &mut table));
    }
    wrong.extend(hold(&stage, "full", &attacks::with_full_network(&stage, &beside), &beside, &mut table));
    say(&table.text(&format!("the sandbox as {who:?}")));
    assert!(wrong.is_empty(), "{} got out or were stopped by chance:\n{}", wrong.len(), wrong.join("\n"));
    for (file, text) in [("outside/notes.txt", &stage.secret), ("operator/notes.txt", &stage.secret)] {
        assert_eq!(std::fs::read_to_string(stage.path(file)).unwrap().trim(), text, "{file}");
    }
}

#[test]
fn nothing_gets_out_of_the_sandbox() {
    as_everyone(nothing_gets_out);
}

/// Descriptors that whoever called left open, and the terminal they sit at, are not the program's.
#[test]
fn nothing_is_passed_on_by_accident() {
    as_everyone(|who| {
        let stage = Stage::new(who);
        let attack = stage.hostile(Language::Rust, &["descriptors", "type"].map(str::to_owned));
        let line = stage.line(&[], &attack);
        let open = ["-c", "exec 7<\"$1\" 8>&1; shift; exec \"$@\"", "sh", &stage.at("outside/notes.txt")]
            .map(str::to_owned);
        let shell = std::path::Path::new("/bin/sh");
        let control = stage.command(shell, &[&open[..], &attack[..]].concat()).run();
        assert!(answer(&control.stdout, "descriptors").unwrap().escaped, "{control:?}");
        let covenant = [stage.program().to_owned()];
        let run = Run::of(stage.command(shell, &[&open[..], &covenant[..], &line[..]].concat()).run());
        assert!(!run.answer("descriptors").unwrap().escaped, "{who:?}: {}", run.output());
        on_a_terminal(&stage, &attack);
    });
}

/// A letter that is pushed into the terminal would be typed into the shell of whoever sits there.
fn on_a_terminal(stage: &Stage, attack: &[String]) {
    let terminal = ["terminal", "--"].map(str::to_owned);
    let escape = stage.path("package/escape");
    let control = stage.command(&escape, &[&terminal[..], attack].concat()).run();
    // Kernels without the setting allow it to everyone.
    let allowed =
        std::fs::read_to_string("/proc/sys/dev/tty/legacy_tiocsti").map_or(true, |set| set.trim() == "1");
    let possible = stage.who == Who::Root || allowed;
    assert_eq!(answer(&control.stdout, "type").unwrap().escaped, possible, "{control:?}");
    let words = [&terminal[..], &[stage.program().to_owned()], &stage.line(&[], attack)].concat();
    let run = Run::of(stage.command(&escape, &words).run());
    assert!(!run.answer("type").unwrap().escaped, "{:?}: {}", stage.who, run.output());
}

/// Where the proxy must lead nobody: to this machine and its network, however that is written, and to other ports.
const PRIVATE: &[&str] = &[
    "127.0.0.1:443",
    "localhost:443",
    "[::1]:443",
    "0.0.0.0:443",
    "127.1:443",
    "2130706433:443",
    "0x7f000001:443",
    "[::ffff:127.0.0.1]:443",
    "169.254.169.254:443",
    "169.254.169.254:80",
    "10.0.0.1:443",
    "192.168.0.1:443",
    "[fd00::1]:443",
    "[fe80::1]:443",
    "example.com:80",
    "example.com:22",
    "example.com",
    "",
];

#[test]
fn the_proxy_leads_to_nobody_nearby() {
    as_everyone(|who| {
        let stage = Stage::new(who);
        let beside = Neighbours::of(&stage);
        let near = [beside.tcp.as_str(), beside.web.as_str()];
        let mut words: Vec<String> = PRIVATE.iter().chain(&near).map(|to| format!("proxy={to}")).collect();
        words.push("proxy-as-stranger=example.com:443".to_owned());
        let run = stage.attack(&["--timeout", "50s"], Language::Rust, &words);
        for word in &words {
            let answer = run.answer(word).unwrap_or_else(|| panic!("{word}: {:?}", run.ran));
            assert!(!answer.escaped && answer.detail.starts_with("HTTP/1.1 4"), "{who:?} {word}: {answer:?}");
        }
        assert_eq!(beside.visits(), 0);
        let off = stage.attack(&["--network", "off"], Language::Rust, &words[..1]);
        assert_eq!(off.answer(&words[0]).unwrap().detail, "no proxy");
    });
}

/// A home of the daemon in a directory that was named, and what a program is to do there.
fn in_the_parent_of_the_home(stage: &Stage, option: &str, host: Option<&str>, script: &str) -> Run {
    let (parent, home) = (stage.at("lent"), stage.path("lent/deep/home"));
    let covenant = stage.line(&[option, &parent], &["/bin/sh", "-c", script].map(str::to_owned));
    let command = match host {
        Some(lacks) => stage.covenant_without(lacks, &covenant),
        None => stage.covenant(&covenant),
    };
    Run::of(command.env("COVENANT_HOME", home).run())
}

/// Where the parent of the daemon's home is named, the home itself stays out of sight, or nothing runs.
#[test]
fn the_home_of_the_daemon_stays_out_of_sight_where_its_parent_is_named() {
    as_everyone(|who| {
        let stage = Stage::new(who);
        stage.move_home("lent/deep/home");
        let script = format!(
            "cd {} && ls; cat deep/home/secrets.toml; find . -type f -exec cat {{}} +",
            stage.at("lent")
        );
        for host in [None, Some("namespaces"), Some("user-namespaces"), Some("landlock")] {
            for option in ["--read", "--write"] {
                let run = in_the_parent_of_the_home(&stage, option, host, &script);
                let said = format!("{}{}", run.ran.stdout, run.ran.stderr);
                assert!(
                    !said.contains(&stage.secret),
                    "{who:?}, {option} on a host without {host:?}: {said}"
                );
            }
        }
    });
}

/// Where the parent of the daemon's home may be written, the home itself stays where it is.
#[test]
fn the_home_of_the_daemon_cannot_be_replaced_where_its_parent_may_be_written() {
    as_everyone(|who| {
        let stage = Stage::new(who);
        stage.move_home("lent/deep/home");
        let lent = stage.at("lent");
        let script = format!(
            "cd {lent}; mv deep gone; mkdir -p deep/home; echo 'KEY = \"evil\"' > deep/home/secrets.toml"
        );
        for host in [None, Some("namespaces")] {
            in_the_parent_of_the_home(&stage, "--write", host, &script);
            let kept = std::fs::read_to_string(stage.path("lent/deep/home/secrets.toml")).unwrap();
            assert!(kept.contains(&stage.secret), "{who:?}, on a host without {host:?}: {kept}");
        }
    });
}
