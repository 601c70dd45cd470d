//! The week of a team as a text: its sections, its bounds, and that nothing people write is more than text in it.

use serde_json::{Value, json};

use super::desk::{Desk, on_both, word};
use super::state::silent;

#[track_caller]
fn week(desk: &Desk<'_>, token: &str) -> Value {
    desk.done(token, "covibe_team", json!({"operation": "generate_weekly_summary"}))
}

/// What stands under a heading.
#[track_caller]
fn section<'m>(markdown: &'m str, heading: &str) -> Vec<&'m str> {
    let (_, rest) =
        markdown.split_once(&format!("\n## {heading}\n\n")).unwrap_or_else(|| panic!("{markdown}"));
    rest.split("\n\n## ").next().unwrap().lines().filter(|line| !line.is_empty()).collect()
}

const SECTIONS: [&str; 8] = [
    "Completed",
    "Planned",
    "Active work",
    "Blockers",
    "Decisions",
    "Overlap warnings",
    "Parallel audits",
    "Agent sessions",
];

/// VIBE-50, VIBE-113: a week has its eight sections, each with what belongs there; a session that was silent for more than half an
/// hour is stale in it, and in what pages are told.
#[test]
fn a_week_has_everything_in_its_section() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let empty = word(&week(desk, &ada), "markdown");
        for heading in SECTIONS {
            assert_eq!(section(&empty, heading), ["Nothing."], "{heading}");
        }
        let (finished, _) = desk.started(&bob, "Rename the settings page");
        let complete =
            json!({"operation": "complete", "task_id": finished, "result_summary": "It is renamed."});
        desk.done(&bob, "covibe_task", complete);
        let (old, _) = desk.started(&bob, "Sweep the attic of its cables");
        let complete = json!({"operation": "complete", "task_id": old, "result_summary": "Swept."});
        desk.done(&bob, "covibe_task", complete);
        desk.meddle(&format!(
            "UPDATE tasks SET updated_at = updated_at - 691200000, ended_at = ended_at - 691200000 WHERE id = '{old}'"
        ));
        desk.planned(&ada, "Sort invoices by date");
        desk.started(&ada, "Retry uploads");
        let (blocked, _) = desk.started(&bob, "Draw a chart of sales");
        let stuck =
            json!({"operation": "update", "task_id": blocked, "status": "blocked", "reason": "no data yet"});
        desk.done(&bob, "covibe_task", stuck);
        let look = json!({"operation": "check", "title": "Retry the uploads", "task_type": "bug"});
        let warning = word(&desk.call(&bob, "covibe_task", look)["data"], "warning_id");
        desk.done(&ada, "covibe_note", json!({"kind": "blocker", "text": "The key is missing."}));
        desk.done(&bob, "covibe_note", json!({"kind": "decision", "text": "We retry three times."}));
        desk.done(&ada, "covibe_team", json!({"operation": "audit_parallel_work"}));
        let start = |name: &str| json!({"operation": "start", "agent_name": name});
        desk.done(&ada, "covibe_session", start("Claude"));
        let session = word(&desk.done(&bob, "covibe_session", start("Codex")), "session_id");
        silent(desk, &session, 31);

        let left = desk.watched(&ada, "covibe_team", json!({"operation": "generate_weekly_summary"}));
        assert_eq!((left.status(), left.events()), ("ok", vec!["weekly_summary.generated"]));
        let data = &left.envelope["data"];
        let markdown = word(data, "markdown");
        assert_eq!(left.one("weekly_summaries")["markdown"], markdown.as_str());
        let has = |heading: &str, parts: &[&str]| {
            let lines = section(&markdown, heading);
            assert_eq!(lines.len(), parts.len(), "{heading}: {lines:?}");
            for part in parts {
                assert!(lines.iter().any(|line| line.contains(part)), "{part} under {heading}: {lines:?}");
            }
        };
        has("Completed", &["**Rename the settings page** (bob, task): It is renamed."]);
        has("Planned", &["**Sort invoices by date** (ada, task)"]);
        has("Active work", &["**Retry uploads** (ada, task)"]);
        has("Blockers", &["**Draw a chart of sales** (bob, task): no data yet", "The key is missing. (ada)"]);
        has("Decisions", &["We retry three times. (bob)"]);
        let escaped = warning.replace('_', "\\_");
        has("Overlap warnings", &[&format!("Retry the uploads (bob, {escaped})")]);
        has("Parallel audits", &["0 pairs that look like the same work, of 2 looked at (ada)"]);
        has("Agent sessions", &["Claude (ada, active)", "Codex (bob, stale)"]);
        let counts = json!({"completed": 1, "planned": 1, "active": 1, "blockers": 2, "decisions": 1,
            "overlap_warnings": 1, "parallel_audits": 1, "sessions": 2, "stale_sessions": 1});
        assert_eq!(data["counts"], counts);

        let request = covenant_testkit::wire::Request::new("GET", "")
            .at("/api/state")
            .with("Authorization", format!("Bearer {ada}"));
        let mut wire = covenant_testkit::wire::Wire::open(desk.port());
        wire.send(&request);
        let page = wire.answer().unwrap().json();
        let stale: Vec<&Value> = page["recentSessions"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|session| session["status"] == "stale")
            .collect();
        assert_eq!((stale.len(), &stale[0]["agentName"]), (1, &json!("Codex")), "{page}");
    });
}

#[test]
fn nothing_people_write_breaks_the_text() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        let title = "x** ](http://evil.example) <script>\n\n## Completed\n\n- `forged`";
        desk.planned(&ada, title);
        desk.done(
            &ada,
            "covibe_note",
            json!({"kind": "decision", "text": "# One\n## Planned\n- two\n\n<b>"}),
        );
        for number in 0..35 {
            let text = format!("decision {number}");
            desk.done(&ada, "covibe_note", json!({"kind": "decision", "text": text}));
        }
        let told = week(desk, &ada);
        let markdown = word(&told, "markdown");
        let headings: Vec<&str> = markdown.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        assert_eq!(headings, SECTIONS, "{markdown}");
        let line =
            "- **x\\*\\* \\](http://evil.example) \\<script\\> \\#\\# Completed - \\`forged\\`** (ada, task)";
        assert_eq!(section(&markdown, "Planned"), [line]);
        let decided = section(&markdown, "Decisions");
        assert_eq!((decided.len(), decided[30]), (31, "- and 6 more"));
        assert_eq!(told["counts"]["decisions"], 36);
    });
}

#[test]
fn the_command_prints_the_week() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        desk.planned(&ada, "Sort invoices by date");
        let printed = desk.home.run(&["team", "summary"]).ok().stdout;
        assert!(printed.starts_with("# Week from 20"), "{printed}");
        assert_eq!(section(&printed, "Planned"), ["- **Sort invoices by date** (ada, task)"]);
        let told = desk.home.run(&["team", "summary", "--json"]).ok().json();
        assert_eq!(
            (&told["counts"]["planned"], told["markdown"].as_str().map(str::trim)),
            (&json!(1), Some(printed.trim()))
        );
        assert!(told["summary_id"].as_str().unwrap().starts_with("sum_"), "{told}");
        let help = desk.home.run(&["team", "summary", "--nonsense"]);
        assert_eq!(help.code(), 2, "{help:?}");
    });
}
