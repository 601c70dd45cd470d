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
        for promise in [
            "lifetime",
            "files",
            "scratch",
            "network",
            "neighbours",
            "memory",
            "processes",
            "privileges",
            "calls",
        ] {
            if run.kept(promise) != "yes" {
                wrong.push(format!(
                    "{language:?}, network {network}: {promise} is not kept: {}",
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
