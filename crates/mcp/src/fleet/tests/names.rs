//! Whom names belong to: always to the first that is configured, and never to another because the first is away.

use std::sync::Arc;
use std::time::Duration;

use covenant_gate::clock::SystemClock;
use covenant_model::server::{Plan, Prefix, ServerState, reserved};
use serde_json::{Value, json};

use super::puppets::{Begin, tool};
use super::{World, plan, wanted};
use crate::fleet::{Fleet, Wanted};
use crate::upstream::dial::HANDSHAKE;

/// A server whose tools keep their own names.
fn bare(name: &str) -> Plan {
    Plan { prefix: Prefix::None, ..plan(name) }
}

fn off(plan: Plan) -> Wanted {
    Wanted { enabled: false, ..wanted(plan) }
}

fn tools(names: &[&str]) -> Value {
    names.iter().map(|name| tool(name)).collect()
}

impl World {
    async fn settled(&self, names: &[&str]) {
        for name in names {
            self.fleet.settled(name).await.unwrap();
        }
    }

    /// Why that server's tool is not offered.
    fn reason(&self, server: &str, tool: &str) -> String {
        let refused = self.status(server).refused;
        refused.into_iter().find(|refused| refused.tool == tool).expect("it is refused").reason
    }

    /// Two servers without a prefix that both list `look`; the first has it.
    async fn rivals() -> Self {
        let world = Self::new().await;
        world.stage.lists("first", tools(&["look", "own"]));
        world.stage.lists("second", tools(&["look", "more"]));
        world.apply([bare("first"), bare("second")]).await;
        world.settled(&["first", "second"]).await;
        assert_eq!(world.status("first").tools, ["look", "own"]);
        world.still_refused();
        world
    }

    fn still_refused(&self) {
        assert_eq!(self.status("second").tools, ["more"]);
        let reason =
            "the name `look` belongs to the server `first`: set `prefix` in the entry of this server";
        assert_eq!(self.reason("second", "look"), reason);
    }
}

#[tokio::test]
async fn who_is_configured_first_has_the_name_however_late_it_comes() {
    let world = World::new().await;
    world.stage.begins("slow", [Begin::Late(Duration::from_secs(5))]);
    world.stage.lists("slow", tools(&["look"]));
    world.stage.lists("fast", tools(&["look", "own__one"]));
    world.apply([bare("slow"), bare("fast")]).await;
    world.settled(&["fast"]).await;
    assert_eq!(world.status("fast").tools, ["look", "own__one"]);
    world.settled(&["slow"]).await;
    assert_eq!(world.status("slow").tools, ["look"]);
    assert_eq!(world.status("fast").tools, ["own__one"]);
}

#[tokio::test]
async fn a_name_stays_with_a_server_that_was_disconnected() {
    let world = World::rivals().await;
    assert_eq!(world.fleet.disconnect("first").await.unwrap().state, ServerState::Disabled);
    world.still_refused();
    world.fleet.restart("second").await.unwrap();
    world.still_refused();
    world.fleet.connect("first").await.unwrap();
    assert_eq!(world.status("first").tools, ["look", "own"]);
}

#[tokio::test]
async fn a_name_stays_with_a_server_that_lists_fewer_tools_for_now() {
    let world = World::rivals().await;
    let mut changed = world.gate.changed();
    for list in [tools(&["own"]), tools(&[]), tools(&["look", "own"])] {
        changed.mark_unchanged();
        world.stage.puppet("first").changes(&list);
        changed.changed().await.unwrap();
        world.still_refused();
    }
    assert_eq!(world.status("first").tools, ["look", "own"]);
}

#[tokio::test]
async fn a_name_stays_with_a_server_in_quarantine() {
    let world = World::rivals().await;
    world.stage.begins("first", [Begin::Fails(HANDSHAKE)]);
    world.stage.puppet("first").crashes();
    world.until("first", ServerState::Quarantined).await;
    world.still_refused();
}

#[tokio::test]
async fn a_name_stays_with_a_server_whose_entry_is_switched_off_or_cannot_be_used() {
    let mut world = World::rivals().await;
    world.fleet.apply(vec![off(bare("first")), wanted(bare("second"))]).await;
    world.still_refused();
    // Over a restart of the daemon, too: what it listed is remembered.
    world.again();
    world.fleet.apply(vec![off(bare("first")), wanted(bare("second"))]).await;
    world.settled(&["second"]).await;
    assert!(world.status("first").tools.is_empty());
    world.still_refused();
    let bad = Wanted { plan: Err("`url` is not one".to_owned()), ..wanted(bare("first")) };
    world.fleet.apply(vec![bad, wanted(bare("second"))]).await;
    world.still_refused();
}

#[tokio::test]
async fn a_change_of_the_wanted_servers_gives_a_name_to_the_next() {
    let world = World::rivals().await;
    // Another one that comes changes nothing.
    world.apply([bare("first"), bare("second"), plan("third")]).await;
    world.still_refused();
    // The order does.
    world.apply([bare("second"), bare("first")]).await;
    assert_eq!(world.status("second").tools, ["look", "more"]);
    assert!(world.reason("first", "look").contains("belongs to the server `second`"));
    // So does what an entry leaves out, its prefix, and its end.
    world.apply([bare("first"), bare("second")]).await;
    world.still_refused();
    world.apply([Plan { exclude: vec!["look".to_owned()], ..bare("first") }, bare("second")]).await;
    assert_eq!(world.status("second").tools, ["look", "more"]);
    world.apply([bare("first"), bare("second")]).await;
    world.settled(&["first"]).await;
    world.still_refused();
    world.apply([plan("first"), bare("second")]).await;
    assert_eq!(world.status("second").tools, ["look", "more"]);
    world.apply([bare("first"), bare("second")]).await;
    world.settled(&["first"]).await;
    world.still_refused();
    world.apply([bare("second")]).await;
    assert_eq!(world.status("second").tools, ["look", "more"]);
}

#[tokio::test]
async fn a_prefix_belongs_to_the_first_server_that_has_it() {
    let world = World::new().await;
    world.stage.lists("copy", tools(&["other", "echo"]));
    let copy = || Plan { prefix: Prefix::Named("github".to_owned()), ..plan("copy") };
    world.apply([plan("github"), copy()]).await;
    world.settled(&["github", "copy"]).await;
    let refused = || {
        assert!(world.status("copy").tools.is_empty());
        for tool in ["other", "echo"] {
            assert_eq!(
                world.reason("copy", tool),
                "the prefix `github` belongs to the server `github`: give this one another with `prefix`"
            );
        }
    };
    refused();
    assert_eq!(world.status("github").tools, ["github__echo"]);
    world.fleet.disconnect("github").await.unwrap();
    refused();
    world.fleet.apply(vec![off(plan("github")), wanted(copy())]).await;
    refused();
    let bad = Wanted { plan: Err("`url` is not one".to_owned()), ..wanted(plan("github")) };
    world.fleet.apply(vec![bad, wanted(copy())]).await;
    refused();
    world.apply([copy()]).await;
    assert_eq!(world.status("copy").tools, ["github__echo", "github__other"]);
}

#[tokio::test]
async fn a_server_without_a_prefix_has_no_name_of_ours_nor_one_under_anothers_prefix() {
    let world = World::new().await;
    world.stage.begins("slow", [Begin::Late(Duration::from_secs(5))]);
    let taken = ["slow__echo", "off__x", "late__", "echo", "vault_read", "agent__x", "covibe_task"];
    world.stage.lists("thief", tools(&[&taken[..], &["own__one", "test_x"]].concat()));
    let late = Wanted { plan: Err("it cannot".to_owned()), ..wanted(plan("late")) };
    let all = vec![wanted(bare("thief")), wanted(plan("slow")), off(plan("off")), late];
    world.fleet.apply(all).await;
    world.settled(&["thief"]).await;
    assert_eq!(world.status("thief").tools, ["own__one", "test_x"]);
    for (tool, reason) in [
        ("slow__echo", "the prefix of `slow__echo`, `slow`, belongs to the server `slow`: set `prefix`"),
        ("off__x", "belongs to the server `off`"),
        ("late__", "belongs to the server `late`"),
        ("echo", "`echo` is the name of a built-in tool: set `prefix` in the entry of this server"),
        ("vault_read", "`vault_read` is the name of a built-in tool"),
        ("agent__x", "begins with `agent__`"),
        ("covibe_task", "begins with `covibe_`"),
    ] {
        let told = world.reason("thief", tool);
        assert!(told.contains(reason), "{told}");
    }
    world.settled(&["slow"]).await;
    assert_eq!(world.status("slow").tools, ["slow__echo"]);
}

#[tokio::test]
async fn a_tool_of_the_gate_that_no_table_names_is_not_hidden_either() {
    let world = World::new().await;
    // It is there before, by another way than this fleet.
    let other = Fleet::with(Arc::clone(&world.gate), world.stage.clone(), world.notes.clone());
    world.stage.lists("ours", tools(&["strange"]));
    other.apply(vec![wanted(bare("ours"))]).await;
    assert_eq!(other.settled("ours").await.unwrap().tools, ["strange"]);
    world.stage.lists("a", tools(&["strange", "good"]));
    world.apply([bare("a")]).await;
    world.settled(&["a"]).await;
    assert_eq!(world.status("a").tools, ["good"]);
    let reason = "`strange` is the name of a built-in tool: set `prefix` in the entry of this server";
    assert_eq!(world.reason("a", "strange"), reason);
}

#[test]
fn every_tool_we_have_is_in_the_table_of_reserved_names() {
    for tool in covenant_tools::plain(&(Arc::new(SystemClock) as _)) {
        let name = tool.spec().name;
        assert!(reserved(name.as_str()).is_some(), "{name}");
    }
}

#[tokio::test]
async fn a_server_that_lists_ever_other_names_gets_no_more_at_some_point() {
    let world = World::new().await;
    world.stage.lists("a", json!([]));
    world.apply([bare("a")]).await;
    world.settled(&["a"]).await;
    let puppet = world.stage.puppet("a");
    let mut changed = world.gate.changed();
    let round = |round: usize| (0..1500).map(|nth| tool(&format!("t{round}_{nth}"))).collect::<Value>();
    for nth in 0..3 {
        changed.mark_unchanged();
        puppet.changes(&round(nth));
        changed.changed().await.unwrap();
    }
    let status = world.status("a");
    assert_eq!(status.tools.len() + status.refused.len(), 1500);
    assert_eq!(status.tools.len(), 4096 - 3000);
    assert!(status.refused[0].reason.contains("4096 other names"), "{}", status.refused[0].reason);
}
