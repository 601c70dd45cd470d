//! Poorer hosts: without namespaces, as in many containers; without rights in them, as some distributions leave it; without
//! landlock, as older kernels are; without filters. What can still be held is held, and the report names the rest.

use super::attacks::{self, Attack, Control};
use super::escape::{judge, words};
use super::neighbours::Neighbours;
use super::stage::{Run, Stage};
use super::table::Table;
use super::{Language, Who, as_everyone, say};

/// A host, and what must hold on it.
struct Host {
    /// What it lacks, as the fixture takes it.
    lacks: &'static str,
    /// Promises that cannot be kept in full there, whatever is done.
    gaps: &'static [&'static str],
    /// Which attacks must be stopped all the same.
    insists: fn(&Attack) -> bool,
}

/// What does not open anything, which landlock does not see: names, sizes, modes and times.
fn only_looks(attack: &Attack) -> bool {
    ["stat=", "see=", "change-mode=", "change-times=", "read-file=/proc/keys"]
        .iter()
        .any(|name| attack.word.starts_with(name))
        // Only a mount can make a device in a directory that was named useless.
        || attack.word.ends_with("/named/device")
}

const HOSTS: &[Host] = &[
    Host {
        lacks: "namespaces",
        gaps: &["lifetime", "files", "scratch"],
        insists: |attack| !only_looks(attack) && attack.promise != "neighbours",
    },
    Host {
        lacks: "user-namespaces",
        gaps: &["lifetime", "files", "scratch"],
        insists: |attack| !only_looks(attack) && attack.promise != "neighbours",
    },
    Host {
        lacks: "mounts",
        gaps: &["lifetime", "files", "scratch"],
        insists: |attack| !only_looks(attack) && attack.promise != "neighbours",
    },
    Host { lacks: "landlock", gaps: &[], insists: |_| true },
    Host {
        lacks: "namespaces,landlock",
        gaps: &["lifetime", "files", "scratch", "network", "neighbours"],
        insists: |attack| ["calls", "privileges"].contains(&attack.promise) || attack.word.starts_with("udp"),
    },
    Host {
        lacks: "filters",
        gaps: &["calls"],
        insists: |attack| ["files", "network", "privileges"].contains(&attack.promise),
    },
    Host {
        lacks: "namespaces,landlock,filters",
        gaps: &["lifetime", "files", "scratch", "network", "neighbours", "calls"],
        insists: |attack| attack.promise == "privileges",
    },
];

fn holds(stage: &Stage, host: &Host, attacks: &[Attack], table: &mut Table) -> Vec<String> {
    let mut wrong = Vec::new();
    // Where nothing holds them back, nobody far away is troubled.
    let open = host.gaps.contains(&"network") && host.gaps.contains(&"calls");
    let is_far = |attack: &&Attack| attack.promise == "network" && attack.control == Control::Nobody;
    let attacks: Vec<Attack> = attacks.iter().filter(|attack| !(open && is_far(attack))).cloned().collect();
    let (named, lent) = (stage.at("named"), stage.at("lent"));
    let options = ["--network", "off", "--read", &named, "--write", &lent, "--timeout", "50s"];
    let line = stage.line(&options, &stage.hostile(Language::Rust, &words(&attacks, Language::Rust)));
    let run = Run::of(stage.covenant_without(host.lacks, &line).run());
    if run.document["status"]["exited"] != 0 {
        return vec![format!("{:?}", run.ran)];
    }
    wrong.extend(judge(stage, &run, Language::Rust, &attacks, table));
    for attack in attacks.iter().filter(|attack| attack.is_for(Language::Rust) && (host.insists)(attack)) {
        if let Some(answer) = run.answer(&attack.word).filter(|answer| answer.escaped) {
            let told = format!(
                "{}: {} (as the report says, but it must not)",
                stage.shortened(&attack.word),
                answer.detail
            );
            wrong.push(told);
        }
    }
    let gaps = run.gaps();
    for gap in host.gaps.iter().filter(|gap| !gaps.contains(gap)) {
        wrong.push(format!("{gap} is said to be kept in full"));
    }
    for gap in gaps.iter().filter(|gap| run.note(gap).len() < 10) {
        wrong.push(format!("the gap in {gap} is not named: {:?}", run.note(gap)));
    }
    wrong.extend(refuses(stage, host, gaps.is_empty()));
    wrong
}

/// `--required` refuses where a promise cannot be kept, with the exit code of a refusal, and starts nothing.
fn refuses(stage: &Stage, host: &Host, whole: bool) -> Option<String> {
    let proof = stage.path("lent/proof");
    let lent = stage.at("lent");
    let script = format!("touch {}", proof.display());
    let options = ["--network", "off", "--required", "--write", &lent];
    let line = stage.line(&options, &["/bin/sh", "-c", &script].map(str::to_owned));
    let ran = stage.covenant_without(host.lacks, &line).run();
    let started = proof.exists();
    if started {
        std::fs::remove_file(&proof).unwrap();
    }
    let expected = if whole { (0, true) } else { (3, false) };
    ((ran.code(), started) != expected).then(|| format!("with --required, started: {started}, {ran:?}"))
}

fn hold_what_they_can(who: Who) {
    let stage = Stage::new(who);
    let beside = Neighbours::of(&stage);
    let attacks = attacks::everything(&stage, &beside);
    // What fills the table of the host is shot at there; whoever shares its processes must not be.
    let attacks: Vec<Attack> = attacks.into_iter().filter(|attack| attack.word != "signal-all").collect();
    let mut wrong = Vec::new();
    for host in HOSTS {
        let mut table = Table::default();
        let found = holds(&stage, host, &attacks, &mut table);
        say(&table.text(&format!("a host without {} as {who:?}", host.lacks)));
        wrong.extend(found.into_iter().map(|what| format!("without {}: {what}", host.lacks)));
    }
    assert!(wrong.is_empty(), "as {who:?}, {} things:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_poorer_host_holds_what_it_can_and_says_what_it_cannot() {
    as_everyone(hold_what_they_can);
}

/// On this host root can have everything, and then `--required` changes nothing; an ordinary user lacks at most a cgroup.
#[test]
fn a_host_that_has_everything_may_be_required_to() {
    as_everyone(|who| {
        let stage = Stage::new(who);
        for network in ["off", "outbound-https-only", "full"] {
            let free = stage.run(&["--network", network], &["/bin/true".to_owned()]);
            let held = stage.run(&["--required", "--network", network], &["/bin/true".to_owned()]);
            let expected = match free.gaps().as_slice() {
                [] => 0,
                ["memory"] if who != Who::Root => 3,
                gaps => panic!("{who:?} {network}: {gaps:?}"),
            };
            assert_eq!(held.ran.code(), expected, "{who:?} {network}: {:?}", held.ran);
        }
    });
}
