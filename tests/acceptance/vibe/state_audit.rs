//! Work that is done twice: found among what runs and what was done lately, told once, kept, and heeded while it matters.

use serde_json::{Value, json};

use super::desk::{Desk, Left, homes, on_both, payload, word};
use super::state::state;

const TITLE: &str = "Retry uploads to the storage bucket with exponential backoff";

fn same(title: &str) -> Value {
    json!({"title": title, "task_type": "feature"})
}

fn audit(desk: &Desk<'_>, token: &str) -> Left {
    desk.watched(token, "covibe_team", json!({"operation": "audit_parallel_work"}))
}

/// The ids of the two sides of each pair, each pair in the order of the alphabet.
fn pairs(told: &Value) -> Vec<Vec<String>> {
    let conflicts = told["conflicts"].as_array().unwrap();
    let mut pairs: Vec<Vec<String>> = conflicts
        .iter()
        .map(|conflict| {
            let sides = conflict["sides"].as_array().unwrap();
            let mut ids: Vec<String> = sides.iter().map(|side| word(side, "id")).collect();
            ids.sort();
            ids
        })
        .collect();
    pairs.sort();
    pairs
}

fn pair(one: &str, other: &str) -> Vec<String> {
    let mut pair = vec![one.to_owned(), other.to_owned()];
    pair.sort();
    pair
}

fn complete(desk: &Desk<'_>, token: &str, task: &str) {
    desk.done(
        token,
        "covibe_task",
        json!({"operation": "complete", "task_id": task, "result_summary": "It is done."}),
    );
}

/// VIBE-68, VIBE-69: active, blocked and lately completed work is compared; of what runs twice a pair is told once, with both
/// sides, and it is a warning.
#[test]
fn running_work_that_is_the_same_work_is_a_warning() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let (task, _) = desk.started(&ada, TITLE);
        desk.started(&ada, "Draw a chart of daily active customers");
        let plan = json!({"operation": "plan", "task_type": "feature",
            "title": "Retry the uploads to the storage bucket, with exponential backoff"});
        assert_eq!(desk.call(&bob, "covibe_task", plan)["status"], "warning");
        let clean = audit(desk, &bob);
        assert_eq!(
            (clean.status(), &clean.envelope["data"]["conflicts"]),
            ("ok", &json!([])),
            "plans do not run"
        );
        assert_eq!(clean.envelope["data"]["looked_at"], 2);

        let twin = desk.insisted(&bob, same(TITLE));
        desk.done(&bob, "covibe_task", json!({"operation": "update", "task_id": twin, "status": "blocked"}));
        let found = audit(desk, &bob);
        let data = &found.envelope["data"];
        assert_eq!((found.status(), pairs(data)), ("warning", vec![pair(&task, &twin)]));
        let conflict = &data["conflicts"][0];
        assert!(conflict["score"].as_f64().unwrap() >= 0.6, "{conflict}");
        assert!(conflict["reason"].as_str().unwrap().contains("same title"), "{conflict}");
        let side = |id: &str| {
            let sides = conflict["sides"].as_array().unwrap();
            sides.iter().find(|side| side["id"] == id).unwrap().clone()
        };
        assert_eq!(
            side(&task),
            json!({"id": task, "kind": "task", "title": TITLE, "owner": "ada", "status": "active", "same_developer": false})
        );
        assert_eq!(
            side(&twin),
            json!({"id": twin, "kind": "task", "title": TITLE, "owner": "bob", "status": "blocked", "same_developer": true})
        );
        assert_eq!((&data["looked_at"], &data["left_out"]), (&json!(3), &json!(0)));
        assert_eq!(found.one("agent_feedback_events")["event"], "covibe_team.audit_parallel_work");
    });
}

#[test]
fn a_task_and_its_workstream_are_not_the_same_work_twice() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        let stream = desk.stream(&ada, TITLE);
        let task = desk.insisted(&ada, json!({"title": TITLE, "task_type": "bug", "workstream_id": stream}));
        assert_eq!(desk.row("tasks", &task)["workstream_id"], stream);
        let told = audit(desk, &ada);
        assert_eq!((told.status(), &told.envelope["data"]["looked_at"]), ("ok", &json!(2)), "{told:?}");
    });
}

/// VIBE-70: work that repeats what was done within the last 14 days is a warning; what was done before is not.
#[test]
fn running_work_that_was_done_lately_is_a_warning() {
    for (home, database) in homes() {
        let desk = Desk::at(&home, database);
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let (first, _) = desk.started(&ada, TITLE);
        complete(&desk, &ada, &first);
        let again = desk.insisted(&bob, same(TITLE));
        let told = audit(&desk, &ada);
        assert_eq!((told.status(), pairs(&told.envelope["data"])), ("warning", vec![pair(&first, &again)]));
        let sides = &told.envelope["data"]["conflicts"][0]["sides"];
        let mut stand = [word(&sides[0], "status"), word(&sides[1], "status")];
        stand.sort();
        assert_eq!(stand, ["active", "done"]);
        let back = |days: u64| {
            let millis = days * 86_400_000;
            format!(
                "UPDATE tasks SET ended_at = ended_at - {millis}, updated_at = updated_at - {millis} WHERE id = '{first}'"
            )
        };
        desk.meddle(&back(13));
        let desk = desk.again();
        assert_eq!(audit(&desk, &ada).status(), "warning", "13 days are lately");
        desk.meddle(&back(2));
        let desk = desk.again();
        assert_eq!(audit(&desk, &ada).status(), "ok", "15 days are not");
    }
}

/// VIBE-66, VIBE-67: while work of the latest audit's pairs runs, `state` is a warning that has them; once both are done they are
/// still told, and are none.
#[test]
fn what_the_latest_audit_found_is_heeded_while_it_runs() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let (task, _) = desk.started(&ada, TITLE);
        let twin = desk.insisted(&bob, same(TITLE));
        assert_eq!(state(desk, &ada)["status"], "ok", "nobody looked yet");
        audit(desk, &bob);
        let left = desk.watched(&ada, "covibe_team", json!({"operation": "state"}));
        let data = &left.envelope["data"];
        assert_eq!(left.status(), "warning");
        assert_eq!(left.of("agent_feedback_events").len(), 1);
        let [latest] = data["latest_parallel_audits"].as_array().unwrap().as_slice() else {
            panic!("{data}")
        };
        assert_eq!((&latest["owner"], &latest["conflicts"]), (&json!("bob"), &json!(1)));
        let conflict = &data["parallel_audit_conflicts"][0];
        assert_eq!(
            (conflict["active"].clone(), conflict["sides"].as_array().unwrap().len()),
            (json!(true), 2)
        );
        let action = &data["next_actions"][0];
        assert_eq!(
            (&action["kind"], &action["call"]["arguments"]["to"]),
            (&json!("parallel_work"), &json!("bob"))
        );
        // It is worth following: whose the other is, is asked, with what it is about.
        desk.done(&ada, word(&action["call"], "tool").as_str(), action["call"]["arguments"].clone());
        let asked = desk.done(&bob, "covibe_coordination", json!({"operation": "inbox"}));
        assert!(asked["messages"].to_string().contains(&task), "{asked}");

        complete(desk, &bob, &twin);
        assert_eq!(state(desk, &ada)["status"], "warning", "hers repeats what was done");
        complete(desk, &ada, &task);
        let told = state(desk, &ada);
        assert_eq!(told["status"], "ok", "{told}");
        let conflict = &told["data"]["parallel_audit_conflicts"][0];
        assert_eq!(conflict["active"], false, "it is still told: {told}");
        assert_eq!(conflict["sides"][0]["status"], "done");
        assert_eq!(told["data"]["latest_parallel_audits"].as_array().unwrap().len(), 1);
    });
}

/// VIBE-75, VIBE-179: audits, weeks and work that is given up are written down, the audit with bounded details that are there
/// after a restart.
#[test]
fn what_an_audit_found_is_not_lost() {
    for (home, database) in homes() {
        let desk = Desk::at(&home, database);
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let title = format!("{TITLE} {}", "and a title that goes on ".repeat(9));
        let tasks: Vec<String> =
            (0..6).map(|number| desk.insisted(if number < 3 { &ada } else { &bob }, same(&title))).collect();
        let found = audit(&desk, &ada);
        assert_eq!(pairs(&found.envelope["data"]).len(), 15, "each with each other");
        assert_eq!(found.events(), ["parallel_work.audit"]);
        let event = found.one("work_events");
        let id = word(&found.envelope["data"], "audit_id");
        assert_eq!((&event["subject_id"], &event["status"]), (&json!(id), &json!("warning")));
        assert!(event["payload_json"].as_str().unwrap().len() <= 8 * 1024, "{event}");
        let details = payload(event);
        let kept = details["conflicts"].as_array().unwrap().len();
        assert!((1..15).contains(&kept), "{details}");
        assert_eq!(details["conflicts_left_out"], 15 - kept);
        assert_eq!(found.one("parallel_audits")["id"], id);

        let week = desk.watched(&ada, "covibe_team", json!({"operation": "generate_weekly_summary"}));
        assert_eq!(week.events(), ["weekly_summary.generated"]);
        let cancel = json!({"operation": "cancel", "task_id": tasks[0], "reason": "twice"});
        assert_eq!(desk.watched(&ada, "covibe_task", cancel).events()[0], "task.cancelled");
        let plan = json!({"operation": "plan", "title": "Translate the manual"});
        let stream = word(&desk.done(&ada, "covibe_workstream", plan), "workstream_id");
        let cancel = json!({"operation": "cancel", "workstream_id": stream, "reason": "no"});
        assert_eq!(desk.watched(&ada, "covibe_workstream", cancel).events(), ["workstream.cancelled"]);

        let desk = desk.again();
        let told = state(&desk, &ada);
        assert_eq!(told["data"]["latest_parallel_audits"][0]["audit_id"], id);
        let conflicts = told["data"]["parallel_audit_conflicts"].as_array().unwrap();
        assert_eq!(conflicts.len(), 15);
        let given_up = |conflict: &&Value| conflict["sides"].to_string().contains(&tasks[0]);
        assert_eq!(conflicts.iter().filter(given_up).count(), 5);
        assert!(conflicts.iter().filter(given_up).all(|conflict| conflict["active"] == false), "{told}");
    }
}

#[test]
fn an_audit_looks_at_what_changed_last_and_tells_so_many_pairs() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        for _ in 0..11 {
            desk.insisted(&ada, same(TITLE));
        }
        let told = audit(desk, &ada);
        let data = &told.envelope["data"];
        assert_eq!((pairs(data).len(), &data["conflicts_left_out"]), (50, &json!(5)), "of 55 pairs");
        let columns = "id, workspace_id, developer_id, title, description, scope, target_files, task_type, priority, \
                       status, created_at, updated_at, turn";
        let copied = "'', '', '[]', 'bug', 'normal', 'active', 1, 1, turn FROM tasks";
        let rows: Vec<String> = (0..500)
            .map(|number| {
                let title = format!("Part {number} of the parser");
                format!(
                    "SELECT 'task_copy{number}', workspace_id, developer_id, '{title}', {copied} WHERE id = '{}'",
                    word(&data["conflicts"][0]["sides"][0], "id")
                )
            })
            .collect();
        for some in rows.chunks(100) {
            desk.meddle(&format!("INSERT INTO tasks ({columns}) {}", some.join(" UNION ALL ")));
        }
        let told = audit(desk, &ada);
        let data = &told.envelope["data"];
        assert_eq!((&data["looked_at"], &data["left_out"]), (&json!(500), &json!(11)), "{data}");
        assert_eq!(pairs(data).len(), 50, "those that changed last are among it");
    });
}
