//! Real programs behind the gate: crashed, killed, hung and let go.

use std::sync::Arc;
use std::time::Duration;

use covenant_gate::{CallRequest, Context, Credential, Gate};
use covenant_model::api::NewGrant;
use covenant_model::constraint::Constraints;
use covenant_model::grant::Approval;
use covenant_model::server::{Plan, Program, Reach, ServerState};
use serde_json::{Map, Value};
use tempfile::TempDir;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{OPERATOR, Pad, gate, operator, plan, wanted};
use crate::fleet::{Fleet, Parts};
use crate::upstream::ports::{Courier, Couriers, Later, LogLine, Programs, RunningProgram};
use crate::upstream::tests::program;

/// A server of the older era whose tools are ways to behave.
const SERVER: &str = r#"
legacy()
tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ["pid", "crash", "hang"]]
tools[0]["annotations"] = {"readOnlyHint": True}
while True:
    request = hear()
    method, params = request.get("method"), request.get("params", {})
    if method == "tools/list":
        answer(request, {"tools": tools})
    elif method == "tools/call" and params["name"] == "pid":
        answer(request, text(str(os.getpid())))
    elif method == "tools/call" and params["name"] == "crash":
        os._exit(7)
"#;

/// The same of the newer era.
const MODERN: &str = r#"
modern()
while True:
    request = hear()
    if request.get("method") == "tools/list":
        answer(request, {"resultType": "complete", "tools": [{"name": "pid"}], "ttlMs": 0, "cacheScope": "private"})
    elif request.get("method") == "tools/call":
        answer(request, {"resultType": "complete", **text("here"), "_meta": {"kept": 1}})
"#;

/// One of the older era that ends at a question it does not know.
const TOUCHY: &str = r#"
request = hear()
if request["method"] != "initialize":
    os._exit(9)
answer(request, {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}})
hear_method("notifications/initialized")
while True:
    request = hear()
    if request.get("method") == "tools/list":
        answer(request, {"tools": [{"name": "pid", "inputSchema": {"type": "object"}}]})
    elif request.get("method") == "tools/call":
        answer(request, text("here"))
"#;

/// Starts what a plan has for a command as a Python program.
struct Pythons;

impl Programs for Pythons {
    fn start<'a>(
        &'a self,
        _: &'a str,
        order: &'a Program,
        _: LogLine,
    ) -> Later<'a, Result<Box<dyn RunningProgram>, String>> {
        Box::pin(async move { Ok(program(&order.command).await) })
    }
}

/// There is no network.
struct Nowhere;

impl Couriers for Nowhere {
    fn open<'a>(&'a self, _: &'a str) -> Later<'a, Result<Arc<dyn Courier>, String>> {
        Box::pin(async { Err("there is no network".to_owned()) })
    }
}

struct World {
    gate: Arc<Gate>,
    fleet: Arc<Fleet>,
    home: TempDir,
}

fn scripted(name: &str, script: &str) -> Plan {
    let mut plan = plan(name);
    if let Reach::Program(program) = &mut plan.reach {
        script.clone_into(&mut program.command);
    }
    plan
}

impl World {
    async fn with(plans: impl IntoIterator<Item = Plan>) -> Self {
        let home = tempfile::tempdir().unwrap();
        let gate = gate(home.path()).await;
        let all = NewGrant {
            subject: "any".parse().unwrap(),
            action: "tool.call.*".parse().unwrap(),
            constraints: Constraints::default(),
            approval: Approval::None,
            expires_at: None,
        };
        gate.grant(&operator(&gate), all).await.unwrap();
        let fleet = Fleet::new(Parts {
            gate: Arc::clone(&gate),
            programs: Arc::new(Pythons),
            couriers: Arc::new(Nowhere),
            notes: Arc::new(Pad::default()),
        });
        let wanted: Vec<_> = plans.into_iter().map(wanted).collect();
        let names: Vec<_> = wanted.iter().map(|wanted| wanted.name.clone()).collect();
        fleet.apply(wanted).await;
        for name in names {
            let status = fleet.settled(&name).await.unwrap();
            assert_eq!(status.state, ServerState::Ready, "{status:?}");
        }
        Self { gate, fleet, home }
    }

    /// The text of a result, through the whole gate.
    async fn call(&self, tool: &str) -> (bool, String) {
        let caller = self.gate.authenticate(&Credential::peer(OPERATOR)).unwrap();
        let admitted = self.gate.admit(&caller).unwrap();
        let request = CallRequest { name: tool.to_owned(), arguments: Map::new() };
        let outcome =
            self.gate.call(admitted, request, Context::new(CancellationToken::new())).await.unwrap();
        let result: Value = serde_json::from_str(outcome.json().get()).unwrap();
        (outcome.is_error(), result["content"][0]["text"].as_str().unwrap().to_owned())
    }
}

#[tokio::test]
async fn a_crashed_program_answers_again_within_a_second() {
    let world = World::with([scripted("a", SERVER)]).await;
    let (_, first) = world.call("a__pid").await;
    let crashed = world.call("a__crash").await;
    assert_eq!(crashed, (true, "MCP error: the server `a` ended with exit code 7".to_owned()));
    let begun = Instant::now();
    let (failed, second) = world.call("a__pid").await;
    assert!(!failed && second != first, "{second}");
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert_eq!(world.fleet.server("a").unwrap().restarts, 1);
    world.fleet.stop().await;
}

#[tokio::test]
async fn a_program_that_ends_at_the_question_of_its_era_comes_up_and_has_not_failed() {
    let world = World::with([scripted("touchy", TOUCHY)]).await;
    let status = world.fleet.server("touchy").unwrap();
    assert_eq!((status.era.as_deref(), status.restarts, status.error), (Some("legacy"), 0, None));
    assert_eq!(world.call("touchy__pid").await, (false, "here".to_owned()));
    world.fleet.stop().await;
}

#[tokio::test]
async fn a_program_of_the_newer_era_whose_first_start_fails_comes_up_with_the_next() {
    let world = World::with([]).await;
    let starts = world.home.path().join("starts");
    let begin = format!(
        "path = {:?}\nopen(path, 'a').write('.')\nif os.path.getsize(path) <= 2: os._exit(4)\n",
        starts.display()
    );
    // It ends at what it does not know, too.
    let strict = "peeked = hear\ndef hear():\n  said = peeked()\n  \
                  if said['method'] == 'initialize': os._exit(5)\n  return said\n";
    world.fleet.apply(vec![wanted(scripted("late", &format!("{begin}{strict}{MODERN}")))]).await;
    let settled = async {
        loop {
            let status = world.fleet.server("late").unwrap();
            if matches!(status.state, ServerState::Ready | ServerState::Quarantined) {
                return status;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let status = tokio::time::timeout(Duration::from_mins(1), settled).await.unwrap();
    assert_eq!((status.state, status.restarts), (ServerState::Ready, 1), "{status:?}");
    assert_eq!(status.era.as_deref(), Some("modern"));
    world.fleet.stop().await;
}

#[tokio::test]
async fn one_that_hangs_is_bounded_and_holds_up_nobody() {
    let mut hasty = scripted("a", SERVER);
    hasty.call_timeout = Duration::from_secs(1);
    let world = World::with([hasty, scripted("b", MODERN)]).await;
    let others = async {
        for _ in 0..5 {
            assert!(!world.call("a__pid").await.0);
            assert_eq!(world.call("b__pid").await, (false, "here".to_owned()));
        }
    };
    let begun = Instant::now();
    let (hung, ()) = tokio::join!(world.call("a__hang"), others);
    assert!(hung.0 && hung.1.contains("`a`") && hung.1.contains("call_timeout_secs"), "{}", hung.1);
    assert!(begun.elapsed() < Duration::from_secs(10));
    let eras = ["a", "b"].map(|name| world.fleet.server(name).unwrap().era.unwrap());
    assert_eq!(eras, ["legacy", "modern"]);
    world.fleet.stop().await;
}

#[tokio::test]
async fn a_program_that_dies_in_the_handshake_is_told_and_left_alone() {
    let world = World::with([scripted("good", SERVER)]).await;
    let wanted = vec![wanted(scripted("bad", "os._exit(4)")), wanted(scripted("good", SERVER))];
    world.fleet.apply(wanted).await;
    let waiting = async {
        while world.fleet.server("bad").unwrap().state != ServerState::Quarantined {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), waiting).await.unwrap();
    let error = world.fleet.server("bad").unwrap().error.unwrap();
    assert!(error.contains("handshake") && error.contains("exit code 4"), "{error}");
    assert!(!world.call("good__pid").await.0);
    let test = world.fleet.test(&scripted("bad", "os._exit(4)")).await;
    assert_eq!(test.phases.last().map(|phase| (phase.phase.as_str(), phase.ok)), Some(("handshake", false)));
    assert!(test.log.is_empty(), "it said nothing, and that it was started is no news: {:?}", test.log);
    let test = world.fleet.test(&scripted("good", SERVER)).await;
    assert!(test.ok && test.tools == ["pid", "crash", "hang"], "{test:?}");
    world.fleet.stop().await;
    let (_, rows) = world.gate.audit().rows(0).next(100).await.unwrap();
    for (kind, server, decision) in [
        ("ServerStarted", "server:good", "done"),
        ("ServerFailed", "server:bad", "failed"),
        ("ServerQuarantined", "server:bad", "failed"),
    ] {
        let is_it =
            |row: &&String| [kind, server, decision].iter().all(|part| row.contains(&format!("\"{part}\"")));
        assert!(rows.iter().any(|row| is_it(&row)), "{kind}: {rows:?}");
    }
}
