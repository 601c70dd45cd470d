//! The schema of `covibe_coordination`: what each operation takes, and what it requires.

use serde_json::{Value, json};

use super::{bounds, brief, id, list, text};

/// What each operation requires. A claim takes `paths` or `claim_id`, and so does a release: the operations say so.
pub(super) const NEEDS: &[(&str, &[&str])] = &[
    ("announce", &["message"]),
    ("ask", &["message"]),
    ("reply", &["ask_id", "message"]),
    ("handoff", &["to", "message"]),
    ("check_conflicts", &["paths"]),
];

pub(super) const SELECTS: &str = "announce: tell everybody; claim: keep paths for yourself for a while, or renew a claim by its \
     claim_id; release: give them up; ask, reply: talk to teammates; handoff: pass work on, with your published context; \
     check_conflicts: who works on these paths; summary: how things stand; inbox: what you were told";

pub(super) fn properties() -> Value {
    let number = |most: u64, about: &str| json!({ "type": "integer", "minimum": 1, "maximum": most, "description": about });
    json!({
        "message": text(bounds::MESSAGE, "What you say; of a claim, what it is for."),
        "to": text(bounds::HANDLE, "The handle of a teammate. An ask without it goes to everybody."),
        "paths": list(bounds::CLAIM_PATHS, bounds::PATH,
            "Paths relative to the repository, which cover what is beneath them, or globs: `*` and `?` within a folder, `**` across folders."),
        "repo": brief(bounds::PATH, "The repository the paths are in. Without it they are compared with those of every repository."),
        "ttl_minutes": number(bounds::TTL_MINUTES, "How long a claim lasts unless it is renewed, in minutes; 60 unless told otherwise."),
        "claim_id": id("claim_", "A claim of yours, to renew or to release."),
        "ask_id": id("ask_", "The ask that is replied to."),
        "task_id": id("task_", "For handoff: a task of yours that it is about."),
        "workstream_id": id("ws_", "For handoff: a workstream of yours that it is about."),
        "context_id": id("ctx_", "For handoff: an active context of yours; your newest one unless told otherwise."),
        "limit": number(bounds::INBOX, "For inbox: how many messages, the newest first; 20 unless told otherwise."),
        "unread_only": { "type": "boolean", "description": "For inbox: only messages that were not read." },
    })
}
