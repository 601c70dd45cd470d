//! The check before the start holds when many are in a hurry, and for workstreams and containers as for tasks.

use std::thread;

use serde_json::{Value, json};

use super::desk::{Desk, on_both, word};

fn task(operation: &str, title: &str) -> Value {
    json!({"operation": operation, "title": title, "task_type": "bug"})
}

const AGENTS: usize = 32;

/// Of agents that all looked before anybody began, each for what it calls the work and says of it, exactly one starts; what the
/// others are told.
fn race(
    desk: &Desk<'_>,
    tokens: &[String],
    work: impl Fn(usize) -> (&'static str, &'static str) + Sync,
) -> Vec<Value> {
    let said = |operation: &str, agent: usize| {
        let (title, description) = work(agent);
        let mut said = task(operation, title);
        said["description"] = json!(description);
        said
    };
    for (agent, token) in tokens.iter().enumerate() {
        desk.done(token, "covibe_task", said("check", agent));
    }
    let told: Vec<Value> = thread::scope(|scope| {
        let start = |(agent, token): (usize, &String)| {
            let (said, token) = (said("start", agent), token.clone());
            scope.spawn(move || desk.call(&token, "covibe_task", said))
        };
        let running: Vec<_> = tokens.iter().enumerate().map(start).collect();
        running.into_iter().map(|agent| agent.join().unwrap()).collect()
    });
    let first = told.iter().position(|told| told["status"] == "ok").unwrap();
    let (started, blocked): (Vec<_>, Vec<_>) = told.into_iter().partition(|told| told["status"] == "ok");
    assert_eq!(started.len(), 1, "{started:?}");
    let winner = &started[0]["data"]["task_id"];
    for told in &blocked {
        assert_eq!(told["status"], "blocked", "{told}");
        assert_eq!(&told["data"]["candidates"][0]["id"], winner, "{told}");
        assert_eq!(told["data"]["candidates"][0]["owner"], format!("dev{first}"), "it is told who has it");
    }
    blocked
}

#[test]
fn of_thirty_two_that_looked_and_start_at_once_one_starts_and_the_others_are_told_who_has_it() {
    on_both(|desk| {
        let tokens: Vec<String> = (0..AGENTS).map(|agent| desk.invite(&format!("dev{agent}"))).collect();
        race(desk, &tokens, |_| ("Paginate the invoice export endpoint", ""));
        let words = [
            "Deduplicate webhook deliveries",
            "Webhook deliveries: deduplicate them",
            "deduplicate the webhook deliveries!",
        ];
        let blocked = race(desk, &tokens, |agent| (words[agent % words.len()], ""));
        // The second look counts as a look: judged by its id, the work may start.
        let data = &blocked[0]["data"];
        let verdict = json!([{"candidate_id": data["candidates"][0]["id"], "same_scope": false, "reason": "Another queue."}]);
        let loser =
            desk.book("preflight_checks").into_iter().find(|row| row["id"] == data["check_id"]).unwrap();
        let at = tokens.iter().enumerate().find(|(agent, _)| {
            let id = desk.row("preflight_checks", &word(data, "check_id"))["developer_id"].clone();
            developer(desk, *agent) == id
        });
        let (_, token) = at.unwrap_or_else(|| panic!("nobody made {loser}"));
        let mut start = task("start", data["title"].as_str().unwrap());
        start["check_id"] = data["check_id"].clone();
        start["scope_verdict"] = verdict;
        assert_eq!(desk.call(token, "covibe_task", start)["status"], "ok");
        // The same work, as each understood it.
        let accounts = [
            (
                "Fix login redirect loop on Safari",
                "Support has eleven tickets. The cookie is dropped because of SameSite and the page asks again.",
            ),
            (
                "Login redirect loop on Safari",
                "Reproduced with an iPhone. After the password the browser bounces between two addresses.",
            ),
            (
                "Fix the login redirect loop on Safari",
                "Nobody can buy anything since Tuesday. Look at what the proxy does to the header first.",
            ),
        ];
        race(desk, &tokens, |agent| accounts[agent % accounts.len()]);
    });
}

#[test]
fn of_thirty_two_sessions_of_one_developer_that_start_at_once_one_starts() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        let sessions: Vec<String> = (0..AGENTS).map(|_| desk.session(&ada)).collect();
        let call = |operation: &str, session: &str| {
            let mut call = task(operation, "Paginate the invoice export endpoint");
            call["session_id"] = json!(session);
            call
        };
        for session in &sessions {
            desk.done(&ada, "covibe_task", call("check", session));
        }
        let told: Vec<Value> = thread::scope(|scope| {
            let start = |session: &String| {
                let start = call("start", session);
                scope.spawn(|| desk.call(&ada, "covibe_task", start))
            };
            let running: Vec<_> = sessions.iter().map(start).collect();
            running.into_iter().map(|session| session.join().unwrap()).collect()
        });
        let (started, blocked): (Vec<_>, Vec<_>) = told.iter().partition(|told| told["status"] == "ok");
        let [winner] = started[..] else { panic!("{started:?}") };
        for told in &blocked {
            assert_eq!(
                (&told["status"], &told["message"]),
                (&json!("blocked"), &json!("Possible duplicate work found."))
            );
            let [candidate] = told["data"]["candidates"].as_array().unwrap().as_slice() else {
                panic!("{told}")
            };
            assert_eq!(
                (&candidate["id"], &candidate["owner"], &candidate["same_developer"]),
                (&winner["data"]["task_id"], &json!("ada"), &json!(true)),
                "{told}"
            );
        }
        assert_eq!((blocked.len(), desk.book("tasks").len()), (AGENTS - 1, 1));
        let at = told.iter().position(|told| told["status"] == "ok").unwrap();
        assert_eq!(
            desk.book("tasks")[0]["session_id"],
            json!(sessions[at]),
            "in the session that started it"
        );
    });
}

/// The id of a developer by the number in their handle, as their tasks and checks name it.
fn developer(desk: &Desk<'_>, agent: usize) -> Value {
    let members = desk.home.run(&["team", "members", "--json"]).ok().json();
    let handle = format!("dev{agent}");
    let member = members.as_array().unwrap().iter().find(|member| member["handle"] == handle).unwrap();
    member["id"].clone()
}

/// VIBE-89: a planned workstream is a candidate for others.
/// VIBE-90: planned work needs a recent check of the same title, of a task about that very one.
/// VIBE-91: and is looked at again as it starts.
#[test]
fn planned_work_is_looked_at_again_as_it_starts() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let title = "Migrate billing to the ledger service";
        let stream = |operation: &str| json!({"operation": operation, "title": title});
        let planned = word(&desk.done(&ada, "covibe_workstream", stream("plan")), "workstream_id");
        let told = desk.call(&bob, "covibe_workstream", stream("check"));
        let candidate = &told["data"]["candidates"][0];
        assert_eq!(
            (&told["status"], &candidate["id"], &candidate["type"]),
            (&json!("warning"), &json!(planned), &json!("workstream")),
            "{told}"
        );

        let start = json!({"operation": "start_planned", "workstream_id": planned});
        assert_eq!(desk.call(&ada, "covibe_workstream", start.clone())["status"], "blocked", "nobody looked");
        desk.done(&ada, "covibe_workstream", stream("check"));
        // Bob starts the same meanwhile, with a reason.
        let verdict = json!([{"candidate_id": planned, "same_scope": true, "reason": "The same."}]);
        let theirs = json!({"operation": "start", "title": title, "check_id": told["data"]["check_id"], "scope_verdict": verdict,
            "confirmation_reason": "Ada is away."});
        desk.done(&bob, "covibe_workstream", theirs);
        let left = desk.watched(&ada, "covibe_workstream", start.clone());
        assert_eq!((left.status(), left.of("workstreams").len()), ("blocked", 0), "{left:?}");
        let data = &left.envelope["data"];
        assert_eq!(data["candidates"][0]["owner"], "bob", "{data}");
        let mut judged = start;
        judged["check_id"] = data["check_id"].clone();
        judged["scope_verdict"] =
            json!([{"candidate_id": data["candidates"][0]["id"], "same_scope": false, "reason": "Agreed."}]);
        let left = desk.watched(&ada, "covibe_workstream", judged);
        assert_eq!(left.status(), "ok", "{left:?}");
        assert!(
            left.events().contains(&"workstream.checked") && left.events().contains(&"scope.judged"),
            "{left:?}"
        );

        // Of a planned task a check of its title alone does not count.
        let mine = desk.planned(&ada, "Sharpen the lathe");
        desk.call(&ada, "covibe_task", task("check", "Sharpen the lathe"));
        let start = json!({"operation": "start_planned", "planned_task_id": mine});
        assert_eq!(desk.call(&ada, "covibe_task", start)["status"], "blocked");
    });
}

/// VIBE-155: a task that names no workstream goes to the best of its owner's that runs.
/// VIBE-160: of a container its tasks are compared, and not the container.
#[test]
fn a_task_finds_its_workstream_and_a_container_is_never_found_itself() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let billing = desk.stream(&ada, "Migrate billing to the ledger service");
        let others = desk.stream(&ada, "Redraw the icons of the mobile app");
        let theirs = desk.stream(&bob, "Archive of audited billing");
        let placed = |title: &str| desk.started(&ada, title).1;
        assert_eq!(placed("Write billing entries to the ledger service"), billing);
        assert_eq!(placed("Icons of the mobile app: redraw the bell"), others);
        let left = desk.watched(&ada, "covibe_task", task("plan", "Teach the parrot to whistle"));
        let container = word(left.one("workstreams"), "id");
        assert!(![billing, others, theirs].contains(&container));
        let told = desk.call(&bob, "covibe_task", task("check", "Teach the parrot to whistle"));
        let found = told["data"]["matches"].as_array().unwrap();
        assert_eq!(found.len(), 1, "{told}");
        assert_eq!(found[0]["id"], left.one("tasks")["id"], "{told}");
    });
}

#[test]
fn a_workstream_does_not_start_beside_a_plan_of_the_same_title() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        let stream = |operation: &str| json!({"operation": operation, "title": "Migrate billing to the ledger service"});
        let planned = word(&desk.done(&ada, "covibe_workstream", stream("plan")), "workstream_id");
        desk.done(&ada, "covibe_workstream", stream("check"));
        let told = desk.call(&ada, "covibe_workstream", stream("start"));
        assert_eq!(
            (&told["status"], &told["data"]["candidates"][0]["id"]),
            (&json!("blocked"), &json!(planned)),
            "{told}"
        );
        assert_eq!(told["data"]["missing_verdicts"], json!([planned]), "{told}");
        let mut begin = stream("start_planned");
        begin["workstream_id"] = json!(planned);
        desk.done(&ada, "covibe_workstream", stream("check"));
        desk.done(&ada, "covibe_workstream", begin);
    });
}

#[test]
fn a_warning_is_settled_once_and_what_was_said_of_it_stays() {
    on_both(|desk| {
        let (ada, bob) = (desk.invite("ada"), desk.invite("bob"));
        let title = "Retry failed uploads with exponential backoff";
        desk.started(&ada, title);
        let told = desk.call(&bob, "covibe_task", task("check", title));
        let (warning, check) = (word(&told["data"], "warning_id"), word(&told["data"], "check_id"));
        let dismiss =
            json!({"operation": "dismiss", "warning_id": warning, "reason": "Ours is the mobile app."});
        desk.done(&bob, "covibe_warning", dismiss);
        let mut start = task("start", title);
        start["check_id"] = json!(check);
        start["scope_verdict"] = json!([{"candidate_id": told["data"]["candidates"][0]["id"], "same_scope": false, "reason": "Mobile."}]);
        desk.done(&bob, "covibe_task", start);
        let kept = desk.row("overlap_warnings", &warning);
        assert_eq!(
            (word(&kept, "status"), word(&kept, "reason")),
            ("dismissed".into(), "Ours is the mobile app.".into())
        );
    });
}
