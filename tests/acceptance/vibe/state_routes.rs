//! The state, the audit and the week for people who are signed in: by cookie, without any token, and only as meant.

use serde_json::{Value, json};

use super::desk::{Desk, on_both};
use super::signin::browser::Browser;

/// A browser of somebody who was invited before and chooses a password now.
fn signed_in(desk: &Desk<'_>, handle: &str) -> Browser {
    let invited = desk.home.run(&["team", "invite", handle, "--again", "--json"]).ok().json();
    let link = invited["link"].as_str().unwrap().strip_prefix(&desk.url()).unwrap().to_owned();
    let mut browser = Browser::new(desk.port());
    assert_eq!(browser.post(&link, &[("password", "correct horse battery")]).status, 303);
    browser
}

/// The headers of a page of ours that means it.
fn meant(desk: &Desk<'_>, browser: &mut Browser) -> String {
    format!("Origin: {}\r\nX-Covenant-CSRF: {}\r\n", desk.url(), browser.word())
}

fn tokens(desk: &Desk<'_>) -> Value {
    desk.home.run(&["tokens", "list", "--json"]).ok().json()
}

/// VIBE-51, VIBE-71: whoever is signed in has the week told and work audited, as the developer they are; no token is made for it.
#[test]
fn people_who_are_signed_in_audit_and_have_the_week_told_without_a_token() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        let title = "Retry uploads to the storage bucket with exponential backoff";
        desk.started(&ada, title);
        desk.insisted(&ada, json!({"title": title, "task_type": "feature"}));
        let mut browser = signed_in(desk, "ada");
        let before = tokens(desk);
        let meant = meant(desk, &mut browser);
        let developer = desk.book("tasks")[0]["developer_id"].clone();
        for (path, operation, event, status) in [
            ("/api/audit", "audit_parallel_work", "parallel_work.audit", "warning"),
            ("/api/weekly-summary", "generate_weekly_summary", "weekly_summary.generated", "ok"),
        ] {
            let left = desk.watch(|| {
                let answer = browser.send("POST", path, &meant, "");
                assert_eq!(answer.status, 200, "{answer:?}");
                answer.json()
            });
            assert_eq!((left.status(), left.events()), (status, vec![event]), "{left:?}");
            let usage = left.one("usage_events");
            assert_eq!(usage["event"], format!("covibe_team.{operation}"));
            assert_eq!((&usage["developer_id"], &usage["status"]), (&developer, &json!(status)));
            let data = left.envelope["data"].as_object().unwrap();
            assert!(
                data.contains_key("markdown") || data["conflicts"][0]["sides"][0]["same_developer"] == true
            );
        }
        assert_eq!(tokens(desk), before, "no token was made");
    });
}

/// VIBE-87: planned workstreams are in `/api/state` as `plannedWorkstreams`, beside every other list of the state.
#[test]
fn pages_are_told_the_state_in_their_own_names() {
    on_both(|desk| {
        let ada = desk.invite("ada");
        desk.done(&ada, "covibe_workstream", json!({"operation": "plan", "title": "Translate the manual"}));
        desk.planned(&ada, "Sort invoices by date");
        let mut browser = signed_in(desk, "ada");
        let page = browser.get("/api/state").json();
        let [stream] = page["plannedWorkstreams"].as_array().unwrap().as_slice() else { panic!("{page}") };
        assert_eq!((&stream["title"], &stream["owner"]), (&json!("Translate the manual"), &json!("ada")));
        let told = desk.done(&ada, "covibe_team", json!({"operation": "state"}));
        for (name, list) in told.as_object().unwrap() {
            let mut parts = name.split('_');
            let first = parts.next().unwrap().to_owned();
            let camel = parts.fold(first, |name, part| name + &part[..1].to_uppercase() + &part[1..]);
            let length = |list: &Value| list.as_array().map(Vec::len);
            assert_eq!(length(&page[&camel]), length(list), "{camel} for {name}");
        }
        assert_eq!((&page["status"], &page["feedback"]["type"]), (&json!("ok"), &json!("info")));
        let call = &page["nextActions"][0]["call"];
        assert_eq!(
            call["arguments"]["operation"], "check",
            "a call to make stays as the call takes it: {page}"
        );
        assert!(call["arguments"]["planned_task_id"].is_string(), "{page}");
        let few = browser.get("/api/state?limit=1").json();
        assert_eq!(few["plannedWork"].as_array().unwrap().len(), 1);
        let usage = desk.book("usage_events");
        assert!(usage.iter().filter(|row| row["event"] == "covibe_team.state").count() >= 3, "{usage:?}");
    });
}

#[test]
fn only_who_is_known_and_means_it_is_answered() {
    on_both(|desk| {
        desk.invite("ada");
        let client = desk.home.run(&["clients", "add", "eve"]).ok().stdout.trim().to_owned();
        let mut nobody = Browser::new(desk.port());
        let mut browser = signed_in(desk, "ada");
        let word = browser.word();
        for (method, path) in [("GET", "/api/state"), ("POST", "/api/audit"), ("POST", "/api/weekly-summary")]
        {
            assert_eq!(nobody.send(method, path, "", "").status, 401, "{path}");
            let bearer = |token: &str| format!("Authorization: Bearer {token}\r\n");
            let refused = nobody.send(method, path, &bearer(&client), "");
            assert_eq!(
                (refused.status, &refused.json()["error"]["code"]),
                (403, &json!("not_granted")),
                "{path}"
            );
            if method == "POST" {
                let ours = format!("Origin: {}\r\n", desk.url());
                for headers in [
                    String::new(),
                    ours.clone(),
                    format!("X-Covenant-CSRF: {word}\r\n"),
                    format!("{ours}X-Covenant-CSRF: cv_wrong\r\n"),
                ] {
                    let answer = browser.send(method, path, &headers, "");
                    assert_eq!(
                        (answer.status, &answer.json()["error"]["code"]),
                        (403, &json!("csrf")),
                        "{headers}"
                    );
                }
            }
            let foreign = format!("Origin: http://evil.example\r\nX-Covenant-CSRF: {word}\r\n");
            assert_eq!(browser.send(method, path, &foreign, "").status, 403, "{path}");
        }
        for (query, status) in [("limit=0", 422), ("limit=101", 422), ("limit=x", 400), ("most=1", 400)] {
            assert_eq!(browser.get(&format!("/api/state?{query}")).status, status, "{query}");
        }
        assert_eq!((desk.book("parallel_audits").len(), desk.book("weekly_summaries").len()), (0, 0));
        let grants = desk.home.run(&["capabilities", "list", "--json"]).ok().json();
        let own = grants.as_array().unwrap().iter().find(|grant| grant["subject"] == "dev:ada").unwrap();
        desk.home.run(&["capabilities", "revoke", own["id"].as_str().unwrap()]).ok();
        assert_eq!(browser.get("/api/state").status, 403, "what may not be called is not told either");
    });
}

/// VIBE-72: work is planned on a page by who is signed in, with the same look as an agent's, and without a token.
/// VIBE-73, VIBE-74: where it may be duplicate work it is not planned until that is confirmed.
#[test]
fn people_who_are_signed_in_plan_work_and_confirm_what_may_be_a_duplicate() {
    on_both(|desk| {
        let (ada, _) = (desk.invite("ada"), desk.invite("bob"));
        let title = "Retry uploads to the storage bucket with exponential backoff";
        let (theirs, _) = desk.started(&ada, title);
        let mut browser = signed_in(desk, "bob");
        let before = tokens(desk);
        let headers = format!("{}Content-Type: application/json\r\n", meant(desk, &mut browser));
        for (path, tool, book) in
            [("/api/tasks", "covibe_task", "tasks"), ("/api/workstreams", "covibe_workstream", "workstreams")]
        {
            let mut body = json!({"title": title});
            if tool == "covibe_task" {
                body["task_type"] = json!("bug");
            }
            let mut post = |body: &Value, status: u16| {
                desk.watch(|| {
                    let answer = browser.send("POST", path, &headers, &body.to_string());
                    assert_eq!(answer.status, status, "{path} {body}: {answer:?}");
                    answer.json()
                })
            };
            let asked = post(&body, 409);
            assert_eq!(asked.envelope["requires_confirm"], true, "{asked:?}");
            let candidates = asked.envelope["candidates"].as_array().unwrap();
            assert!(candidates.iter().any(|found| found["id"] == theirs.as_str()), "{asked:?}");
            assert!(asked.envelope["warning_id"].as_str().unwrap().starts_with("warn_"), "{asked:?}");
            assert!(asked.of(book).is_empty(), "nothing is planned: {asked:?}");
            body["confirm"] = json!(true);
            let made = post(&body, 201);
            let row = made.of(book).iter().find(|row| row["status"] == "planned").unwrap();
            assert_eq!((&row["title"], made.status()), (&json!(title), "warning"), "{made:?}");
            let usage = made.one("usage_events");
            assert_eq!(
                (usage["event"].as_str().unwrap(), &usage["developer_id"]),
                (&*format!("{tool}.plan"), &row["developer_id"])
            );
            let other = json!({"title": format!("Weigh the piano of {path}"), "task_type": "bug"});
            let other = if tool == "covibe_task" { other } else { json!({"title": other["title"]}) };
            assert_eq!(post(&other, 201).status(), "ok", "what is like nothing needs no confirmation");
            for (bad, status) in [
                (json!({}), 422),
                (json!({"title": ""}), 422),
                (json!({"title": "x", "operation": "start"}), 400),
                (json!({"title": "x", "token": ada}), 400),
                (json!([]), 422),
            ] {
                let left = post(&bad, status);
                assert!(
                    left.of(book).is_empty() && left.envelope["error"]["message"].is_string(),
                    "{left:?}"
                );
            }
        }
        assert_eq!(tokens(desk), before, "no token was made");
        let unmeant =
            browser.send("POST", "/api/tasks", "Content-Type: application/json\r\n", r#"{"title":"x"}"#);
        assert_eq!(unmeant.status, 403, "{unmeant:?}");
    });
}
