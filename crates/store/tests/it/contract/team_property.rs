//! Whatever developers do in whatever order: each call is written down once, each change once, nobody touches what is not theirs,
//! and what is refused changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use covenant_model::envelope::Status as Told;
use covenant_model::id::DeveloperId;
use covenant_model::principal::Principal;
use covenant_model::time::Timestamp;
use covenant_store::{EventsWanted, Store, TeamEvent};
use covenant_team::Request;
use covenant_team::event::Log;
use covenant_team::input::{Call, Tool};
use covenant_team::port::TeamTx as _;
use covenant_team::session::{Session, SharedContext};
use covenant_team::work::{Kind, Work, WorkId};
use serde_json::{Map, Value, json};

use super::team::{developer, peopled};
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

/// Everything there is to see.
struct Seen {
    works: BTreeMap<String, Work>,
    sessions: BTreeMap<String, Session>,
    contexts: BTreeMap<String, SharedContext>,
    logs: BTreeMap<&'static str, Vec<TeamEvent>>,
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

/// The developer who that player is.
fn owner(player: &str) -> DeveloperId {
    let number = PLAYERS.iter().position(|name| *name == player).unwrap();
    developer(u64::try_from(number).unwrap())
}

/// A team at play, and everything it was told.
struct Play {
    seed: u64,
    store: Arc<Store>,
    ids: BTreeSet<String>,
    sessions: BTreeMap<String, &'static str>,
    contexts: Vec<String>,
    /// The warnings, and for each title the newest look with its candidates.
    warnings: Vec<String>,
    looks: BTreeMap<String, (Value, Vec<Value>)>,
    now: Timestamp,
}

/// Three of one team and one of another, in the order of their numbers.
const PLAYERS: [&str; 4] = ["local", "ada", "bob", "eve"];
const TITLES: [&str; 6] = ["Add retries", "add RETRIES ", "Add retries", "Add retries.", "Port it", ""];

impl Play {
    async fn see(&self) -> Seen {
        let mut works = BTreeMap::new();
        let mut tx = self.store.begin_team().await.unwrap();
        for id in &self.ids {
            let kind = if id.starts_with("task_") { Kind::Task } else { Kind::Workstream };
            if let Some(work) = tx.work(&WorkId::parse(kind, id).unwrap()).await.unwrap() {
                works.insert(id.clone(), work);
            }
        }
        let (mut sessions, mut contexts) = (BTreeMap::new(), BTreeMap::new());
        for id in self.sessions.keys() {
            sessions.extend(tx.session(&id.parse().unwrap()).await.unwrap().map(|kept| (id.clone(), kept)));
        }
        for id in &self.contexts {
            contexts.extend(tx.context(&id.parse().unwrap()).await.unwrap().map(|kept| (id.clone(), kept)));
        }
        drop(tx);
        let mut logs = BTreeMap::new();
        for log in Log::ALL {
            let wanted = EventsWanted { log, workspace: None, developer: None, after: None, limit: 40 };
            logs.insert(log.as_str(), self.store.team_events(wanted).await.unwrap());
        }
        Seen { works, sessions, contexts, logs }
    }

    /// Mostly the id of something open of the player's own; else one that somebody was given, or nobody.
    fn id(&self, dice: &mut Dice, turn: &Turn<'_>, prefix: &str) -> Value {
        let known = self.ids.iter().filter(|id| id.starts_with(prefix));
        let known: Vec<&String> = match dice.roll(8) {
            0 => known.collect(),
            1 => Vec::new(),
            _ => known.filter(|id| turn.is_own_and_open(id)).collect(),
        };
        if known.is_empty() {
            return Value::from(format!("{prefix}nobodys"));
        }
        Value::from(known[dice.roll(known.len())].as_str())
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
            Tool::Note,
            Tool::Team,
            Tool::Warning,
        ][dice.roll(10)];
        let mut members = Map::new();
        let mut put = |name: &str, value: Value| members.insert(name.to_owned(), value);
        let operation = dice.pick(tool.operations());
        put(tool.selector(), operation.into());
        if dice.roll(3) == 0 && !self.sessions.is_empty() && operation != "start" {
            let all: Vec<&String> = self.sessions.keys().collect();
            put("session_id", Value::from(all[dice.roll(all.len())].as_str()));
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
                    && let Some((check, candidates)) = self.looks.get(turn.player)
                    && dice.roll(4) > 0
                {
                    let same = dice.roll(3) == 0;
                    let judged =
                        |id: &Value| json!({"candidate_id": id, "same_scope": same, "reason": "seen"});
                    put("check_id", check.clone());
                    put("scope_verdict", candidates.iter().map(judged).collect());
                    put("confirmation_reason", dice.pick(&["both are wanted", "both are wanted", ""]).into());
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
                put("activity", dice.pick(&["reading", ""]).into());
                put("ttl_hours", [1, 24, 168, 169][dice.roll(4)].into());
                if operation.ends_with("_context") && !self.contexts.is_empty() && dice.roll(2) == 0 {
                    put("context_id", self.contexts[dice.roll(self.contexts.len())].as_str().into());
                }
            }
            Tool::Note => {
                put("text", dice.pick(&["we use SQLite", ""]).into());
                if dice.roll(2) == 0 {
                    put("task_id", self.id(dice, turn, "task_"));
                }
            }
            Tool::Warning => {
                let known = self.warnings.get(dice.roll(self.warnings.len().max(1)));
                put("warning_id", known.map_or("warn_nobodys", String::as_str).into());
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

/// Which events are of a piece of work that became another.
fn changes(event: &TeamEvent) -> bool {
    let (kind, what) = event.event.split_once('.').unwrap();
    matches!(kind, "task" | "workstream") && what != "checked"
}

async fn each_call_and_each_change_is_written_down_once_and_nobody_touches_what_is_not_theirs(bench: Bench) {
    let store = peopled(&bench).await;
    let (mut endings, mut events) = (BTreeSet::new(), BTreeSet::new());
    for seed in 1..=4_u64 {
        let mut dice = Dice(seed);
        let now = at(1_000_000_000 * seed);
        let mut play = Play {
            seed,
            store: Arc::clone(&store),
            ids: BTreeSet::new(),
            sessions: BTreeMap::new(),
            contexts: Vec::new(),
            warnings: Vec::new(),
            looks: BTreeMap::new(),
            now,
        };
        let mut before = play.see().await;
        for step in 0..120 {
            let player = PLAYERS[[1, 1, 1, 1, 0, 2, 3][dice.roll(7)]];
            let turn = Turn { player, seen: &before };
            let (tool, arguments) = play.call(&mut dice, &turn);
            let told = format!("seed {seed}, step {step}: {player} {} {}", tool.name(), json!(arguments));
            play.now = play.now.plus(Duration::from_secs(u64::try_from(dice.roll(40)).unwrap() + 1));
            let principal: Principal =
                if player == "local" { Principal::operator() } else { Principal::developer(player).unwrap() };
            let call = Call::read(tool, arguments).unwrap();
            let request = Request { principal, agent_type: None, call, now: play.now };
            let outcome = store.perform(request).await.unwrap();
            let data = &outcome.envelope.data;
            for name in ["task_id", "workstream_id"] {
                play.ids.extend(data.get(name).and_then(Value::as_str).map(str::to_owned));
            }
            play.contexts.extend(data.get("context_id").and_then(Value::as_str).map(str::to_owned));
            play.warnings.extend(data.get("warning_id").and_then(Value::as_str).map(str::to_owned));
            if let (Some(check), Some(Value::Array(found))) = (data.get("check_id"), data.get("candidates")) {
                let ids = found.iter().map(|found| found["id"].clone()).collect();
                play.looks.insert(player.to_owned(), (check.clone(), ids));
            }
            if let Some(session) = &outcome.session {
                play.sessions.entry(session.to_string()).or_insert(player);
            }
            let after = play.see().await;
            holds(&told, player, outcome.envelope.status, &before, &after, &play);
            endings.insert(outcome.envelope.status.as_str());
            events.extend(outcome.changes.iter().map(|change| change.event));
            before = after;
        }
    }
    assert_eq!(endings.len(), 4, "the dice are no test: every call ended as one of {endings:?}");
    assert!(events.len() > 10, "the dice are no test: there are only {events:?}");
}

/// What is new, or other than it was.
fn differing<'s, T: PartialEq>(before: &BTreeMap<String, T>, after: &'s BTreeMap<String, T>) -> Vec<&'s T> {
    after.iter().filter(|(id, now)| before.get(*id) != Some(now)).map(|(_, now)| now).collect()
}

fn holds(told: &str, player: &str, status: Told, before: &Seen, after: &Seen, play: &Play) {
    let new = |log: &str| {
        let known: BTreeSet<&str> = before.logs[log].iter().map(|event| event.id.as_str()).collect();
        let fresh = after.logs[log].iter().filter(|event| !known.contains(event.id.as_str()));
        fresh.cloned().collect::<Vec<_>>()
    };
    let (work, usage, feedback) = (new("work"), new("usage"), new("feedback"));
    assert_eq!(usage.len(), 1, "{told}");
    assert_eq!(usage[0].status, status.as_str(), "{told}");
    for event in work.iter().chain(&usage).chain(&feedback) {
        assert_eq!(event.developer.as_deref(), Some(player), "{told}");
        assert!(json!(event.payload).to_string().len() <= 8192, "{told}: too much is written down");
        if let Some(session) = &event.session_id {
            assert_eq!(play.sessions.get(session.as_str()), Some(&player), "{told}: a session of another");
        }
    }
    assert_eq!(feedback.len(), usize::from(matches!(status, Told::Warning | Told::Blocked)), "{told}");
    let changed: BTreeSet<&str> =
        differing(&before.works, &after.works).into_iter().map(|work| work.id.as_str()).collect();
    let mut subjects: Vec<&str> = work
        .iter()
        .filter(|event| changes(event))
        .map(|event| event.subject_id.as_deref().unwrap())
        .collect();
    subjects.sort_unstable();
    assert_eq!(
        subjects,
        changed.iter().copied().collect::<Vec<_>>(),
        "{told}: not one event for each change"
    );
    for id in changed {
        assert_eq!(after.works[id].developer, owner(player), "{told}: touched what is another's");
    }
    let (sessions, contexts) =
        (differing(&before.sessions, &after.sessions), differing(&before.contexts, &after.contexts));
    for session in &sessions {
        assert_eq!(session.developer, owner(player), "{told}: touched another's session");
    }
    for context in &contexts {
        assert_eq!(context.developer, owner(player), "{told}: touched another's context");
    }
    if status == Told::Error {
        let kept = work.is_empty() && sessions.is_empty() && contexts.is_empty();
        assert!(kept, "{told}: an error that changed something");
    }
}

on_both!(each_call_and_each_change_is_written_down_once_and_nobody_touches_what_is_not_theirs);
