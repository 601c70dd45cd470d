//! Crashes and full disks: every answered call has its rows, and nothing needs repair by hand.

use std::collections::HashSet;

use covenant_testkit::tmpfs::Tmpfs;
use covenant_testkit::wait::until;
use covenant_testkit::{Home, StdioClient};
use serde_json::{Value, json};

use crate::unhurried;

/// Runs a test with a client whose daemon cannot write another byte; not at all where mounting is not allowed.
pub(crate) fn with_full_disk(test: impl FnOnce(&mut StdioClient)) {
    let Some(disk) = Tmpfs::mount(16) else { return };
    let home = Home::within(disk.path(), env!("CARGO_BIN_EXE_covenant"));
    home.write("config.toml", "[rate_limit]\nrate = 0\n");
    let daemon = home.up();
    home.run(&["capabilities", "grant", "tool.call.echo"]).ok();
    let mut client = home.mcp();
    assert!(client.call("echo", json!({"text": "there is room"})).get("result").is_some());
    let filler = disk.fill();
    // The last page of the log has room for a few rows more.
    until("the disk is full", || client.call("echo", json!({"text": "hi"})).get("error").map(|_| ()));
    test(&mut client);
    let port = daemon.port();
    let ready = covenant_testkit::http::get(port, "/readyz", "localhost", "");
    assert!(ready.starts_with("HTTP/1.1 503") && ready.contains("audit: "), "{ready}");
    std::fs::remove_file(filler).unwrap();
    until("calls are served again once there is room", || {
        client.call("echo", json!({"text": "again"})).get("result").map(|_| ())
    });
    daemon.stop();
    home.run(&["audit", "verify"]).ok();
}

/// No row, no call: and the answer says why.
#[test]
fn a_full_disk_refuses_calls_and_heals_by_itself() {
    with_full_disk(|client| {
        let answer = client.call("echo", json!({"text": "hi"}));
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains("audit"), "{message}");
    });
}

/// One thousand calls in flight, the daemon killed in their middle, twenty times over.
#[test]
fn kill_nine_loses_no_answered_call() {
    let home = unhurried();
    let mut answered: HashSet<String> = HashSet::new();
    for round in 0..20 {
        let daemon = home.up();
        if round == 0 {
            home.run(&["capabilities", "grant", "tool.call.echo"]).ok();
        }
        let mut clients: Vec<StdioClient> = (0..4).map(|_| home.mcp()).collect();
        for (number, client) in clients.iter_mut().enumerate() {
            let calls: String = (0..250)
                .map(|id| {
                    let text = format!("r{round}c{number}i{id}");
                    let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
                        "params": {"name": "echo", "arguments": {"text": text},
                                   "_meta": {"traceparent": format!("00-{:032x}-0000000000000001-01", 1 + round * 1000 + number * 250 + id)}}});
                    format!("{call}\n")
                })
                .collect();
            client.send_raw(calls.as_bytes());
        }
        // Some answers have come; most calls are still under way.
        let first = clients[0].receive();
        assert!(first.get("result").is_some(), "{first}");
        daemon.kill();
        for (number, client) in clients.iter_mut().enumerate() {
            let mut seen = if number == 0 { vec![first.clone()] } else { Vec::new() };
            while seen.len() < 250 {
                seen.push(client.receive());
            }
            // For the daemon that died the bridge answers, with results of calls that failed.
            for answer in seen.iter().filter(|answer| answer["result"]["isError"] == false) {
                let id = usize::try_from(answer["id"].as_u64().unwrap()).unwrap();
                answered.insert(format!("{:032x}", 1 + round * 1000 + number * 250 + id));
            }
        }
    }
    let daemon = home.up();
    home.run(&["audit", "verify"]).ok();
    let rows = home.run(&["audit", "recent", "-n", "1000000", "--json"]).ok().json_lines();
    let with = |kind: &str| -> HashSet<String> {
        let of_kind = rows.iter().filter(|row| row["kind"] == kind);
        of_kind.filter_map(|row| Some(row["trace_id"].as_str()?.to_owned())).collect()
    };
    let (started, finished) = (with("CallStarted"), with("CallFinished"));
    assert!(answered.len() >= 20, "{}", answered.len());
    for call in &answered {
        assert!(
            started.contains(call) && finished.contains(call),
            "{call} was answered and is not on record"
        );
    }
    // Whatever started has an end, written by the call or by the next start.
    let ended: HashSet<u64> = rows.iter().filter_map(|row| row["started"].as_u64()).collect();
    for row in rows.iter().filter(|row| row["kind"] == "CallStarted") {
        assert!(ended.contains(&row["seq"].as_u64().unwrap()), "{row}");
    }
    daemon.stop();
}

/// Changes one thing in the files and expects `verify` to name it.
fn damaged(change: impl Fn(&mut Vec<String>), expect: &str) {
    let home = unhurried();
    let daemon = home.up();
    home.run(&["capabilities", "grant", "tool.call.echo"]).ok();
    let mut client = home.mcp();
    for number in 0..20 {
        client.call("echo", json!({"text": number.to_string()}));
    }
    let export = home.beside("export.jsonl");
    let export_path = export.to_str().unwrap().to_owned();
    let export_path = export_path.as_str();
    home.run(&["audit", "export", "--out", export_path]).ok();
    home.run(&["audit", "verify", export_path]).ok();
    daemon.stop();
    home.run(&["audit", "verify"]).ok();
    for path in [home.path().join("audit/000001.jsonl"), export] {
        let mut lines: Vec<String> =
            std::fs::read_to_string(&path).unwrap().lines().map(str::to_owned).collect();
        change(&mut lines);
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        let live = path.starts_with(home.path());
        let arguments: &[&str] =
            if live { &["audit", "verify", "--json"] } else { &["audit", "verify", export_path, "--json"] };
        let report = home.run(arguments).exits(1).json();
        assert_eq!(report["valid"], false);
        let reason = report["first_bad"].to_string();
        assert!(reason.contains(expect), "{}: {reason}", path.display());
    }
}

fn row(lines: &[String], seq: u64) -> usize {
    lines.iter().position(|line| line.starts_with(&format!("{{\"seq\":{seq},"))).unwrap()
}

#[test]
fn verify_finds_an_edited_row() {
    damaged(
        |lines| {
            let at = row(lines, 12);
            lines[at] = lines[at].replacen("user@local", "user@locaI", 1);
        },
        "\"seq\":12",
    );
}

#[test]
fn verify_finds_a_swapped_pair() {
    damaged(
        |lines| {
            let (a, b) = (row(lines, 12), row(lines, 13));
            lines.swap(a, b);
        },
        "\"seq\":1",
    );
}

#[test]
fn verify_finds_a_deleted_row() {
    damaged(
        |lines| {
            lines.remove(row(lines, 12));
        },
        "\"seq\":1",
    );
}

#[test]
fn verify_finds_a_cut_tail() {
    damaged(
        |lines| {
            let at = row(lines, 30);
            lines.truncate(at);
        },
        "\"seq\":30",
    );
}

#[test]
fn verify_finds_a_forged_checkpoint_and_a_pruned_prefix_without_its_tombstone() {
    let home = unhurried();
    let daemon = home.up();
    home.run(&["tools", "call", "clock"]).ok();
    home.run(&["audit", "prune", "--before", &crate::now()]).ok();
    home.run(&["tools", "call", "clock"]).ok();
    let export = home.beside("export.jsonl");
    let export_path = export.to_str().unwrap().to_owned();
    home.run(&["audit", "export", "--out", &export_path]).ok();
    daemon.stop();
    let marks = home.path().join("audit/checkpoints.jsonl");
    for (path, arguments) in [
        (marks, vec!["audit", "verify", "--json"]),
        (export, vec!["audit", "verify", &export_path, "--json"]),
    ] {
        home.run(&arguments).ok();
        let sound = std::fs::read_to_string(&path).unwrap();
        let last = sound.lines().last().unwrap();
        let mut forged: Value = serde_json::from_str(last).unwrap();
        let signature = forged["sig"].as_str().unwrap().to_owned();
        forged["sig"] = json!(signature.chars().rev().collect::<String>());
        std::fs::write(&path, sound.replace(last, &forged.to_string())).unwrap();
        let report = home.run(&arguments).exits(1).json();
        assert!(report["first_bad"]["reason"].as_str().unwrap().contains("checkpoint"), "{report}");

        let kept: Vec<&str> = sound.lines().filter(|line| !line.starts_with("{\"tombstone\"")).collect();
        assert!(kept.len() < sound.lines().count(), "a prune leaves its tombstone: {sound}");
        std::fs::write(&path, kept.join("\n") + "\n").unwrap();
        let report = home.run(&arguments).exits(1).json();
        assert!(report["first_bad"]["reason"].as_str().unwrap().contains("tombstone"), "{report}");
        std::fs::write(&path, sound).unwrap();
        home.run(&arguments).ok();
    }
}
