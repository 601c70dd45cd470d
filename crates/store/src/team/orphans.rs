//! Tasks from before there were workstreams get one each, made for them as it is made for a task that names none.

use covenant_gate::refusal::Fault;
use covenant_model::id::{EventId, WorkstreamId};
use covenant_model::time::Timestamp;
use covenant_team::event::Event;
use covenant_team::port::{Kept, TeamTx as _};
use covenant_team::work::{Brief, Form, Status, Work, WorkId};
use serde_json::Map;

use super::likeness::Reach;
use super::{TeamTransaction, work};
use crate::db::{DbError, retried};
use crate::open::Store;

/// How many tasks one transaction takes care of: few, because others wait for it.
const SLICE: u64 = 100;

impl Store {
    /// Gives every task that belongs to no workstream one of its own; how many those were. Costs next to nothing where
    /// there are none.
    pub async fn adopt_orphans(&self, now: Timestamp) -> Result<u64, Fault> {
        let mut adopted = 0;
        while let Some(slice) = retried(|| self.adopt_slice(now)).await? {
            adopted += slice;
        }
        Ok(adopted)
    }

    async fn adopt_slice(&self, now: Timestamp) -> Result<Option<u64>, DbError> {
        let mut tx = self.begin_in_turn(Reach::All).await?;
        match adopt(&mut tx, now).await {
            Ok(None) => Ok(None),
            Ok(adopted) => tx.end().await.map(|()| adopted),
            Err(broken) => Err(tx.why(broken)),
        }
    }
}

/// Adopts some of one team; `None` if no team has any.
async fn adopt(tx: &mut TeamTransaction, now: Timestamp) -> Kept<Option<u64>> {
    let first = work::orphans(&mut tx.tx, 1).await;
    let Some(first) = tx.kept(first)?.into_iter().next() else { return Ok(None) };
    tx.take_turn(&first.workspace).await?;
    // Read again: whoever had the turn before may have adopted them.
    let found = work::orphans(&mut tx.tx, SLICE).await;
    let mut adopted = 0;
    for mut task in tx.kept(found)?.into_iter().filter(|task| task.workspace == first.workspace) {
        let id = WorkstreamId::from_random(tx.draw()?);
        let workstream = container(&task, id.clone());
        tx.add_work(&workstream).await?;
        if let Form::Task { workstream, .. } = &mut task.form {
            *workstream = Some(id);
        }
        tx.save_work(&task).await?;
        let event = EventId::from_random(tx.draw()?);
        tx.add_changes(&[created(&workstream, &task, event, now)]).await?;
        adopted += 1;
    }
    Ok(Some(adopted))
}

/// What is made for a task: as old as the task, and over if that is.
fn container(task: &Work, id: WorkstreamId) -> Work {
    let open = task.status.is_open();
    let brief = &task.brief;
    Work {
        id: WorkId::Workstream(id),
        workspace: task.workspace.clone(),
        developer: task.developer.clone(),
        session: task.session.clone(),
        brief: Brief {
            title: brief.title.clone(),
            description: brief.description.clone(),
            scope: brief.scope.clone(),
            ..Brief::default()
        },
        form: Form::Workstream { auto_created: true },
        status: if open { Status::Active } else { Status::Done },
        result_summary: if open { None } else { task.result_summary.clone() },
        reason: None,
        idempotency_key: None,
        created_at: task.created_at,
        started_at: Some(task.started_at.unwrap_or(task.created_at)),
        updated_at: task.updated_at,
        ended_at: if open { None } else { Some(task.ended_at.unwrap_or(task.updated_at)) },
    }
}

fn created(workstream: &Work, task: &Work, id: EventId, now: Timestamp) -> Event {
    let mut payload = Map::new();
    payload.insert("task_id".to_owned(), task.id.as_str().into());
    Event {
        id,
        workspace: Some(workstream.workspace.clone()),
        developer: Some(workstream.developer.clone()),
        session: workstream.session.clone(),
        event: "workstream.auto_created".to_owned(),
        subject: Some(workstream.id.to_string()),
        status: workstream.status.as_str().to_owned(),
        payload,
        at: now,
    }
}
