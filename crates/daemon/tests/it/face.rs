//! The HTTP face of MCP on a daemon with tools that can be watched: they say how far they are, wait, ask and flood.

mod asking;
mod calls;
mod eras;
mod sessions;
mod streams;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use covenant_daemon::{Running, start};
use covenant_gate::arguments::Arguments;
use covenant_gate::clock::HandClock;
use covenant_gate::context::{Level, LogMessage, Progress};
use covenant_gate::inquiry::Inquiry;
use covenant_gate::provider::{NotProvided, Provided, Resources};
use covenant_gate::tool::Run;
use covenant_gate::{Context, Permit, Tool};
use covenant_model::time::Timestamp;
use covenant_model::tool::{ToolCallResult, ToolSpec};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::house::{House, home, options};
use crate::mcp_client::HttpClient;
use crate::wait::until;

/// What the tools do, as seen from a test.
#[derive(Default)]
pub(crate) struct Stage {
    begun: AtomicUsize,
    cancelled: AtomicUsize,
    said: AtomicUsize,
    /// One permit lets one waiting tool end.
    go: Option<Semaphore>,
}

impl Stage {
    fn new() -> Arc<Self> {
        Arc::new(Self { go: Some(Semaphore::new(0)), ..Self::default() })
    }

    fn gate(&self) -> &Semaphore {
        self.go.as_ref().unwrap()
    }

    /// Lets one waiting tool end.
    pub(crate) fn go(&self) {
        self.gate().add_permits(1);
    }

    /// Waits until so many tools have begun.
    pub(crate) fn has_begun(&self, count: usize) {
        until("the tool has begun", || (self.begun.load(Ordering::SeqCst) >= count).then_some(()));
    }

    /// How many tools saw that they were taken back.
    pub(crate) fn cancelled(&self) -> usize {
        self.cancelled.load(Ordering::SeqCst)
    }

    /// Waits until so many tools saw that they were taken back.
    pub(crate) fn was_cancelled(&self, count: usize) {
        until("the tool sees that it was taken back", || (self.cancelled() >= count).then_some(()));
    }

    /// How much a tool has said.
    pub(crate) fn said(&self) -> usize {
        self.said.load(Ordering::SeqCst)
    }
}

#[derive(Clone, Copy)]
enum Act {
    /// Says how far it is, and waits to be let go or taken back.
    Work,
    /// Says how far it is until it is taken back.
    Flood,
    /// Asks its client for a name, once it is let go.
    Ask,
    /// Says something at every level.
    Say,
    /// Has an argument that stands in a header.
    Region,
}

struct Actor(Act, Arc<Stage>);

impl Actor {
    async fn act(&self, arguments: Value, context: &Context) -> covenant_gate::RawOutput {
        let Self(act, stage) = self;
        stage.begun.fetch_add(1, Ordering::SeqCst);
        let progress = |step: u32, message| {
            context.progress(Progress { progress: f64::from(step), total: None, message });
            stage.said.fetch_add(1, Ordering::SeqCst);
        };
        match act {
            Act::Work => {
                let steps = u32::try_from(arguments["steps"].as_u64().unwrap_or(0)).unwrap();
                (1..=steps).for_each(|step| progress(step, None));
                tokio::select! {
                    permit = stage.gate().acquire() => permit.unwrap().forget(),
                    () = context.cancelled().cancelled() => {
                        stage.cancelled.fetch_add(1, Ordering::SeqCst);
                    }
                }
            }
            Act::Flood => {
                let mut step = 0;
                while !context.cancelled().is_cancelled() {
                    step += 1;
                    progress(step, Some("x".repeat(1000)));
                    tokio::task::yield_now().await;
                }
                stage.cancelled.fetch_add(1, Ordering::SeqCst);
            }
            Act::Ask => {
                stage.gate().acquire().await.unwrap().forget();
                let params = json!({"message": "Your name?", "requestedSchema": {"type": "object",
                    "properties": {"name": {"type": "string"}}}});
                return match context.ask("name", Inquiry::elicit(params)).await {
                    Ok(answer) => ToolCallResult::text(answer["content"]["name"].to_string()).into(),
                    Err(unanswered) => unanswered.into(),
                };
            }
            Act::Say => {
                for level in [Level::Debug, Level::Info, Level::Warning, Level::Error] {
                    context.log(LogMessage { level, logger: None, data: json!("said") });
                }
            }
            Act::Region => {}
        }
        ToolCallResult::text("done").into()
    }
}

impl Tool for Actor {
    fn spec(&self) -> ToolSpec {
        let (name, properties) = match self.0 {
            Act::Work => ("work", json!({"steps": {"type": "integer"}})),
            Act::Flood => ("flood", json!({})),
            Act::Ask => ("ask", json!({})),
            Act::Say => ("say", json!({})),
            Act::Region => ("region", json!({"region": {"type": "string", "x-mcp-header": "Region"}})),
        };
        let schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
        ToolSpec::new(name.parse().unwrap(), "An act.", schema)
    }

    fn run<'a>(&'a self, _: Permit, arguments: Arguments, context: &'a Context) -> Run<'a> {
        let arguments = Value::Object(arguments.as_map().clone());
        Box::pin(self.act(arguments, context))
    }
}

/// Two notes that may change.
struct Notes;

impl Resources for Notes {
    fn name(&self) -> &'static str {
        "notes"
    }

    fn list(&self) -> Vec<Value> {
        ["note:a", "note:b"].map(|uri| json!({"uri": uri, "name": uri})).into()
    }

    fn templates(&self) -> Vec<Value> {
        Vec::new()
    }

    fn serves(&self, uri: &str) -> bool {
        uri.starts_with("note:")
    }

    fn tells_updates(&self) -> bool {
        true
    }

    fn read<'a>(&'a self, uri: &'a str, _: &'a Context) -> Provided<'a> {
        Box::pin(async move {
            let contents = json!([{"uri": uri, "text": "noted"}]);
            json!({ "contents": contents })
                .as_object()
                .cloned()
                .ok_or_else(|| NotProvided::NotFound(uri.to_owned()))
        })
    }
}

/// A daemon with those tools, and the clock it goes by.
pub(crate) struct Theatre {
    pub(crate) stage: Arc<Stage>,
    pub(crate) clock: Arc<HandClock>,
    pub(crate) house: House,
}

/// Lifts the rate limit, for tests that are about something else.
pub(crate) const UNHURRIED: &str = "[rate_limit]\nrate = 0\n";

impl Theatre {
    /// On a new home, with that configuration.
    pub(crate) async fn new(config: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = home(&dir);
        home.prepare().unwrap();
        covenant_daemon::atomic::write(&home.config(), config.as_bytes()).unwrap();
        let clock = Arc::new(HandClock::at(Timestamp::from_millis(1_800_000_000_000)));
        Self::open(dir, clock).await
    }

    async fn open(dir: tempfile::TempDir, clock: Arc<HandClock>) -> Self {
        let stage = Stage::new();
        let mut options = options(home(&dir));
        options.clock = clock.clone();
        options.drain = Duration::from_secs(5);
        options.extra.resources.push(Arc::new(Notes));
        for act in [Act::Work, Act::Flood, Act::Ask, Act::Say, Act::Region] {
            options.extra.tools.push(Arc::new(Actor(act, stage.clone())));
        }
        let running: Running = start(options).await.unwrap();
        Self { stage, clock, house: House { dir, running } }
    }

    /// Stops the daemon, and starts another on the same home.
    pub(crate) async fn again(self) -> Self {
        let (clock, dir) = (self.clock, self.house.stop().await);
        Self::open(dir, clock).await
    }

    /// A daemon on a home as it lies on the disk now: so it would be found after a crash.
    pub(crate) async fn crashed(&self) -> Self {
        let dir = tempfile::tempdir().unwrap();
        copy(self.house.dir.path(), dir.path());
        Self::open(dir, self.clock.clone()).await
    }

    /// A client that may do everything.
    pub(crate) async fn client(&self, name: &str) -> HttpClient {
        self.client_with(name, &["tool.call.*", "tool.resource.*"]).await
    }

    /// A client that may do that.
    pub(crate) async fn client_with(&self, name: &str, grants: &[&str]) -> HttpClient {
        let added = self.house.ask("POST", "/api/v1/clients", json!({"name": name, "grants": grants})).await;
        assert_eq!(added.status, 201, "{added:?}");
        HttpClient::new(self.house.port(), added.json()["token"].as_str().unwrap())
    }

    /// How calls of that tool ended, oldest first, once so many have.
    pub(crate) async fn ends(&self, tool: &str, count: usize) -> Vec<String> {
        let end = std::time::Instant::now() + crate::wait::LONG;
        loop {
            let rows = self.house.get(&format!("/api/v1/audit?agent_id=tool:{tool}&limit=500")).await;
            let rows: Vec<Value> = rows.text.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
            let ends: Vec<String> = rows
                .iter()
                .filter(|row| row["kind"] == "CallFinished")
                .map(|row| row["decision"].as_str().unwrap().to_owned())
                .collect();
            if ends.len() >= count {
                return ends;
            }
            assert!(std::time::Instant::now() < end, "{rows:?}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn copy(from: &std::path::Path, to: &std::path::Path) {
    use std::os::unix::fs::DirBuilderExt as _;
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let (kind, to) = (entry.file_type().unwrap(), to.join(entry.file_name()));
        if kind.is_dir() {
            std::fs::DirBuilder::new().mode(0o700).create(&to).unwrap();
            copy(&entry.path(), &to);
        } else if kind.is_file() && !to.to_string_lossy().ends_with("-shm") {
            std::fs::copy(entry.path(), &to).unwrap();
        }
    }
}

/// The `method`s of messages.
pub(crate) fn methods(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["method"].as_str().unwrap_or("the answer")).collect()
}
