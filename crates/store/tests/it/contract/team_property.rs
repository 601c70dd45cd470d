//! Whatever developers do in whatever order, the laws of `team_laws` hold.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use covenant_model::id::WorkstreamId;
use covenant_model::principal::Principal;
use covenant_model::time::Timestamp;
use covenant_team::Request;
use covenant_team::input::{Call, Tool};
use covenant_team::warning::Settled;
use covenant_team::work::Work;
use serde_json::{Map, Value, json};

use super::team::peopled;
use super::team_law_looks::TYPED;
use super::team_laws::{PLAYERS, Step, owner};
use super::team_seen::{Ids, Known, Seen};
use super::{Bench, at, on_both};

/// A small generator, so that a failure is told by one number.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % u64::try_from(sides).unwrap()).unwrap()
    }

    pub(super) fn pick<'p>(&mut self, from: &'p [&'p str]) -> &'p str {
        from[self.roll(from.len())]
    }
}

/// Whose turn it is, and what there is to see.
struct Turn<'t> {
    player: &'t str,
    seen: &'t Seen,
}

impl Turn<'_> {
    fn is_own_and_open(&self, id: &str) -> bool {
        let is = |work: &Work| work.developer == owner(self.player) && work.status.is_open();
        self.seen.works.get(id).is_some_and(is)
    }
}

/// The newest look of somebody: for what, and what it told.
struct Looked {
    tool: Tool,
    title: Value,
    check: Value,
    warning: Value,
    candidates: Vec<Value>,
}

/// A team at play, and everything it was told.
struct Play {
    seed: u64,
    known: Known,
    looks: BTreeMap<String, Looked>,
    now: Timestamp,
}

/// The same work in several words, some that say too little to be told apart, and none at all.
const TITLES: [&str; 7] = [
    "Retry failed uploads with exponential backoff",
    "Retry failed uploads with exponential backoff.",
    "retry FAILED uploads with exponential  backoff",
    "Retry failed uploads using exponential backoff",
    "Add retries",
    "Port it",
    "",
];

impl Play {
    /// Mostly the id of something open of the player's own; else one that somebody was given, or nobody.
    fn id(&self, dice: &mut Dice, turn: &Turn<'_>, prefix: &str) -> Value {
        let known = self.known.works.iter().filter(|id| id.starts_with(prefix));
        let known: Vec<&str> = match dice.roll(8) {
            0 => known.collect(),
            1 => Vec::new(),
            _ => known.filter(|id| turn.is_own_and_open(id)).collect(),
        };
        if known.is_empty() {
            return Value::from(format!("{prefix}nobodys"));
        }
        dice.pick(&known).into()
    }

    fn call(&self, dice: &mut Dice, turn: &Turn<'_>) -> (Tool, Map<String, Value>) {
        let tool = [
            Tool::Task,
            Tool::Task,
            Tool::Task,
            Tool::Task,
            Tool::Task,
            Tool::Workstream,
            Tool::Session,
            Tool::Session,
            Tool::Session,
            Tool::Note,
            Tool::Team,
            Tool::Warning,
        ][dice.roll(12)];
        let mut members = Map::new();
        let mut put = |name: &str, value: Value| members.insert(name.to_owned(), value);
        // Whoever looked often starts.
        let work = matches!(tool, Tool::Task | Tool::Workstream);
        let eager = self.looks.get(turn.player).filter(|_| work && dice.roll(3) == 0);
        let tool = eager.map_or(tool, |looked| looked.tool);
        let operation = if eager.is_some() { "start" } else { dice.pick(tool.operations()) };
        put(tool.selector(), operation.into());
        if operation != "start"
            && dice.roll(3) < 1 + usize::from(tool == Tool::Session)
            && let Some(session) = any(dice, turn, &self.known.sessions, "sess_nobodys")
        {
            put("session_id", session);
        }
        put("title", dice.pick(&TITLES).into());
        match tool {
            Tool::Task | Tool::Workstream => {
                put("task_type", dice.pick(&["feature", "bug"]).into());
                put("task_id", self.id(dice, turn, "task_"));
                if operation == "start_planned" || dice.roll(4) == 0 {
                    put("planned_task_id", self.id(dice, turn, "task_"));
                }
                if tool == Tool::Workstream || dice.roll(4) == 0 {
                    put("workstream_id", self.id(dice, turn, "ws_"));
                }
                if operation.starts_with("start")
                    && let Some(looked) = self.looks.get(turn.player)
                    && dice.roll(8) > 0
                {
                    looked.answered(dice, &mut put);
                }
                put("reason", dice.pick(&["no longer wanted", "no longer wanted", " "]).into());
                put("result_summary", dice.pick(&["it works", "it works", ""]).into());
                if operation == "update" {
                    put("status", dice.pick(&["blocked", "blocked", "active", "done"]).into());
                    match dice.roll(5) {
                        0..=2 => {
                            members.remove("title");
                            members.remove("task_type");
                        }
                        3 => {
                            members.remove("status");
                        }
                        _ => {}
                    }
                } else if dice.roll(4) == 0 {
                    put("confirm_open_tasks", true.into());
                    put("target_files", json!(["src/lib.rs", dice.pick(&["a/b", "../b"])]));
                    put("idempotency_key", format!("{} {}", dice.pick(&["one", "two"]), self.seed).into());
                }
            }
            Tool::Session => {
                put("repo", "https://example.org/repo".into());
                put("summary", "where we stand".into());
                put("activity", dice.pick(&["reading", "reading", ""]).into());
                put("dirty_files", json!(["src/lib.rs", dice.pick(&["a/b", "a/b", "a/b", "../b"])]));
                put("agent_type", dice.pick(&["cursor", "codex"]).into());
                if operation == "heartbeat" && dice.roll(2) == 0 {
                    put("companion_version", dice.pick(&["1.0.0", "1.1.0"]).into());
                    put("registered_repos", json!([dice.pick(&["acme/app", ""])]));
                }
                put("ttl_hours", [1, 24, 24, 168, 169][dice.roll(5)].into());
                if operation.ends_with("_context")
                    && let Some(context) = any(dice, turn, &self.known.contexts, "ctx_nobodys")
                {
                    put("context_id", context);
                }
            }
            Tool::Note => {
                put("text", dice.pick(&["we use SQLite", ""]).into());
                if dice.roll(2) == 0 {
                    put("task_id", self.id(dice, turn, "task_"));
                }
            }
            Tool::Warning => {
                let warning = any(dice, turn, &self.known.warnings, "warn_nobodys");
                put("warning_id", warning.unwrap_or("warn_nobodys".into()));
                put("reason", dice.pick(&["seen", "seen", " "]).into());
            }
            // Has a game of its own.
            Tool::Coordination => {}
            Tool::Team => {
                put("limit", [1, 100, 0, 101][dice.roll(4)].into());
            }
        }
        (tool, members)
    }
}

/// Mostly one of the player's own; else one of anybody's, or nobody's; none where they have none.
fn any(dice: &mut Dice, turn: &Turn<'_>, known: &Ids, nobodys: &str) -> Option<Value> {
    let own = |(_, whose): &&(String, &str)| *whose == turn.player;
    let known: Vec<&str> = match dice.roll(4) {
        0 => known.iter().chain([nobodys]).collect(),
        _ => known.0.iter().filter(own).map(|(id, _)| id.as_str()).collect(),
    };
    (!known.is_empty()).then(|| dice.pick(&known).into())
}

impl Looked {
    /// What a start says of what was found: a verdict on each, on all but one, or, as older agents do, a reason alone.
    fn answered(&self, dice: &mut Dice, put: &mut impl FnMut(&str, Value) -> Option<Value>) {
        put("title", self.title.clone());
        put(
            "confirmation_reason",
            dice.pick(&["both are wanted", "both are wanted", "both are wanted", ""]).into(),
        );
        if dice.roll(3) == 0 {
            put("warning_id", self.warning.clone());
            return;
        }
        let same = dice.roll(3) == 0;
        let judged = |id: &Value| json!({"candidate_id": id, "same_scope": same, "reason": "seen"});
        put("check_id", self.check.clone());
        put(
            "scope_verdict",
            self.candidates.iter().skip(usize::from(dice.roll(6) == 0)).map(judged).collect(),
        );
    }
}

/// What happens in every few games.
const OFTEN: [&str; 12] = [
    "scope.judged",
    "warning.confirmed",
    "warning.dismissed",
    "task.completed",
    "workstream.auto_created",
    "session.ended",
    "session.context_revoked",
    "session.activity",
    "session.snapshot",
    "session.agent_mismatch",
    "blocker.recorded",
    "workstream.started",
];

async fn each_call_and_each_change_is_written_down_once_and_nobody_touches_what_is_not_theirs(bench: Bench) {
    let store = peopled(&bench).await;
    let (mut endings, mut events) = (BTreeSet::new(), BTreeSet::new());
    let (mut open, mut warned) = (Ids::default(), Ids::default());
    for seed in 1..=24_u64 {
        if seed > 8 && OFTEN.iter().all(|event| events.contains(event)) {
            break;
        }
        let mut dice = Dice(seed);
        // What earlier games left open is there in this one.
        let (works, warnings) = (std::mem::take(&mut open), std::mem::take(&mut warned));
        let known = Known { works, warnings, ..Known::default() };
        let mut play = Play { seed, known, looks: BTreeMap::new(), now: at(1_000_000_000 * seed) };
        let mut before = Seen::of(&bench, &store, &play.known).await;
        for step in 0..120 {
            let player = PLAYERS[[1, 1, 1, 1, 0, 2, 3][dice.roll(7)]];
            let turn = Turn { player, seen: &before };
            let (tool, arguments) = play.call(&mut dice, &turn);
            let told = format!("seed {seed}, step {step}: {player} {} {}", tool.name(), json!(arguments));
            // Mostly ahead, and now and then back by more than a look counts.
            play.now = match dice.roll(30) {
                0 => play.now.minus(Duration::from_mins(12)),
                _ => play.now.plus(Duration::from_secs(u64::try_from(dice.roll(40)).unwrap() + 1)),
            };
            let principal: Principal =
                if player == "local" { Principal::operator() } else { Principal::developer(player).unwrap() };
            let title = arguments.get("title").cloned().unwrap_or_default();
            let reported = arguments.get("agent_type").and_then(Value::as_str).map(str::to_owned);
            let call = Call::read(tool, arguments).unwrap();
            let agent_type = (player == TYPED.0).then_some(TYPED.1);
            let request = Request { principal, agent_type, call, now: play.now };
            let outcome = store.perform(request).await.unwrap();
            let data = &outcome.envelope.data;
            let id = |name: &str| data.get(name).and_then(Value::as_str).map(str::to_owned);
            play.known.works.hear(id("task_id"), player);
            play.known.works.hear(id("workstream_id"), player);
            play.known.contexts.hear(id("context_id"), player);
            play.known.warnings.hear(id("warning_id"), player);
            if let (Some(check), Some(Value::Array(found))) = (data.get("check_id"), data.get("candidates")) {
                let candidates = found.iter().map(|found| found["id"].clone()).collect();
                let warning = data["warning_id"].clone();
                let looked = Looked { tool, title, check: check.clone(), warning, candidates };
                play.looks.insert(player.to_owned(), looked);
            }
            play.known.sessions.hear(outcome.session.as_ref().map(ToString::to_string), player);
            let after = Seen::of(&bench, &store, &play.known).await;
            let status = outcome.envelope.status;
            let (before_it, known) = (&before, &play.known);
            let reported = reported.as_deref();
            Step { told: &told, player, status, reported, before: before_it, after: &after, known }.holds();
            endings.insert(status.as_str());
            events.extend(outcome.changes.iter().map(|change| change.event));
            before = after;
        }
        // With it goes the workstream of what is open, which may be over, and is told of with it.
        let open_works = || before.works.values().filter(|work| work.status.is_open());
        let goes_on: BTreeSet<&str> = open_works()
            .flat_map(|work| {
                work.workstream().map(WorkstreamId::as_str).into_iter().chain([work.id.as_str()])
            })
            .collect();
        play.known.works.0.retain(|(id, _)| goes_on.contains(id.as_str()));
        let goes_on =
            |id: &str| before.warnings.get(id).is_some_and(|warning| warning.settled == Settled::Open);
        play.known.warnings.0.retain(|(id, _)| goes_on(id));
        (open, warned) = (play.known.works, play.known.warnings);
    }
    assert_eq!(endings.len(), 4, "the dice are no test: every call ended as one of {endings:?}");
    let unseen: Vec<&&str> = OFTEN.iter().filter(|event| !events.contains(*event)).collect();
    assert!(unseen.is_empty(), "the dice are no test: no {unseen:?} among {events:?}");
}

on_both!(each_call_and_each_change_is_written_down_once_and_nobody_touches_what_is_not_theirs);
