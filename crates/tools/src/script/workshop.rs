//! Whether a script may run, and its run: a child in a sandbox, asked line by line, ended when its time is up.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use covenant_gate::context::{Level, LogMessage};
use covenant_gate::{Clock, Content, Context, RawOutput, Standing};
use covenant_model::tool::ToolCallResult;
use covenant_runner::child::Child;
use covenant_runner::ending::Limit;
use covenant_runner::lines::{LineLimits, Lines};
use covenant_runner::order::{Network, Order as ChildOrder, Sandbox};
use covenant_runner::pipes::{Input, Output};
use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt as _;

use super::allowance::Allowance;
use super::check::program;
use super::child::WORD;
use super::functions::Functions;
use super::shelf::{Script, Shelf};
use super::slots::Slots;
use super::words::{self, Answer, LONGEST, Order, PRINTED, Said};
use crate::native::Parts;
use crate::ports::{Programs, Secrets, Web};
use crate::settings;

/// Steps of the interpreter: as many as take it about ten seconds, so that a loop without end is told as one.
const STEPS: u64 = 200_000_000;

/// What the child itself needs beside the values of the script.
const OWN_MB: u64 = 48;

/// How long a child that has said its last may take to end.
const ENDING: Duration = Duration::from_secs(2);

/// What runs scripts.
pub(crate) struct Workshop {
    settings: settings::Scripts,
    shelf: Shelf,
    programs: Arc<dyn Programs>,
    web: Arc<dyn Web>,
    secrets: Secrets,
    clock: Arc<dyn Clock>,
    own: PathBuf,
    slots: Arc<Slots>,
}

/// What of a script is wanted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Task {
    pub(crate) function: Option<String>,
    pub(crate) arguments: Vec<Value>,
}

impl Workshop {
    /// One of those parts; otherwise why there is none.
    pub(crate) fn of(parts: &Parts) -> Result<Self, String> {
        let own = std::env::current_exe()
            .map_err(|error| format!("scripts run in this program, and it cannot be found: {error}"))?;
        Ok(Self {
            settings: parts.settings.scripts.clone(),
            shelf: Shelf::new(&parts.settings.scripts.path),
            programs: Arc::clone(&parts.programs),
            web: Arc::clone(&parts.web),
            secrets: Arc::clone(&parts.secrets),
            clock: Arc::clone(&parts.clock),
            own,
            slots: Arc::clone(&parts.slots),
        })
    }

    /// Where its scripts lie.
    pub(crate) fn shelf(&self) -> &Shelf {
        &self.shelf
    }

    /// How long a call may take: the script's own time, and some for its start.
    pub(crate) fn limit(&self) -> Duration {
        self.settings.within + Duration::from_secs(30)
    }

    /// Whether the configuration lets it run without being asked about.
    pub(crate) fn allowance(&self, script: &Script) -> Allowance {
        Allowance::of(&self.settings.allowlist, script)
    }

    /// Runs it if it may, and makes a result of that either way.
    pub(crate) async fn attempt(&self, script: &Script, task: Task, context: &Context) -> RawOutput {
        if script.text.contains('\0') {
            let file = script.file();
            let reason = format!("{file} has a NUL, which nobody who reads it can see; take it out");
            return ToolCallResult::error(reason).into();
        }
        if !self.allowance(script).is_given() {
            let standing = match standing(script, context).await {
                Ok(standing) => standing,
                Err(reason) => return ToolCallResult::error(reason).into(),
            };
            let file = script.file();
            let text = Content { name: &file, text: &script.text };
            match context.put_to_person(text, standing).await {
                Ok(Standing::Approved) => {}
                Ok(standing) => return unapproved(script, &standing).into(),
                Err(unanswered) => return unanswered.into(),
            }
        }
        self.approved(script, task, context).await.into()
    }

    /// Runs it.
    async fn approved(&self, script: &Script, task: Task, context: &Context) -> ToolCallResult {
        let slot =
            async { if context.is_within() { None } else { self.slots.take(context.principal()).await } };
        let Some(_slot) = context.cancelled().run_until_cancelled(slot).await else {
            return taken_back(script);
        };
        let begun = Instant::now();
        let run = tokio::time::timeout(self.settings.within, self.run(script, task, context));
        // A run that is dropped takes its child with it.
        let Some(ended) = context.cancelled().run_until_cancelled(run).await else {
            return taken_back(script);
        };
        let done = ended.unwrap_or_else(|_| {
            let within = self.settings.within.as_millis();
            Err(format!("{} did not finish within {within} ms and was ended", script.file()))
        });
        let mut result = match done {
            Ok(value @ Value::Object(_)) => ToolCallResult::json(value),
            // The protocol has `structuredContent` for objects alone.
            Ok(value) => ToolCallResult::text(value.to_string()),
            Err(reason) => ToolCallResult::error(reason),
        };
        let took = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        result.meta = Map::from_iter([("duration_ms".to_owned(), took.into())]);
        result
    }

    async fn run(&self, script: &Script, task: Task, context: &Context) -> Result<Value, String> {
        let started = self.programs.start(self.order(script)).await;
        let mut child =
            started.map_err(|reason| format!("{} could not be started: {reason}", script.file()))?;
        let (Some(input), Some(output)) = (child.take_input(), child.take_output()) else {
            return Err("the script's child has no pipes".to_owned());
        };
        let header = script.header();
        let functions = Functions {
            web: &*self.web,
            clock: &*self.clock,
            secrets: &self.secrets,
            named: &header.secrets,
            context,
        };
        let bytes = usize::try_from(self.settings.memory_mb << 20).unwrap_or(usize::MAX);
        let order = Order {
            file: script.file(),
            text: script.text.clone(),
            function: task.function,
            arguments: task.arguments,
            steps: STEPS,
            bytes,
        };
        let told = attend(&functions, &order, input, output).await;
        match told {
            Ok(done) => done,
            Err(Lost) => Err(self.why(script, &mut child).await),
        }
    }

    /// The child: it sees itself and nothing else, reaches no network, and has the memory that was set.
    fn order(&self, script: &Script) -> ChildOrder {
        let mut sandbox = Sandbox::new(PathBuf::new());
        sandbox.network = Network::Off;
        sandbox.read = vec![self.own.clone()];
        sandbox.memory_mb = self.settings.memory_mb + OWN_MB;
        sandbox.disk_mb = 1;
        sandbox.pids = 4;
        ChildOrder {
            name: format!("script {}", script.file()),
            program: self.own.clone(),
            arguments: vec![WORD.to_owned()],
            environment: Vec::new(),
            directory: PathBuf::from("/"),
            sandbox: Some(sandbox),
        }
    }

    /// Why a child ended without a result.
    async fn why(&self, script: &Script, child: &mut Child) -> String {
        let file = script.file();
        let waited = child.wait_until(tokio::time::Instant::now() + ENDING).await;
        let ending = waited.unwrap_or_else(|overdue| overdue.ending);
        if ending.over == Some(Limit::Memory) {
            return format!("{file} used more than {} MiB of memory and was ended", self.settings.memory_mb);
        }
        tracing::error!(script = file, status = %ending.status, errors = child.errors(), "a script's child broke");
        format!("{file} was ended without a result ({})", ending.status)
    }
}

/// How it stands. A person is asked only about what can be read: nobody should read and approve what can never run.
async fn standing(script: &Script, context: &Context) -> Result<Standing, String> {
    let file = script.file();
    let text = Content { name: &file, text: &script.text };
    if let Some(known) = context.known_standing(text).await.map_err(|fault| fault.to_string())? {
        return Ok(known);
    }
    let (name, code) = (file.clone(), script.text.clone());
    let read = tokio::task::spawn_blocking(move || program(&name, &code).map(drop)).await;
    read.map_err(|_| format!("{file} could not be checked"))?.map_err(|flaw| flaw.to_string())?;
    context.standing(text).await.map_err(|fault| fault.to_string())
}

fn taken_back(script: &Script) -> ToolCallResult {
    ToolCallResult::error(format!("{} was ended because its call was taken back", script.file()))
}

/// The child went away before it was done.
struct Lost;

/// Answers what the child asks until it is done.
async fn attend(
    functions: &Functions<'_>,
    order: &Order,
    mut input: Input,
    output: Output,
) -> Result<Result<Value, String>, Lost> {
    let mut lines = Lines::new(output, LineLimits { line: LONGEST, total: u64::MAX });
    let line = words::line(order).ok_or(Lost)?;
    input.write_all(&line).await.map_err(|_| Lost)?;
    let mut printed = 0;
    loop {
        let line = match lines.next().await {
            Ok(Some(line)) => line,
            Ok(None) => return Err(Lost),
            Err(error) => return Ok(Err(format!("{}: {error}", order.file))),
        };
        let Ok(said) = serde_json::from_slice::<Said>(&line) else { return Err(Lost) };
        match said {
            Said::Done(value) => return Ok(Ok(value)),
            Said::Failed(reason) => return Ok(Err(reason)),
            Said::Print(text) => {
                printed += text.len();
                if printed <= PRINTED {
                    let logger = Some(order.file.clone());
                    functions.context.log(LogMessage { level: Level::Info, logger, data: text.into() });
                }
            }
            Said::Call { function, positional, named } => {
                let answer = match functions.call(&function, positional, named).await {
                    Ok(value) => Answer::Value(value),
                    Err(reason) => Answer::Error(reason),
                };
                let too_long = || {
                    let reason = format!("{function}: the answer has more than {} MiB", LONGEST >> 20);
                    words::line(&Answer::Error(reason))
                };
                let line = words::line(&answer).or_else(too_long).ok_or(Lost)?;
                input.write_all(&line).await.map_err(|_| Lost)?;
            }
        }
    }
}

/// What is said of a script that may not run: the sentence everyone knows, and what was decided in `_meta`.
fn unapproved(script: &Script, standing: &Standing) -> ToolCallResult {
    let file = script.file();
    let pending = format!(
        "Script '{file}' is pending approval. An administrator must review and approve this script before it can be executed."
    );
    let (text, status, id) = match standing {
        Standing::Pending(id) => (pending, "pending", Some(id)),
        Standing::Modified(id) => (pending, "modified", Some(id)),
        Standing::Rejected { id, reason } => {
            let why = reason.as_deref().map(|reason| format!(": {reason}")).unwrap_or_default();
            let text = format!("Script '{file}' was rejected by an administrator{why}. It is not executed.");
            (text, "rejected", Some(id))
        }
        Standing::Full { limit } => {
            let text = format!(
                "Script '{file}' is not approved, and {limit} things of yours wait for an administrator already. Wait until some are decided."
            );
            (text, "full", None)
        }
        Standing::Approved => (format!("Script '{file}' is approved; run it again."), "approved", None),
    };
    let mut result = ToolCallResult::error(text);
    let mut approval = json!({"approval_status": status, "sha256": script.sha256()});
    if let (Some(id), Some(members)) = (id, approval.as_object_mut()) {
        members.insert("approval_id".to_owned(), id.to_string().into());
    }
    result.meta = approval.as_object().cloned().unwrap_or_default();
    result
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::native::tests::parts;

    #[tokio::test]
    async fn a_text_with_what_nobody_sees_is_not_even_asked_about() {
        let root = tempfile::tempdir().unwrap();
        let workshop = Workshop::of(&parts(root.path())).unwrap();
        let script = Script { name: "a".to_owned(), text: "x = 1 # \0".to_owned() };
        let context = Context::new(CancellationToken::new());
        let result = workshop.attempt(&script, Task::default(), &context).await;
        let said = format!("{result:?}");
        assert!(said.contains("a.star has a NUL") && said.contains("is_error: true"), "{said}");
    }
}
