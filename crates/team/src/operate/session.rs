//! Sessions: they begin, give signs of life, say how their repository looks and what they do, and end.

use covenant_model::id::AgentSessionId;
use covenant_model::principal::AgentType;
use serde_json::{Map, Value, json};

use super::coordination::{self, Listener};
use super::{Done, details, files, moment};
use crate::input::{self, Invalid, SessionInput, bounds, texts};
use crate::perform::Seat;
use crate::perform::outcome::{Denied, Outcome, Stop};
use crate::port::TeamTx;
use crate::rules::stale;
use crate::session::{Companion, Session, Snapshot};

/// Begins a session. The type of a token wins over what the agent says of itself.
pub(super) async fn start(tx: &mut impl TeamTx, seat: &Seat, input: &SessionInput) -> Done {
    if input.session_id.is_some() {
        return Err(Invalid::new("session_id", "is given by the answer, not by the call").into());
    }
    let name = |field, text: &Option<String>| texts::optional(field, text.as_ref(), bounds::NAME);
    let said = texts::optional("agent_type", input.agent_type.as_ref(), bounds::AGENT_TYPE)?;
    let session = Session {
        id: AgentSessionId::from_random(tx.draw()?),
        workspace: seat.member.workspace.clone(),
        developer: seat.member.id.clone(),
        agent_name: name("agent_name", &input.agent_name)?,
        agent_type: seat.agent_type.map(|typed| typed.as_str().to_owned()).or_else(|| said.clone()),
        provider: name("provider", &input.provider)?,
        model: name("model", &input.model)?,
        repo: input.repo()?,
        branch: input.branch()?,
        started_at: seat.now,
        last_seen_at: seat.now,
        ended_at: None,
    };
    tx.add_session(&session).await?;
    let payload = details(json!({
        "agent_name": session.agent_name, "agent_type": session.agent_type,
        "provider": session.provider, "model": session.model,
    }));
    let mut outcome = Outcome::ok("The session is started.")
        .with("session_id", session.id.as_str())
        .with("agent_type", session.agent_type.clone().map_or(Value::Null, Value::from))
        .with("status", "active")
        .changed("session.started", &session.id, "active", payload)
        .about(&session.id);
    if let Some((typed, reported)) = mismatch(seat.agent_type, said.as_deref(), session.agent_name.as_deref())
    {
        let payload = details(json!({ "token": typed.as_str(), "reported": reported }));
        outcome = outcome.with("agent_mismatch", Value::Object(payload.clone())).changed(
            "session.agent_mismatch",
            &session.id,
            "active",
            payload,
        );
    }
    outcome.session = Some(session.id);
    Ok(outcome)
}

/// Whether an agent says of itself that it is another than its token was made for.
fn mismatch<'s>(
    typed: Option<AgentType>,
    said: Option<&'s str>,
    name: Option<&'s str>,
) -> Option<(AgentType, &'s str)> {
    let typed = typed?;
    if let Some(said) = said {
        return (!said.eq_ignore_ascii_case(typed.as_str())).then_some((typed, said));
    }
    // A name is a report only where it is the name of an agent we know.
    let plain = name?.to_ascii_lowercase().replace([' ', '_'], "-");
    let known = plain.parse::<AgentType>().ok()?;
    (known != typed).then_some((typed, name?))
}

/// The session that a call must come in, not ended.
fn running(seat: &Seat) -> Result<&Session, Stop> {
    let session = seat.session.as_ref().ok_or_else(|| Invalid::new("session_id", "is required"))?;
    if session.ended_at.is_some() {
        return Err(over(session));
    }
    Ok(session)
}

/// It is over, and takes no more calls.
pub(super) fn over(session: &Session) -> Stop {
    let message = format!("The session `{}` has ended.", session.id);
    Denied::new("session_ended", message, "Start a new one with operation \"start\".").into()
}

/// A sign of life, of a session or of a companion on a machine.
pub(super) async fn heartbeat(tx: &mut impl TeamTx, seat: &Seat, input: &SessionInput) -> Done {
    let version = texts::optional("companion_version", input.companion_version.as_ref(), bounds::VERSION)?;
    let repos = match &input.registered_repos {
        Some(repos) => Some(texts::list("registered_repos", Some(repos), bounds::REPOS, bounds::PATH)?),
        None => None,
    };
    let mut outcome = Outcome::ok("Heard.").with("last_seen_at", moment(seat.now));
    if seat.session.is_some() {
        running(seat)?;
    }
    coordination::notice(tx, seat).await?;
    if let Some(session) = &seat.session {
        let was_stale = stale::is_stale(session, seat.now);
        let seen = seat.now.max(session.last_seen_at);
        outcome = Outcome::ok("The session goes on.")
            .with("session_id", session.id.as_str())
            .with("status", "active")
            .with("was_stale", was_stale)
            .with("last_seen_at", moment(seen))
            .with("renewed_claims", tx.renew_claims(&session.id, seat.now).await?)
            .about(&session.id);
    }
    let (says_more, registered) = (version.is_some() || repos.is_some(), repos.as_ref().map(Vec::len));
    // Without a session it is a machine that says it is there, also where that is all it says.
    if says_more || seat.session.is_none() {
        let companion = Companion { developer: seat.member.id.clone(), version, repos, at: seat.now };
        tx.save_companion(&companion).await?;
    }
    if says_more {
        outcome = outcome.with("registered_repos", registered.map_or(Value::Null, Value::from));
    }
    let listener = if seat.session.is_some() { Listener::Agent } else { Listener::Machine };
    coordination::tell(tx, seat, listener, outcome).await
}

/// How the repository looks where the agent works.
pub(super) async fn snapshot(tx: &mut impl TeamTx, seat: &Seat, input: &SessionInput) -> Done {
    if seat.session.is_some() {
        running(seat)?;
    }
    let hashes = input::hashed("diff_hashes", input.diff_hashes.as_ref())?;
    let commits = input::hashed("recent_commits", input.recent_commits.as_ref())?;
    let snapshot = Snapshot {
        workspace: seat.member.workspace.clone(),
        developer: seat.member.id.clone(),
        session: seat.session.as_ref().map(|session| session.id.clone()),
        repo: input.repo()?.ok_or_else(|| texts::missing("repo"))?,
        branch: input.branch()?.unwrap_or_default(),
        worktree: input.worktree()?.unwrap_or_default(),
        dirty_files: texts::paths("dirty_files", input.dirty_files.as_ref(), bounds::SNAPSHOT)?,
        unpushed_files: texts::paths("unpushed_files", input.unpushed_files.as_ref(), bounds::SNAPSHOT)?,
        diff_hashes: texts::list(
            "diff_hashes",
            hashes.as_ref(),
            bounds::SNAPSHOT,
            bounds::PATH + bounds::COMMIT,
        )?,
        recent_commits: texts::list("recent_commits", commits.as_ref(), bounds::SNAPSHOT, bounds::COMMIT)?,
        at: seat.now,
    };
    bounded(&snapshot)?;
    tx.save_snapshot(&snapshot).await?;
    let payload = details(json!({
        "repo": snapshot.repo, "branch": snapshot.branch,
        "dirty": snapshot.dirty_files.len(), "unpushed": snapshot.unpushed_files.len(),
    }));
    let subject = snapshot.session.as_ref().map_or(snapshot.repo.as_str(), AgentSessionId::as_str).to_owned();
    let overlaps = files::overlaps(tx, seat, &snapshot).await?;
    let outcome = match overlaps.len() {
        0 => Outcome::ok("The state of the repository is noted."),
        count => Outcome::warning(
            format!("Others work on files that you touched: {count} overlaps."),
            "Before you go on, look at `overlaps` and agree with each owner on who changes what.",
        ),
    };
    Ok(outcome
        .with("overlaps", overlaps)
        .changed("session.snapshot", &subject, "active", payload)
        .about(&subject))
}

/// Sees to it that a snapshot is short enough to be compared with many others, and names things without showing them.
fn bounded(snapshot: &Snapshot) -> Result<(), Invalid> {
    let Snapshot { dirty_files, unpushed_files, diff_hashes, recent_commits, .. } = snapshot;
    for (field, list) in [("diff_hashes", diff_hashes), ("recent_commits", recent_commits)] {
        if list.iter().any(|text| text.contains(['\n', '\r'])) {
            return Err(Invalid::new(field, "takes a hash and at most one line beside it, never contents"));
        }
    }
    let lists = [dirty_files, unpushed_files, diff_hashes, recent_commits];
    let bytes: usize = lists.into_iter().flatten().map(|text| text.len().saturating_add(3)).sum();
    if bytes > bounds::SNAPSHOT_BYTES {
        let most = bounds::SNAPSHOT_BYTES;
        let reason = format!(
            "and the other lists have {bytes} bytes, and at most {most} are taken: leave out what is generated, and older commits"
        );
        return Err(Invalid::new("dirty_files", reason));
    }
    Ok(())
}

/// What the agent does, in a few words.
pub(super) fn activity(seat: &Seat, input: &SessionInput) -> Done {
    let session = running(seat)?;
    let activity = texts::required("activity", input.activity.as_ref(), bounds::ACTIVITY)?;
    let payload: Map<String, Value> = details(json!({ "activity": activity }));
    Ok(Outcome::ok("Noted.")
        .with("session_id", session.id.as_str())
        .changed("session.activity", &session.id, "active", payload)
        .about(&session.id))
}

/// Ends a session.
pub(super) async fn end(tx: &mut impl TeamTx, seat: &Seat) -> Done {
    let session = seat.session.as_ref().ok_or_else(|| Invalid::new("session_id", "is required"))?;
    tx.take_turn(&seat.member.workspace).await?;
    // Read again: whoever had the turn before may have ended it.
    let session = &tx.session(&session.id).await?.unwrap_or_else(|| session.clone());
    if session.ended_at.is_some() {
        let warning = Outcome::warning("The session was ended before.", "Nothing is left to do for it.");
        return Ok(warning.with("session_id", session.id.as_str()).about(&session.id));
    }
    let mut outcome = Outcome::ok("The session is ended.")
        .with("session_id", session.id.as_str())
        .with("status", "ended")
        .about(&session.id);
    outcome.ended_session = true;
    let outcome = put_an_end(tx, seat, session, outcome).await?;
    coordination::let_go(tx, seat, |claim| claim.session.as_ref() == Some(&session.id), outcome).await
}

/// Ends a session; the same answer, with that change.
pub(super) async fn put_an_end(
    tx: &mut impl TeamTx,
    seat: &Seat,
    session: &Session,
    outcome: Outcome,
) -> Done {
    let seen = seat.now.max(session.last_seen_at);
    let ended = Session { last_seen_at: seen, ended_at: Some(seen), ..session.clone() };
    tx.save_session(&ended).await?;
    Ok(outcome.changed("session.ended", &session.id, "ended", Map::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_report_that_differs_from_the_token_is_a_mismatch() {
        use AgentType::{ClaudeCode, Codex};
        for (typed, said, name, differs) in [
            (None, Some("codex"), None, false),
            (Some(Codex), None, None, false),
            (Some(Codex), Some("codex"), Some("Claude Code"), false),
            (Some(Codex), Some("cursor"), None, true),
            (Some(Codex), Some("gemini"), None, true),
            (Some(Codex), None, Some("Claude Code"), true),
            (Some(ClaudeCode), None, Some("claude-code"), false),
            (Some(ClaudeCode), None, Some("Ada's helper"), false),
        ] {
            assert_eq!(mismatch(typed, said, name).is_some(), differs, "{typed:?} {said:?} {name:?}");
        }
    }
}
