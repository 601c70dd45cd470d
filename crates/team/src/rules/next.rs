//! What somebody should do next, by what is known of them: what keeps others waiting first, and each with the call to make.

use serde_json::{Value, json};

use crate::audit::Side;
use crate::coordination::Message;
use crate::port::survey::{Listed, Warned};
use crate::rules::privacy::PRIVATE;
use crate::session::{Session, SharedContext};
use crate::title::short;
use crate::work::{Brief, Kind, TaskType, WorkId};

/// How much of a title or a reason stands in a sentence, in characters.
const QUOTED: usize = 160;

/// How long what was said of work may be to stand in a call that looks at it once more, in bytes.
const REPEATED: usize = 2_048;

/// What is known of somebody. Whoever gathers it decides how many there are of each.
#[derive(Debug, Default)]
pub struct Facts<'f> {
    /// What others asked them, and passed on to them.
    pub waiting: &'f [Waiting<'f>],
    /// Sessions of theirs that were silent for too long.
    pub stale: &'f [Session],
    /// Work of theirs that is stuck.
    pub blocked: &'f [Listed],
    /// Work of theirs that looks like somebody's, and still matters.
    pub doubled: &'f [Doubled<'f>],
    /// What they were warned of, and have to decide about.
    pub warned: &'f [Undecided],
    /// Work of theirs that is planned.
    pub planned: &'f [Listed],
    /// What they published, if it does not count any more.
    pub expired: Option<&'f SharedContext>,
}

/// A message that waits for them.
#[derive(Debug)]
pub struct Waiting<'f> {
    /// An ask, or a handoff.
    pub message: &'f Message,
    /// Whose it is, as they may know it.
    pub sender: &'f str,
}

/// What somebody wanted to do, and was warned that it may be somebody's work.
#[derive(Debug)]
pub struct Undecided {
    /// The warning.
    pub warned: Warned,
    /// What they said of the work.
    pub brief: Brief,
}

/// Work that looks like other work.
#[derive(Debug)]
pub struct Doubled<'f> {
    /// Theirs.
    pub own: &'f Side,
    /// The other.
    pub other: &'f Side,
    /// Whose that is, as they may know it.
    pub owner: &'f str,
}

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub struct Action {
    /// What kind of thing it is, in a word.
    pub kind: &'static str,
    /// What to do, and why.
    pub sentence: String,
    /// The tool to call for it.
    pub tool: &'static str,
    /// With which arguments, as far as they are known.
    pub arguments: Value,
}

/// What to do next: there is always something.
pub fn actions(facts: &Facts<'_>) -> Vec<Action> {
    let waiting = facts.waiting.iter().map(answer);
    let stale = facts.stale.iter().map(end);
    let blocked = facts.blocked.iter().map(unblock);
    let doubled = facts.doubled.iter().map(agree);
    let warned = facts.warned.iter().map(look_again);
    let planned = facts.planned.iter().map(begin);
    let expired = facts.expired.into_iter().map(publish);
    let all = waiting.chain(stale).chain(blocked).chain(doubled).chain(warned).chain(planned).chain(expired);
    let mut actions: Vec<Action> = all.collect();
    if actions.is_empty() {
        actions.push(look_first());
    }
    actions
}

fn answer(waiting: &Waiting<'_>) -> Action {
    let Waiting { message, sender } = waiting;
    let text = short(&message.text, QUOTED);
    let tool = "covibe_coordination";
    match &message.ask {
        Some(ask) => Action {
            kind: "open_ask",
            sentence: format!(
                "{sender} asks you: \"{text}\" Answer with {tool} operation \"reply\" and your message."
            ),
            tool,
            arguments: json!({ "operation": "reply", "ask_id": ask.as_str() }),
        },
        None => Action {
            kind: "waiting_handoff",
            sentence: format!(
                "{sender} passed work on to you: \"{text}\" Read it with {tool} operation \"inbox\"."
            ),
            tool,
            arguments: json!({ "operation": "inbox", "unread_only": true }),
        },
    }
}

fn end(session: &Session) -> Action {
    let (id, seen) = (session.id.as_str(), session.last_seen_at);
    Action {
        kind: "stale_session",
        sentence: format!(
            "Your session {id} was last heard of at {seen}: end it with covibe_session operation \"end\", or go on in it."
        ),
        tool: "covibe_session",
        arguments: json!({ "operation": "end", "session_id": id }),
    }
}

fn unblock(work: &Listed) -> Action {
    let (kind, title) = (work.id.kind(), short(&work.title, QUOTED));
    let why = work.reason.as_deref().map(|reason| short(reason, QUOTED));
    let why = why.filter(|why| !why.is_empty()).unwrap_or_else(|| "nobody said why".to_owned());
    let (tool, mut arguments) = named("update", &work.id);
    set(&mut arguments, "status", "active");
    Action {
        kind: "blocked_work",
        sentence: format!(
            "Your {kind} \"{title}\" is blocked ({why}): see to that, then call {tool} operation \"update\" with status \
             \"active\"."
        ),
        tool,
        arguments,
    }
}

/// Two who did both what they are told would both stop: whose the other is, is asked first. Of two of one's own, one can go.
fn agree(doubled: &Doubled<'_>) -> Action {
    let Doubled { own, other, owner } = doubled;
    let kind = own.id.kind();
    let (title, twin) = (short(&own.title, QUOTED), short(&other.title, QUOTED));
    let (operation, text) = match kind {
        Kind::Task => ("cancel", "reason"),
        Kind::Workstream => ("complete", "result_summary"),
    };
    let (closer, state) = (tool(kind), other.status);
    let alike = format!(
        "Your {kind} \"{title}\" looks like the same work as \"{twin}\" ({}, {state}) of {owner}:",
        other.id
    );
    if own.developer == other.developer {
        let (tool, mut arguments) = named(operation, &own.id);
        set(&mut arguments, text, &format!("The same work as {}.", other.id));
        let sentence = format!(
            "{alike} go on with one of them, and call {tool} operation \"{operation}\" for the other."
        );
        return Action { kind: "parallel_work", sentence, tool, arguments };
    }
    let tool = "covibe_coordination";
    let message = format!("{} and {} look like the same work: who of us goes on?", own.id, other.id);
    // Somebody private cannot be addressed, and reads what is said to everybody.
    let arguments = match *owner {
        PRIVATE => json!({ "operation": "ask", "message": message }),
        owner => json!({ "operation": "ask", "to": owner, "message": message }),
    };
    let sentence = format!(
        "{alike} agree on who goes on with {tool} operation \"ask\", and if that is not you, call {closer} operation \
         \"{operation}\"."
    );
    Action { kind: "parallel_work", sentence, tool, arguments }
}

fn look_again(undecided: &Undecided) -> Action {
    let Undecided { warned, brief } = undecided;
    let (tool, title) = (tool(warned.kind), short(&warned.title, QUOTED));
    let mut arguments = json!({ "operation": "check", "title": warned.title });
    if warned.kind == Kind::Task {
        // It informs, and decides nothing.
        set(&mut arguments, "task_type", TaskType::Chore.as_str());
    }
    let kept = said(brief);
    let more = if kept.to_string().len() > REPEATED { ", saying of it what you said before," } else { "" };
    if let (true, Value::Object(arguments), Value::Object(kept)) = (more.is_empty(), &mut arguments, kept) {
        arguments.extend(kept);
    }
    Action {
        kind: "overlap_warning",
        sentence: format!(
            "You were warned that \"{title}\" may be other work that is open: look at it once more with {tool} operation \
             \"check\"{more} before you start it."
        ),
        tool,
        arguments,
    }
}

/// What was said of work beside its title.
fn said(brief: &Brief) -> Value {
    let mut said = json!({});
    set(&mut said, "description", &brief.description);
    set(&mut said, "scope", &brief.scope);
    set(&mut said, "action", brief.action.map_or("", crate::work::Action::as_str));
    set(&mut said, "component", brief.component.as_deref().unwrap_or_default());
    if let Value::Object(members) = &mut said {
        members.retain(|_, text| text != "");
        if !brief.target_files.is_empty() {
            members.insert("target_files".to_owned(), json!(brief.target_files));
        }
    }
    said
}

fn begin(work: &Listed) -> Action {
    let (kind, title) = (work.id.kind(), short(&work.title, QUOTED));
    let mut arguments = json!({ "operation": "check", "title": work.title });
    match &work.id {
        WorkId::Task(id) => {
            set(&mut arguments, "planned_task_id", id.as_str());
            set(&mut arguments, "task_type", work.task_type.unwrap_or(TaskType::Chore).as_str());
        }
        WorkId::Workstream(id) => set(&mut arguments, "workstream_id", id.as_str()),
    }
    let tool = tool(kind);
    Action {
        kind: "planned_work",
        sentence: format!(
            "Your planned {kind} \"{title}\" is not started: call {tool} operation \"check\", then \"start_planned\" within 10 \
             minutes."
        ),
        tool,
        arguments,
    }
}

fn publish(context: &SharedContext) -> Action {
    let (title, until) = (short(&context.body.title, QUOTED), context.expires_at);
    Action {
        kind: "expired_context",
        sentence: format!(
            "What you published as \"{title}\" counted until {until}: say where you stand now with covibe_session operation \
             \"publish_context\" and a new summary."
        ),
        tool: "covibe_session",
        arguments: json!({
            "operation": "publish_context", "title": context.body.title, "repo": context.body.repo,
            "branch": context.body.branch,
        }),
    }
}

fn look_first() -> Action {
    Action {
        kind: "check_first",
        sentence: "Nothing of yours waits: before you start anything, call covibe_task operation \"check\" with its title and \
                   task_type."
            .to_owned(),
        tool: "covibe_task",
        arguments: json!({ "operation": "check" }),
    }
}

fn tool(kind: Kind) -> &'static str {
    match kind {
        Kind::Task => "covibe_task",
        Kind::Workstream => "covibe_workstream",
    }
}

/// The tool for that work, and the arguments that name it.
fn named(operation: &str, id: &WorkId) -> (&'static str, Value) {
    let mut arguments = json!({ "operation": operation });
    let name = match id {
        WorkId::Task(_) => "task_id",
        WorkId::Workstream(_) => "workstream_id",
    };
    set(&mut arguments, name, id.as_str());
    (tool(id.kind()), arguments)
}

fn set(arguments: &mut Value, name: &str, value: &str) {
    if let Value::Object(members) = arguments {
        members.insert(name.to_owned(), value.into());
    }
}

#[cfg(test)]
mod tests;
