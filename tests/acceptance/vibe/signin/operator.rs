//! The operator's own sessions: short where every port of this machine is sent their cookie, not to be renewed by it, and ended
//! all at once.

use covenant_testkit::sqlite;
use serde_json::json;

use super::browser::Browser;
use super::{dashboard, homes};
use crate::unhurried;

fn signed_in(home: &covenant_testkit::Home, port: u16) -> Browser {
    let mut browser = Browser::new(port);
    let code = dashboard(home, port);
    assert_eq!(browser.post("/auth/link", &[("code", &code)]).status, 303);
    browser
}

#[test]
fn on_plain_loopback_the_operator_is_signed_in_for_half_a_day_and_an_hour_without_use() {
    let home = unhurried();
    let daemon = home.up();
    let mut browser = signed_in(&home, daemon.port());
    let mut is_open = || browser.get("/api/v1/session").status == 200;
    let file = home.path().join("covenant.db");
    let hour = 3_600_000;
    let moved = |column: &str, by: i64| {
        sqlite::execute(&file, &format!("UPDATE web_sessions SET {column} = {column} + {by}"));
    };
    moved("used_at", 60_000 - hour);
    assert!(is_open(), "somebody used it within the hour");
    moved("used_at", -hour - 1000);
    assert!(!is_open(), "nobody used it for an hour");
    moved("used_at", hour + 1000);
    assert!(is_open());
    moved("created_at", -12 * hour);
    assert!(!is_open(), "half a day is over");
}

#[test]
fn a_cookie_makes_no_link_by_which_it_would_be_renewed() {
    let home = unhurried();
    let daemon = home.up();
    let port = daemon.port();
    let mut browser = signed_in(&home, port);
    let ours = format!("Origin: http://127.0.0.1:{port}\r\nX-Covenant-CSRF: {}\r\n", browser.word());
    for (method, path) in [("POST", "/api/v1/session/link"), ("DELETE", "/api/v1/session/all")] {
        let refused = browser.send(method, path, &ours, "");
        assert_eq!((refused.status, &refused.json()["error"]["code"]), (403, &json!("by_cookie")), "{path}");
    }
    assert_eq!(browser.get("/api/v1/clients").status, 200, "what else is the operator's is theirs");
}

#[test]
fn the_operator_ends_every_session_of_theirs_at_once() {
    for home in homes() {
        let daemon = home.up();
        let port = daemon.port();
        let mut browsers = [signed_in(&home, port), signed_in(&home, port)];
        let mut ada = super::joined(&home, port, "ada");
        let link = dashboard(&home, port);
        let out = home.run(&["dashboard", "--sign-out-all", "--json"]).ok().json();
        assert_eq!(out, json!({"ended": 2}));
        for browser in &mut browsers {
            assert_eq!(browser.get("/api/v1/session").status, 401);
        }
        assert_eq!(browsers[0].post("/auth/link", &[("code", &link)]).status, 404, "nor is a link left");
        assert_eq!(ada.get("/api/v1/session").status, 200, "others stay");
        let again = home.run(&["dashboard", "--sign-out-all"]).ok();
        assert!(again.stdout.contains("Sessions that ended: 0."), "{again:?}");
        let rows = home.run(&["audit", "recent", "-n", "1000", "--json"]).ok().json_lines();
        let row = rows.iter().find(|row| row["reason"] == "everywhere: 2 sessions").unwrap();
        assert_eq!((&row["kind"], &row["agent_id"]), (&json!("SignedOut"), &json!("user@local")), "{row}");
    }
}
