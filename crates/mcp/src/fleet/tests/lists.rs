//! Which tools are offered under which names, and how changes reach the registry.

use std::sync::atomic::Ordering;
use std::time::Duration;

use covenant_gate::arrivals::Arrivals as _;
use covenant_model::server::{Prefix, ServerState};
use serde_json::json;

use super::puppets::{Begin, tool};
use super::{World, plan};
use crate::upstream::link::LinkError;
use crate::upstream::wire::WireError;

#[tokio::test]
async fn a_tool_is_listed_as_its_server_wrote_it_but_for_the_name() {
    let world = World::new().await;
    world.stage.lists("a", json!([
        {"name": "echo", "title": "Echo", "icons": [{"src": "x"}], "annotations": {"readOnlyHint": true}, "_meta": {"k": 1.5},
         "outputSchema": {"type": "object"}, "inputSchema": {"type": "object", "properties": {"b": {}, "a": {}}}},
        {"name": "bare"},
    ]));
    world.apply([plan("a")]).await;
    world.fleet.settled("a").await.unwrap();
    let raw = world.listed();
    assert_eq!(raw[0], r#"{"name":"a__bare","inputSchema":{"type":"object"}}"#);
    let echo: serde_json::Value = serde_json::from_str(&raw[1]).unwrap();
    assert_eq!(echo["name"], "a__echo");
    assert_eq!(
        (&echo["_meta"]["k"], &echo["icons"][0]["src"], &echo["title"]),
        (&json!(1.5), &json!("x"), &json!("Echo"))
    );
    assert!(echo.get("description").is_none());
}

#[tokio::test]
async fn tools_that_cannot_be_offered_are_refused_with_the_reason_and_the_others_are_there() {
    let world = World::new().await;
    world.stage.lists("a", json!([
        tool("good"), "no object", {"inputSchema": {}}, {"name": "far", "inputSchema": {"$ref": "https://example.com/x"}},
        {"name": "list", "inputSchema": []}, {"name": "huge", "description": "x".repeat(300_000)},
        tool("a.b"), tool("a/b"), {"name": "round", "inputSchema": {"type": "object", "properties": {"c": {"$ref": "#"}}}},
    ]));
    world.apply([plan("a")]).await;
    let status = world.fleet.settled("a").await.unwrap();
    assert_eq!(status.tools, ["a__a_b", "a__good", "a__round"]);
    let refused: Vec<_> = status.refused.iter().map(|refused| refused.tool.as_str()).collect();
    assert_eq!(refused, ["?", "?", "far", "list", "huge", "a/b"]);
    assert!(status.refused.iter().all(|refused| !refused.reason.is_empty()));
}

#[tokio::test]
async fn only_a_server_that_never_said_what_it_has_is_waited_for() {
    let mut world = World::new().await;
    world.stage.begins("a", [Begin::Late(Duration::from_secs(5))]);
    world.apply([plan("a"), plan("b")]).await;
    world.fleet.settled("b").await.unwrap();
    for name in ["b__more", "a_echo", "ab__echo", "clock", ""] {
        assert!(world.fleet.awaited(name).is_none(), "{name}");
    }
    world.fleet.awaited("a__echo").expect("it may come").await;
    assert_eq!(world.status("a").tools, ["a__echo"]);
    assert!(world.fleet.awaited("a__more").is_none());
    // Over a restart its list is known before it answers.
    world.again();
    world.apply([plan("a")]).await;
    assert_eq!(world.status("a").state, ServerState::Starting);
    assert!(world.fleet.awaited("a__more").is_none());
}

#[tokio::test]
async fn a_server_without_a_prefix_may_bring_any_name_and_is_not_waited_for_long() {
    let world = World::new().await;
    world.stage.begins("a", [Begin::Hangs]);
    world.stage.begins("b", [Begin::Late(Duration::from_secs(1))]);
    world.stage.lists("b", json!([tool("thing")]));
    let bare = |name| covenant_model::server::Plan { prefix: Prefix::None, ..plan(name) };
    let begun = tokio::time::Instant::now();
    world.apply([bare("a"), bare("b")]).await;
    world.fleet.awaited("thing").expect("it may come").await;
    assert_eq!(world.status("b").tools, ["thing"]);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(world.status("a").state, ServerState::Starting);
    assert!(world.fleet.awaited("anything").is_none());
}

#[tokio::test]
async fn a_list_that_could_not_be_had_is_asked_for_again_and_the_status_says_so() {
    let world = World::ready(plan("a")).await;
    let puppet = world.stage.puppet("a");
    let refused = || LinkError::NotAResult("answered `tools/list` with nonsense".to_owned());
    puppet.refuses([refused(), refused(), refused()]);
    puppet.changes(&json!([tool("more")]));
    while world.status("a").error.is_none() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let status = world.status("a");
    let error = status.error.unwrap();
    assert!(error.contains("with nonsense") && error.contains("asked again in 1 s"), "{error}");
    assert_eq!((status.state, status.tools), (ServerState::Ready, vec!["a__echo".to_owned()]));
    let begun = tokio::time::Instant::now();
    while world.status("a").tools != ["a__more"] {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!((6..9).contains(&begun.elapsed().as_secs()), "later each time: {:?}", begun.elapsed());
    assert!(world.status("a").error.is_none());
}

#[tokio::test]
async fn a_server_that_forgot_our_session_is_greeted_and_listed_anew() {
    let world = World::new().await;
    world.apply([plan("a"), plan("b")]).await;
    for (name, says_so) in [("a", true), ("b", false)] {
        world.until(name, ServerState::Ready).await;
        tokio::time::sleep(Duration::from_mins(1)).await;
        world.stage.lists(name, json!([tool("new")]));
        let puppet = world.stage.puppet(name);
        if says_so {
            puppet.forgets();
        } else {
            puppet.refuses([LinkError::Wire(WireError::SessionLost)]);
            puppet.says_changed();
        }
        let mut changed = world.gate.changed();
        changed.mark_unchanged();
        changed.changed().await.unwrap();
        assert_eq!((world.status(name).tools, world.stage.tries(name)), (vec![format!("{name}__new")], 2));
        puppet.is_closed().await;
    }
}

#[tokio::test]
async fn a_server_that_forgets_each_session_at_once_is_left_alone_before_long() {
    let world = World::ready(plan("a")).await;
    let forgetful = async {
        loop {
            world.stage.puppet("a").forgets();
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let quarantined = world.until("a", ServerState::Quarantined);
    let status = tokio::select! {
        status = quarantined => status,
        () = forgetful => unreachable!(),
    };
    assert!(status.error.unwrap().contains("no longer knows our session"));
    assert_eq!(world.stage.tries("a"), 5);
}

#[tokio::test]
async fn what_is_not_included_or_is_excluded_is_not_offered() {
    let world = World::new().await;
    world.stage.lists("a", json!([tool("read_one"), tool("read_all"), tool("write")]));
    let mut some = plan("a");
    (some.include, some.exclude) = (vec!["read_*".to_owned()], vec!["*_all".to_owned()]);
    world.apply([some]).await;
    assert_eq!(world.fleet.settled("a").await.unwrap().tools, ["a__read_one"]);
}

#[tokio::test]
async fn a_change_is_taken_over_and_announced_and_no_change_is_not() {
    let world = World::ready(plan("a")).await;
    let mut changed = world.gate.changed();
    changed.mark_unchanged();
    let puppet = world.stage.puppet("a");
    puppet.changes(&json!([tool("echo"), tool("more")]));
    changed.changed().await.unwrap();
    assert_eq!(world.status("a").tools, ["a__echo", "a__more"]);
    let lists = puppet.lists.load(Ordering::SeqCst);
    puppet.says_changed();
    while puppet.lists.load(Ordering::SeqCst) == lists {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(!changed.has_changed().unwrap());
}

#[tokio::test]
async fn a_server_that_always_says_it_changed_is_asked_once_a_second() {
    let world = World::ready(plan("a")).await;
    let puppet = world.stage.puppet("a");
    let flood = async {
        loop {
            puppet.says_changed();
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let _ = tokio::time::timeout(Duration::from_secs(10), flood).await;
    let lists = puppet.lists.load(Ordering::SeqCst);
    assert!((6..=12).contains(&lists), "{lists}");
    assert_eq!(world.status("a").state, ServerState::Ready);
}

#[tokio::test]
async fn lists_from_earlier_are_there_while_servers_start_and_calls_wait_for_them() {
    let mut world = World::ready(plan("a")).await;
    world.fleet.stop().await;
    world.again();
    world.stage.begins("a", [Begin::Late(Duration::from_secs(9))]);
    world.apply([plan("a")]).await;
    let status = world.status("a");
    assert_eq!((status.state, status.tools), (ServerState::Starting, vec!["a__echo".to_owned()]));
    assert!(world.call("a", "echo").await.is_object());
}

#[tokio::test]
async fn a_list_with_a_secret_in_it_is_offered_and_not_kept() {
    let world = World::ready(plan("a")).await;
    let kept = || world.notes.notes.lock().len();
    assert_eq!(kept(), 1);
    let puppet = world.stage.puppet("a");
    let told = json!([{"name": "told", "description": "the key is hunter2-hunter2"}]);
    let hidden = json!([{"name": "hidden", "inputSchema": {"type": "object", "x": ["hunter2-hunter2"]}}]);
    for list in [told, hidden] {
        let mut changed = world.gate.changed();
        changed.mark_unchanged();
        puppet.changes(&list);
        changed.changed().await.unwrap();
        while kept() > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        puppet.changes(&json!([tool("echo")]));
        while kept() == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

#[tokio::test]
async fn a_note_in_which_something_has_become_a_secret_since_is_not_used() {
    let mut world = World::new().await;
    world.stage.lists("a", json!([{"name": "echo", "description": "of the new-secret-value"}]));
    world.apply([plan("a")]).await;
    world.fleet.settled("a").await.unwrap();
    world.fleet.stop().await;
    assert_eq!(world.notes.notes.lock().len(), 1);
    world.gate.set_redactor(covenant_model::redact::Redactor::new([("NEW", "new-secret-value")]));
    world.again();
    world.stage.begins("a", [Begin::Hangs]);
    world.apply([plan("a")]).await;
    assert_eq!((world.status("a").tool_count, world.notes.notes.lock().len()), (0, 0));
}

#[tokio::test]
async fn a_list_that_changes_all_the_time_is_asked_for_less_and_less_and_seldom_written() {
    let world = World::ready(plan("a")).await;
    let puppet = world.stage.puppet("a");
    let flap = async {
        for at in 0.. {
            puppet.changes(&json!([tool("echo"), tool(&format!("more{at}"))]));
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let _ = tokio::time::timeout(Duration::from_mins(10), flap).await;
    let lists = puppet.lists.load(Ordering::SeqCst);
    assert!((8..=20).contains(&lists), "{lists}");
    let kept = world.notes.kept.load(Ordering::SeqCst);
    assert!((2..=12).contains(&kept), "{kept}");
    puppet.changes(&json!([tool("last")]));
    let is_kept = || {
        let notes = world.notes.notes.lock();
        notes.values().any(|note| String::from_utf8_lossy(note).contains("\"last\""))
    };
    while !is_kept() {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(world.status("a").tools, ["a__last"]);
}

#[tokio::test]
async fn however_many_tools_a_server_has_their_patterns_take_bounded_room() {
    let world = World::new().await;
    let with_pattern = |number: usize| {
        let schema = json!({"type": "object", "properties": {"a": {"pattern": format!("^(?:[ab][cd]){{200}}x{number}$")}}});
        json!({"name": format!("t{number}"), "inputSchema": schema})
    };
    let list = |from: usize, to: usize| json!((from..to).map(with_pattern).collect::<Vec<_>>());
    let taken = || {
        let server = world.fleet.find("a").unwrap().unwrap();
        let taken = server.shared.catalogue.taken(&server);
        let patterns: usize = taken.iter().map(|taken| taken.prepared.patterns()).sum();
        (taken.len(), patterns)
    };
    world.stage.lists("a", list(0, 200));
    world.apply([plan("a")]).await;
    world.fleet.settled("a").await.unwrap();
    let (tools, before) = taken();
    assert_eq!(tools, 200, "they are all offered");
    assert!((4 << 20..=8 << 20).contains(&before), "{before}");
    // Tools that come later get what is left.
    world.stage.puppet("a").changes(&list(100, 300));
    let server = world.fleet.find("a").unwrap().unwrap();
    crate::upstream::tests::until("the new ones", || {
        server.shared.catalogue.taken(&server).iter().any(|taken| taken.tool.own == "t299")
    })
    .await;
    let (tools, after) = taken();
    assert_eq!(tools, 200);
    assert!(after <= 8 << 20, "{after}");
}
