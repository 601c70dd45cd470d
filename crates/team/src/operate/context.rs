//! What agents publish of where they stand: the newest counts, until it is withdrawn or too old.

use std::time::Duration;

use covenant_model::id::{AgentSessionId, ContextId, TaskId};
use serde_json::{Value, json};

use super::people::People;
use super::{Done, details, lots, moment, teammate};
use crate::input::{Invalid, SessionInput, bounds, texts};
use crate::perform::Seat;
use crate::perform::outcome::{Denied, Outcome, Stop};
use crate::port::survey::Shelf;
use crate::port::{Member, TeamTx};
use crate::rules::privacy;
use crate::session::{ContextBody, SharedContext};
use crate::work::WorkId;

/// How long a context counts unless it says otherwise, in hours.
const HOURS: u64 = 24;

/// How many contexts are told at once.
const MOST: u32 = 100;

/// How many bytes of contexts are told at once: an answer says everything twice, and may not be longer than 4 MiB.
const ROOM: usize = 1 << 20;

/// Publishes a context in place of the earlier one for the same repository and branch.
pub(super) async fn publish(tx: &mut impl TeamTx, seat: &Seat, input: &SessionInput) -> Done {
    let items =
        |field, items: &Option<Vec<String>>| texts::list(field, items.as_ref(), bounds::ITEMS, bounds::ITEM);
    let hours = input.ttl_hours.unwrap_or(HOURS);
    if !(1..=bounds::TTL_HOURS).contains(&hours) {
        return Err(
            Invalid::new("ttl_hours", format!("is a whole number from 1 to {}", bounds::TTL_HOURS)).into()
        );
    }
    let task_ids = tasks(tx, seat, input.task_ids.as_deref().unwrap_or_default()).await?;
    let body = ContextBody {
        title: texts::required("title", input.title.as_ref(), bounds::TITLE)?,
        summary: texts::required("summary", input.summary.as_ref(), bounds::TEXT)?,
        files_touched: texts::paths("files_touched", input.files_touched.as_ref(), bounds::SNAPSHOT)?,
        next_actions: items("next_actions", &input.next_actions)?,
        blockers: items("blockers", &input.blockers)?,
        task_ids,
        repo: input.repo()?.unwrap_or_default(),
        branch: input.branch()?.unwrap_or_default(),
    };
    let length = serde_json::to_string(&body).map_or(usize::MAX, |text| text.len());
    if length > bounds::CONTEXT {
        let reason =
            format!("make the context {length} bytes long, and at most {} are taken", bounds::CONTEXT);
        return Err(Invalid::new("files_touched", reason).into());
    }
    let context = SharedContext {
        id: ContextId::from_random(tx.draw()?),
        workspace: seat.member.workspace.clone(),
        developer: seat.member.id.clone(),
        session: seat.session.as_ref().map(|session| session.id.clone()),
        body,
        created_at: seat.now,
        expires_at: seat.now.plus(Duration::from_hours(hours)),
        superseded_by: None,
        revoked_at: None,
    };
    tx.take_turn(&seat.member.workspace).await?;
    let before = tx.publish(&context).await?;
    let before: Vec<&str> = before.iter().map(ContextId::as_str).collect();
    // Events are read by the whole team, and names of repositories and branches are often those of people.
    let payload = details(json!({ "title": context.body.title, "supersedes": before }));
    Ok(Outcome::ok("The context is published.")
        .with("context_id", context.id.as_str())
        .with("expires_at", moment(context.expires_at))
        .with("superseded", before)
        .changed("session.context_published", &context.id, "active", payload)
        .about(&context.id))
}

/// The tasks a context is about: of the caller's team.
async fn tasks(tx: &mut impl TeamTx, seat: &Seat, ids: &[TaskId]) -> Result<Vec<TaskId>, Stop> {
    if ids.len() > bounds::ITEMS {
        let most = bounds::ITEMS;
        return Err(Invalid::new(
            "task_ids",
            format!("has {} items, and at most {most} are taken", ids.len()),
        )
        .into());
    }
    for id in ids {
        let known = tx.work(&WorkId::Task(id.clone())).await?;
        if known.is_none_or(|task| task.workspace != seat.member.workspace) {
            let message = format!("There is no task `{id}` in your team.");
            return Err(Denied::new("not_yours", message, "Name only tasks of your team in task_ids.").into());
        }
    }
    Ok(ids.to_vec())
}

/// A teammate's newest context, one by its id, or everybody's.
pub(super) async fn get(tx: &mut impl TeamTx, seat: &Seat, input: &SessionInput) -> Done {
    // A blank one is nobody, and not everybody.
    let handle = match &input.handle {
        None => None,
        Some(handle) => Some(texts::required("handle", Some(handle), bounds::HANDLE)?),
    };
    match (handle, &input.context_id) {
        (Some(_), Some(_)) => Err(Invalid::new("context_id", "and `handle` cannot both be given").into()),
        (Some(handle), None) => {
            let member = teammate(tx, seat, &handle).await?;
            let handle = member.handle.as_str();
            let newest = tx.contexts(&seat.member.workspace, Some(&member.id), seat.now, 1).await?;
            let Some(context) = newest.first() else {
                let none = format!("{handle} has no active context.");
                return Ok(Outcome::ok(none).with("context", Value::Null));
            };
            Ok(Outcome::ok(format!("The newest context of {handle}."))
                .with("context", shown(context, &member, seat))
                .about(&context.id))
        }
        (None, Some(id)) => {
            let found = tx.context(id).await?;
            let found = found.filter(|found| found.workspace == seat.member.workspace && counts(found, seat));
            let Some(context) = found else {
                let message = format!("There is no active context `{id}` in your team.");
                let action = "List the active ones with operation \"get_context\" alone.";
                return Err(Denied::new("no_context", message, action).into());
            };
            let mut people = People::default();
            let author = people.with(tx, seat, &context.developer).await?;
            Ok(Outcome::ok("The context.").with("context", shown(&context, author, seat)).about(id))
        }
        (None, None) => everybodys(tx, seat).await,
    }
}

/// The active contexts of a team, the newest first, as many as one answer holds.
async fn everybodys(tx: &mut impl TeamTx, seat: &Seat) -> Done {
    let newest = tx.contexts(&seat.member.workspace, None, seat.now, MOST).await?;
    let contexts = lots::counted(tx, seat, newest, MOST, Shelf::Contexts(seat.now)).await?;
    let (mut listed, mut room, mut people) = (Vec::new(), ROOM, People::default());
    for context in &contexts.items {
        let shown = shown(context, people.with(tx, seat, &context.developer).await?, seat);
        let length = shown.to_string().len();
        if length > room {
            break;
        }
        room -= length;
        listed.push(shown);
    }
    let told = u64::try_from(listed.len()).unwrap_or(u64::MAX);
    let left_out = contexts.number.saturating_sub(told);
    let more = match left_out {
        0 => String::new(),
        _ => format!(" The {left_out} oldest are left out; ask for those of one teammate with `handle`."),
    };
    let message = format!("Active contexts: {}.{more}", contexts.number);
    Ok(Outcome::ok(message).with("contexts", listed).with("left_out", left_out))
}

/// Whether a context counts now.
pub(super) fn counts(context: &SharedContext, seat: &Seat) -> bool {
    context.revoked_at.is_none() && context.superseded_by.is_none() && context.expires_at > seat.now
}

/// A context as a teammate sees it.
fn shown(context: &SharedContext, member: &Member, seat: &Seat) -> Value {
    let hidden = privacy::is_hidden(member, &seat.member.id);
    let session = context.session.as_ref().filter(|_| !hidden).map(AgentSessionId::as_str);
    let ContextBody { title, summary, files_touched, next_actions, blockers, task_ids, repo, branch } =
        &context.body;
    json!({
        "context_id": context.id.as_str(),
        "developer": privacy::shown(member, &seat.member.id),
        "session_id": session,
        "title": title,
        "summary": summary,
        "files_touched": files_touched,
        "next_actions": next_actions,
        "blockers": blockers,
        "task_ids": task_ids,
        "repo": Some(repo).filter(|_| !hidden),
        "branch": Some(branch).filter(|_| !hidden),
        "created_at": moment(context.created_at),
        "expires_at": moment(context.expires_at),
    })
}

/// Withdraws one's own context.
pub(super) async fn revoke(tx: &mut impl TeamTx, seat: &Seat, input: &SessionInput) -> Done {
    let id = input.context_id.as_ref().ok_or_else(|| Invalid::new("context_id", "is required"))?;
    tx.take_turn(&seat.member.workspace).await?;
    let found = tx.context(id).await?.filter(|context| context.developer == seat.member.id);
    let Some(context) = found else { return Err(Denied::missing("context", id.as_str()).into()) };
    if context.revoked_at.is_some() {
        let warning = Outcome::warning("The context was withdrawn before.", "Nothing is left to do for it.");
        return Ok(warning.with("context_id", id.as_str()).about(id));
    }
    tx.revoke(id, seat.now).await?;
    let payload = details(json!({ "title": context.body.title }));
    Ok(Outcome::ok("The context is withdrawn.")
        .with("context_id", id.as_str())
        .changed("session.context_revoked", id, "revoked", payload)
        .about(id))
}
