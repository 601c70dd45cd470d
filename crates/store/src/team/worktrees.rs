//! How the repositories of a team look, as its agents said lately: as much of it as one call is worth, since others wait for it.

use std::collections::BTreeSet;
use std::fmt;

use covenant_model::id::{AgentSessionId, WorkspaceId};
use covenant_team::session::{Elsewhere, Looked, Worktree};
use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};

use crate::db::{DbError, Record, Row, Tx, Value};

/// How many bytes of lists are read for one call, the newest first: some of the longest snapshots, or very many usual ones.
const BYTES: u64 = 1 << 20;

macro_rules! recent {
    ($columns:literal) => {
        concat!(
            "SELECT ",
            $columns,
            " FROM local_worktrees \
             WHERE workspace_id = $1 AND at >= $2 AND ($3 = '' OR repo = $3) \
             AND NOT (developer_id = $4 AND session_id = $5) ORDER BY at DESC LIMIT $6"
        )
    };
}

/// How long they are, which no database has to read them for.
const LENGTHS: &str =
    recent!("at, CAST(octet_length(dirty_files) + octet_length(unpushed_files) AS BIGINT) AS bytes");

/// Only what is compared: what else a snapshot says can be long.
const RECENT: &str = recent!("developer_id, session_id, repo, branch, dirty_files, unpushed_files, at");

#[cfg(test)]
pub(super) const STATEMENTS: &[&str] = &[LENGTHS, RECENT];

/// The newest of a team.
pub(super) async fn recent(
    tx: &mut Tx,
    workspace: &WorkspaceId,
    of: Elsewhere<'_>,
    most: u32,
) -> Result<Looked, DbError> {
    let values = |most: u64| -> Vec<Value> {
        vec![
            workspace.as_str().into(),
            of.since.into(),
            of.repo.into(),
            of.developer.as_str().into(),
            of.session.map_or("", AgentSessionId::as_str).into(),
            most.into(),
        ]
    };
    let lengths = tx.query(LENGTHS, values(u64::from(most))).await?;
    let fit = fitting(&lengths)?;
    let rows = if fit == 0 { Vec::new() } else { tx.query(RECENT, values(fit)).await? };
    let worktrees = rows.iter().map(|row| worktree(row, of.files)).collect::<Result<Vec<_>, _>>()?;
    let there = u64::try_from(lengths.len()).unwrap_or(u64::MAX);
    Ok(Looked { worktrees, all: fit == there && there < u64::from(most) })
}

/// How many of them are read.
fn fitting(lengths: &[Row]) -> Result<u64, DbError> {
    let (mut fit, mut room) = (0, BYTES);
    for row in lengths {
        let bytes = Record::of("local_worktrees", row).count("bytes")?;
        let Some(left) = room.checked_sub(bytes) else { break };
        (fit, room) = (fit + 1, left);
    }
    Ok(fit)
}

fn worktree(row: &Row, only: Option<&BTreeSet<&str>>) -> Result<Worktree, DbError> {
    let record = Record::of("local_worktrees", row);
    let text = |column| record.text(column).map(ToOwned::to_owned);
    let files = |column| {
        let mut reader = serde_json::Deserializer::from_str(record.text(column)?);
        let files = Files(only).deserialize(&mut reader).and_then(|files| reader.end().map(|()| files));
        files.map_err(|error| record.bad(column, error))
    };
    Ok(Worktree {
        developer: record.parse("developer_id")?,
        session: super::or_none(&record, "session_id")?,
        repo: text("repo")?,
        branch: text("branch")?,
        dirty_files: files("dirty_files")?,
        unpushed_files: files("unpushed_files")?,
        at: record.moment("at")?,
    })
}

/// A list of files, of which those that nobody asks for are passed over without being kept.
#[derive(Clone, Copy)]
struct Files<'w>(Option<&'w BTreeSet<&'w str>>);

/// One of them, if somebody asks for it.
#[derive(Clone, Copy)]
struct File<'w>(Files<'w>);

impl<'de> DeserializeSeed<'de> for Files<'_> {
    type Value = Vec<String>;

    fn deserialize<D: Deserializer<'de>>(self, list: D) -> Result<Vec<String>, D::Error> {
        list.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Files<'_> {
    type Value = Vec<String>;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a list of files")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vec<String>, A::Error> {
        let mut kept = Vec::new();
        while let Some(file) = list.next_element_seed(File(self))? {
            kept.extend(file);
        }
        Ok(kept)
    }
}

impl<'de> DeserializeSeed<'de> for File<'_> {
    type Value = Option<String>;

    fn deserialize<D: Deserializer<'de>>(self, file: D) -> Result<Option<String>, D::Error> {
        file.deserialize_str(self)
    }
}

impl Visitor<'_> for File<'_> {
    type Value = Option<String>;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a file")
    }

    fn visit_str<E: Error>(self, file: &str) -> Result<Option<String>, E> {
        let Files(only) = self.0;
        Ok(only.is_none_or(|only| only.contains(file)).then(|| file.to_owned()))
    }
}
