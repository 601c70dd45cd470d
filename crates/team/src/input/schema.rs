//! The schemas of the tools: one flat object each, `operation` an enum, and what each operation requires as a chain of
//! `if`/`then`/`else` at the root. Some hosts drop tools whose schema begins with `oneOf`.

mod coordination;

use serde_json::{Map, Value, json};

use super::{Tool, bounds};
use crate::work::{Action, Priority, TaskType};

/// The schema of a tool's arguments.
pub fn schema(tool: Tool) -> Map<String, Value> {
    let (properties, needs): (Value, &[(&str, &[&str])]) = match tool {
        Tool::Task => (
            merged([work(), task()]),
            &[
                ("check", &["title", "task_type"]),
                ("plan", &["title", "task_type"]),
                ("start", &["title", "task_type"]),
                ("start_planned", &["planned_task_id"]),
                ("update", &["task_id"]),
                ("complete", &["task_id", "result_summary"]),
                ("cancel", &["task_id", "reason"]),
            ],
        ),
        Tool::Workstream => (
            merged([work(), workstream()]),
            &[
                ("check", &["title"]),
                ("plan", &["title"]),
                ("start", &["title"]),
                ("start_planned", &["workstream_id"]),
                ("update", &["workstream_id"]),
                ("complete", &["workstream_id", "result_summary"]),
                ("cancel", &["workstream_id", "reason"]),
            ],
        ),
        Tool::Session => (
            session(),
            &[
                ("snapshot", &["repo"]),
                ("activity", &["session_id", "activity"]),
                ("publish_context", &["title", "summary"]),
                ("revoke_context", &["context_id"]),
                ("end", &["session_id"]),
            ],
        ),
        Tool::Note => (note(), &[]),
        Tool::Team => (team(), &[]),
        Tool::Warning => (warning(), &[("dismiss", &["warning_id", "reason"])]),
        Tool::Coordination => (coordination::properties(), coordination::NEEDS),
    };
    let selector = tool.selector();
    let words =
        json!({ selector: { "type": "string", "enum": tool.operations(), "description": selects(tool) } });
    let mut required = vec![selector];
    required.extend((tool == Tool::Note).then_some("text"));
    let mut schema = members(json!({
        "type": "object",
        "properties": merged([words, properties, everywhere()]),
        "required": required,
        "additionalProperties": false,
    }));
    if let Some(Value::Object(chain)) = chained(needs) {
        schema.extend(chain);
    }
    schema
}

/// What each operation requires, one after the other.
fn chained(needs: &[(&str, &[&str])]) -> Option<Value> {
    let ((operation, required), rest) = needs.split_first()?;
    let mut link = json!({
        "if": { "properties": { "operation": { "const": operation } }, "required": ["operation"] },
        "then": { "required": required },
    });
    if let (Some(rest), Value::Object(link)) = (chained(rest), &mut link) {
        link.insert("else".to_owned(), rest);
    }
    Some(link)
}

fn selects(tool: Tool) -> &'static str {
    match tool {
        Tool::Task | Tool::Workstream => {
            "check: look for overlapping work; plan: log future work; start: begin, within 10 minutes of a check with the \
             same title; start_planned: begin what was planned; update, complete, cancel: go on with your own"
        }
        Tool::Session => {
            "start: begin a session; heartbeat: say that it goes on; snapshot: how the repository looks; activity: what you \
             do now; publish_context, get_context, revoke_context: where you and teammates stand; end: end it"
        }
        Tool::Note => "decision: what was decided; blocker: what stands in the way",
        Tool::Team => {
            "state: what the team does, and what you should do next; feedback: the warnings and blocks you were given \
             lately; audit_parallel_work: which running work is done twice; generate_weekly_summary: the last 7 days as \
             Markdown"
        }
        Tool::Warning => "dismiss: put a warning of yours aside, with a reason; it opens no start",
        Tool::Coordination => coordination::SELECTS,
    }
}

fn everywhere() -> Value {
    json!({
        "session_id": id("sess_", "Your session, from covibe_session start."),
        "token": { "type": "string", "maxLength": 64, "description": "A developer token to act with instead of the connection's own." },
    })
}

fn work() -> Value {
    json!({
        "title": text(bounds::TITLE, "The work in one line. A start needs a check with the same title."),
        "description": prose("What is to be done, at length."),
        "scope": prose("How far the work goes: richer than the title, used to find overlap."),
        "action": words(Action::ALL.iter().map(|action| action.as_str()), "What the work does to the thing it is about."),
        "component": brief(bounds::COMPONENT, "The layer or part it touches, such as server, client, db, ui."),
        "target_files": list(bounds::TARGET_FILES, bounds::PATH, "Files it means to touch, relative to the repository."),
        "reason": text(bounds::REASON, "Why it is cancelled, or what blocks it."),
        "result_summary": text(bounds::TEXT, "What came of it. Required to complete."),
        "summary": prose("Optional; result_summary doubles as the summary."),
        "idempotency_key": text(bounds::KEY, "The same key on a repeated plan or start answers with what the first made."),
        "status": words(["active", "blocked"].into_iter(), "For update: how the work stands."),
        "check_id": id("chk_", "For a start with scope_verdict: the newest check, which gave the candidates."),
        "scope_verdict": {
            "type": "array",
            "maxItems": bounds::VERDICTS,
            "items": {
                "type": "object",
                "properties": {
                    "candidate_id": text(bounds::KEY, "The id of a candidate of the check."),
                    "same_scope": { "type": "boolean", "description": "Whether it is the same work as yours." },
                    "reason": brief(bounds::REASON, "Why. Required where it is not the same."),
                },
                "required": ["candidate_id", "same_scope"],
                "additionalProperties": false,
            },
            "description": "For a start after a check with candidates: one entry for each of them.",
        },
        "warning_id": id("warn_", "The older form: the newest check's warning, confirmed by confirmation_reason."),
        "confirmation_reason": text(bounds::REASON, "Why the developer wants it started although it is the same work."),
        "confirm": {
            "type": "boolean",
            "description": "For plan: false plans nothing if it may be duplicate work; true plans it all the same, as does leaving it out.",
        },
    })
}

fn task() -> Value {
    json!({
        "task_id": id("task_", "The task that update, complete or cancel is about."),
        "planned_task_id": id("task_", "The planned task that check or start_planned is about."),
        "workstream_id": id("ws_", "An active or blocked workstream of yours that the task belongs to."),
        "task_type": words(TaskType::ALL.iter().map(|kind| kind.as_str()), "Required for check, plan and start."),
        "priority": words(Priority::ALL.iter().map(|priority| priority.as_str()), "How soon it is wanted."),
    })
}

fn workstream() -> Value {
    json!({
        "workstream_id": id("ws_", "The workstream it is about."),
        "confirm_open_tasks": { "type": "boolean", "description": "Complete it although tasks of it are open." },
    })
}

fn session() -> Value {
    let files = |about| list(bounds::SNAPSHOT, bounds::PATH, about);
    json!({
        "agent_name": brief(bounds::NAME, "What the agent calls itself."),
        "agent_type": brief(bounds::AGENT_TYPE, "Which agent it is; the type of a token wins."),
        "provider": brief(bounds::NAME, "Whose model it runs on."),
        "model": brief(bounds::NAME, "Which model that is."),
        "repo": brief(bounds::PATH, "The repository it works in. Required for a snapshot."),
        "branch": brief(bounds::BRANCH, "The branch."),
        "worktree": brief(bounds::PATH, "The worktree."),
        "companion_version": brief(bounds::VERSION, "For heartbeat: the version of the companion."),
        "registered_repos": list(bounds::REPOS, bounds::PATH, "For heartbeat: the repositories the companion knows."),
        "dirty_files": files("Files that were changed and not committed. Names only."),
        "unpushed_files": files("Files of commits that were not pushed. Names only."),
        "diff_hashes": pieces("Hashes of what was changed, each a text or an object with `path` and `hash`."),
        "recent_commits": pieces("The newest commits, each a text or an object with `hash` and `subject`."),
        "activity": text(bounds::ACTIVITY, "What you do now, in a few words."),
        "title": text(bounds::TITLE, "For publish_context: where you stand, in one line."),
        "summary": text(bounds::TEXT, "For publish_context: where you stand, at length. No prompts, diffs or file contents."),
        "files_touched": files("Files you touched, relative to the repository."),
        "next_actions": list(bounds::ITEMS, bounds::ITEM, "What comes next."),
        "blockers": list(bounds::ITEMS, bounds::ITEM, "What stands in the way."),
        "task_ids": {
            "type": "array",
            "maxItems": bounds::ITEMS,
            "items": id("task_", "A task."),
            "description": "The tasks it is about.",
        },
        "ttl_hours": {
            "type": "integer",
            "minimum": 1,
            "maximum": bounds::TTL_HOURS,
            "description": "How long the context counts, in hours; 24 unless told otherwise.",
        },
        "handle": brief(bounds::HANDLE, "For get_context: whose context. Leave it and context_id out to list all."),
        "context_id": id("ctx_", "The context that get_context or revoke_context is about."),
    })
}

fn note() -> Value {
    json!({
        "text": text(bounds::TEXT, "What was decided, or what stands in the way."),
        "task_id": id("task_", "The task of yours it is about."),
        "workstream_id": id("ws_", "The workstream of yours it is about."),
    })
}

fn warning() -> Value {
    json!({
        "warning_id": id("warn_", "The warning, from a check or plan of yours."),
        "reason": text(bounds::REASON, "Why it can be put aside."),
    })
}

fn team() -> Value {
    json!({
        "feedback_type": words(["warning", "block", "error", "info"].into_iter(), "Only feedback of that type."),
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": bounds::FEEDBACK,
            "description": "For feedback and state: how many rows, of each list, the newest first; 20 of feedback and 50 of each list of the state unless told otherwise.",
        },
    })
}

/// A text that may not be empty.
fn text(most: usize, about: &str) -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": most, "description": about })
}

/// A text that may be empty.
fn brief(most: usize, about: &str) -> Value {
    json!({ "type": "string", "maxLength": most, "description": about })
}

fn prose(about: &str) -> Value {
    brief(bounds::TEXT, about)
}

fn words<'w>(words: impl Iterator<Item = &'w str>, about: &str) -> Value {
    json!({ "type": "string", "enum": words.collect::<Vec<_>>(), "description": about })
}

fn list(count: usize, most: usize, about: &str) -> Value {
    json!({
        "type": "array",
        "maxItems": count,
        "items": { "type": "string", "minLength": 1, "maxLength": most },
        "description": about,
    })
}

/// A list of hashes and what each is of.
fn pieces(about: &str) -> Value {
    json!({
        "type": "array",
        "maxItems": bounds::SNAPSHOT,
        "items": { "anyOf": [{ "type": "string" }, { "type": "object" }] },
        "description": about,
    })
}

fn id(prefix: &str, about: &str) -> Value {
    json!({ "type": "string", "pattern": format!("^{prefix}[a-z0-9]{{1,40}}$"), "description": about })
}

fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

fn merged<const N: usize>(parts: [Value; N]) -> Value {
    parts.into_iter().flat_map(members).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_schema_begins_with_a_choice_that_some_hosts_drop() {
        for tool in Tool::ALL {
            let schema = schema(tool);
            assert_eq!(schema["type"], "object");
            for choice in ["oneOf", "anyOf", "allOf"] {
                assert!(!schema.contains_key(choice), "{} has {choice}", tool.name());
            }
            assert_eq!(schema["properties"][tool.selector()]["enum"], json!(tool.operations()));
        }
    }

    #[test]
    fn every_operation_that_needs_something_says_so_in_the_chain() {
        let schema = Value::Object(schema(Tool::Task));
        let mut link = &schema;
        let mut seen = Vec::new();
        while let Some(condition) = link.get("if") {
            seen.push(condition["properties"]["operation"]["const"].as_str().unwrap().to_owned());
            assert!(!link["then"]["required"].as_array().unwrap().is_empty());
            link = link.get("else").unwrap_or(&Value::Null);
        }
        assert_eq!(seen, Tool::Task.operations());
    }
}
