//! Measures how well overlap is found, on labelled texts: `cargo xtask overlap-eval --data DIR`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "its output is its purpose")]

use std::path::Path;
use std::process::ExitCode;

use serde_json::json;

use data::Set;

mod data;
mod date;
mod ranking;
mod replay;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (directory, as_json) = match words.as_slice() {
        ["--data", directory] => (directory, false),
        ["--data", directory, "--json"] | ["--json", "--data", directory] => (directory, true),
        _ => {
            eprintln!("usage: overlap_eval --data DIR [--json], where DIR has docs.jsonl and pairs.jsonl");
            return ExitCode::from(2);
        }
    };
    match data::read(Path::new(directory)) {
        Ok(sets) => {
            if as_json {
                println!("{:#}", measured(&sets));
            } else {
                print(&sets);
            }
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("overlap_eval: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn measured(sets: &[Set]) -> serde_json::Value {
    let of = |set: &Set| {
        let ranks = ranking::of(set);
        let halves = ranking::halves(&ranks, set.docs.len() / 2);
        let replay = replay::of(set);
        json!({
            "set": set.name, "texts": set.docs.len(), "linked": ranks.len(),
            "ranking": halves.map(|(name, figures)| json!({
                "texts": name, "queries": figures.queries, "mrr": figures.mrr,
                "recall_at_1": figures.at_1, "recall_at_5": figures.at_5,
            })),
            "replay": replay.parts().map(|(name, part)| json!({
                "texts": name, "duplicates": part.duplicates, "warned": part.warned, "escalated": part.escalated,
                "others": part.others, "others_warned": part.others_warned, "others_escalated": part.others_escalated,
            })),
            "not_warned": replay.missed, "escalated": replay.annoyed,
        })
    };
    json!({
        "warn_floor": covenant_team::overlap::WARN_FLOOR,
        "escalation": covenant_team::overlap::ESCALATION,
        "sets": sets.iter().map(of).collect::<Vec<_>>(),
    })
}

fn print(sets: &[Set]) {
    println!("Ranking: each linked text against all others of its set\n");
    println!(
        "{:<10} {:<8} {:>7} {:>7} {:>10} {:>10}",
        "set", "texts", "queries", "MRR", "recall@1", "recall@5"
    );
    for set in sets {
        for (half, figures) in ranking::halves(&ranking::of(set), set.docs.len() / 2) {
            let ranking::Figures { queries, mrr, at_1, at_5 } = figures;
            if queries == 0 {
                continue;
            }
            println!("{:<10} {half:<8} {queries:>7} {mrr:>7.3} {at_1:>10.2} {at_5:>10.2}", set.name);
        }
    }
    println!("\nReplay: each text in order of creation against the {} before it\n", replay::WINDOW);
    println!(
        "{:<10} {:<8} {:>10} {:>8} {:>9} | {:>7} {:>8} {:>9}",
        "set", "texts", "duplicates", "warned", "escalated", "others", "warned", "escalated"
    );
    let mut listed = Vec::new();
    for set in sets {
        let replay = replay::of(set);
        for (half, part) in replay.parts() {
            println!(
                "{:<10} {half:<8} {:>10} {:>8} {:>9} | {:>7} {:>7.1}% {:>8.2}%",
                set.name,
                part.duplicates,
                part.warned,
                part.escalated,
                part.others,
                replay::percent(part.others_warned, part.others),
                replay::percent(part.others_escalated, part.others),
            );
        }
        listed.push((set, replay));
    }
    for (set, replay) in listed {
        println!("\n{}: linked pairs in the window that are not told ({})", set.name, replay.missed.len());
        replay.missed.iter().for_each(|line| println!("  {line}"));
        println!("{}: other checks that escalate ({})", set.name, replay.annoyed.len());
        replay.annoyed.iter().take(40).for_each(|line| println!("  {line}"));
    }
}
