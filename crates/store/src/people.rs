//! Workspaces and developers: one name, one workspace; one handle, one developer, for good.
//!
//! Who changes them does so in a transaction of its own, as if nobody else did at the same time: of two who want one
//! name or one handle, one gets it.

mod tokens;

pub(crate) use tokens::{end as end_token, end_own_tokens};

use covenant_gate::ports::people::{Admitted, Named, People, TokenKept};
use covenant_gate::ports::{Answer, TokenRecord};
use covenant_gate::refusal::Fault;
use covenant_model::id::{DeveloperId, GrantId, WorkspaceId};
use covenant_model::principal::Principal;
use covenant_model::team::{Developer, Handle, Role, Workspace, WorkspaceName};
use covenant_model::time::Timestamp;

use crate::db::{DbError, Record, Row, Tx, Value};
use crate::grants;
use crate::open::Store;
use crate::signin;

const WORKSPACES: &str = "SELECT id, name, created_at FROM workspaces";

const ADD_WORKSPACE: &str = "INSERT INTO workspaces (id, name, turn, created_at) VALUES ($1, $2, 0, $3)";

/// Every column of a developer.
macro_rules! columns {
    () => {
        "id, workspace_id, handle, role, private, created_at, removed_at"
    };
}

const DEVELOPERS: &str = concat!("SELECT ", columns!(), " FROM developers WHERE removed_at IS NULL");

const OF_HANDLE: &str = concat!("SELECT ", columns!(), " FROM developers WHERE handle = $1");

const ADD_DEVELOPER: &str =
    concat!("INSERT INTO developers (", columns!(), ") VALUES ($1, $2, $3, $4, $5, $6, $7)");

const TAKE_BACK: &str = "UPDATE developers SET role = $2, private = $3, removed_at = NULL WHERE id = $1 AND removed_at IS NOT NULL";

const DISMISS: &str =
    "UPDATE developers SET removed_at = $2 WHERE id = $1 AND removed_at IS NULL RETURNING id, handle";

impl Store {
    /// Sees to it that there is the developer `local`, who the operator is, and a workspace for them. The ids are those that
    /// they get if they are new.
    pub async fn found_local(
        &self,
        workspace: &WorkspaceId,
        developer: &DeveloperId,
        at: Timestamp,
    ) -> Result<(), Fault> {
        let local = Developer {
            id: developer.clone(),
            workspace: workspace.clone(),
            handle: Handle::local(),
            role: Role::Admin,
            private: false,
            created_at: at,
            removed_at: None,
        };
        let founded = self.db.write(move |tx| {
            let local = local.clone();
            Box::pin(async move { found(tx, local).await })
        });
        Ok(founded.await?)
    }
}

impl People for Store {
    fn workspaces(&self) -> Answer<'_, Vec<Workspace>> {
        Box::pin(async move {
            let rows = self.db.query(WORKSPACES, Vec::new()).await?;
            Ok(in_order(&rows)?)
        })
    }

    fn name_workspace(&self, id: WorkspaceId, name: WorkspaceName, at: Timestamp) -> Answer<'_, Named> {
        Box::pin(async move {
            let wanted = Workspace { id, name, created_at: at };
            let named = self.db.write(move |tx| {
                let wanted = wanted.clone();
                Box::pin(async move { name_workspace(tx, wanted).await })
            });
            Ok(named.await?)
        })
    }

    fn developers(&self) -> Answer<'_, Vec<Developer>> {
        Box::pin(async move {
            let rows = self.db.query(DEVELOPERS, Vec::new()).await?;
            let mut developers = rows.iter().map(developer).collect::<Result<Vec<_>, _>>()?;
            developers.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
            Ok(developers)
        })
    }

    fn developer(&self, handle: Handle) -> Answer<'_, Option<Developer>> {
        Box::pin(async move {
            let rows = self.db.query(OF_HANDLE, vec![handle.as_str().into()]).await?;
            let known = rows.first().map(developer).transpose()?;
            Ok(known.filter(|developer| developer.removed_at.is_none()))
        })
    }

    fn admit(&self, developer: Developer) -> Answer<'_, Admitted> {
        Box::pin(async move {
            let admitted = self.db.write(move |tx| {
                let developer = developer.clone();
                Box::pin(async move { admit(tx, developer).await })
            });
            Ok(admitted.await?)
        })
    }

    fn dismiss(&self, id: DeveloperId, at: Timestamp) -> Answer<'_, Option<Vec<GrantId>>> {
        Box::pin(async move {
            let dismissed = self.db.write(move |tx| {
                let id = id.clone();
                Box::pin(async move { dismiss(tx, &id, at).await })
            });
            Ok(dismissed.await?)
        })
    }

    fn add_token_of(&self, developer: DeveloperId, record: TokenRecord, limit: u64) -> Answer<'_, TokenKept> {
        Box::pin(async move {
            let kept = self.db.write(move |tx| {
                let (developer, record) = (developer.clone(), record.clone());
                Box::pin(async move { tokens::add(tx, &developer, record, limit).await })
            });
            Ok(kept.await?)
        })
    }
}

async fn found(tx: &mut Tx, local: Developer) -> Result<(), DbError> {
    if !tx.query(OF_HANDLE, vec![local.handle.as_str().into()]).await?.is_empty() {
        return Ok(());
    }
    let workspaces = in_order(&tx.query(WORKSPACES, Vec::new()).await?)?;
    let unnamed = workspaces.into_iter().find(|it| it.name == WorkspaceName::local());
    let workspace = if let Some(there) = unnamed {
        there.id
    } else {
        let name = WorkspaceName::local();
        add_workspace(tx, &Workspace { id: local.workspace, name, created_at: local.created_at }).await?
    };
    add_developer(tx, &Developer { workspace, ..local }).await
}

async fn name_workspace(tx: &mut Tx, wanted: Workspace) -> Result<Named, DbError> {
    let workspaces = in_order(&tx.query(WORKSPACES, Vec::new()).await?)?;
    if workspaces.iter().any(|it| it.name.is_like(&wanted.name)) {
        return Ok(Named::Taken);
    }
    if let Some(unnamed) = workspaces.into_iter().find(|it| it.name == WorkspaceName::local()) {
        let values = vec![unnamed.id.as_str().into(), wanted.name.as_str().into()];
        tx.execute("UPDATE workspaces SET name = $2 WHERE id = $1", values).await?;
        return Ok(Named::First(Workspace { name: wanted.name, ..unnamed }));
    }
    add_workspace(tx, &wanted).await?;
    Ok(Named::New(wanted))
}

async fn add_workspace(tx: &mut Tx, new: &Workspace) -> Result<WorkspaceId, DbError> {
    let values = vec![new.id.as_str().into(), new.name.as_str().into(), new.created_at.into()];
    tx.execute(ADD_WORKSPACE, values).await?;
    Ok(new.id.clone())
}

async fn admit(tx: &mut Tx, new: Developer) -> Result<Admitted, DbError> {
    let rows = tx.query(OF_HANDLE, vec![new.handle.as_str().into()]).await?;
    let Some(known) = rows.first().map(developer).transpose()? else {
        add_developer(tx, &new).await?;
        return Ok(Admitted::Done(new));
    };
    if known.removed_at.is_none() {
        return Ok(Admitted::Taken);
    }
    if known.workspace != new.workspace {
        return Ok(Admitted::Gone(known.workspace));
    }
    let values = vec![known.id.as_str().into(), new.role.as_str().into(), i64::from(new.private).into()];
    tx.execute(TAKE_BACK, values).await?;
    Ok(Admitted::Done(Developer { role: new.role, private: new.private, removed_at: None, ..known }))
}

async fn add_developer(tx: &mut Tx, new: &Developer) -> Result<(), DbError> {
    let values: Vec<Value> = vec![
        new.id.as_str().into(),
        new.workspace.as_str().into(),
        new.handle.as_str().into(),
        new.role.as_str().into(),
        i64::from(new.private).into(),
        new.created_at.into(),
        new.removed_at.into(),
    ];
    tx.execute(ADD_DEVELOPER, values).await.map(drop)
}

async fn dismiss(tx: &mut Tx, id: &DeveloperId, at: Timestamp) -> Result<Option<Vec<GrantId>>, DbError> {
    let rows = tx.query(DISMISS, vec![id.as_str().into(), at.into()]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let handle: Handle = Record::of("developers", row).parse("handle")?;
    let principal = Principal::from(&handle);
    tokens::end_all(tx, &principal, at).await?;
    signin::forget(tx, id, &principal, at).await?;
    // In the same turn: grants that outlived their holder would be theirs again with the next invite.
    grants::end_all(tx, &principal, at).await.map(Some)
}

/// The workspaces in those rows, oldest first. Not by SQL: the two databases may order texts differently.
fn in_order(rows: &[Row]) -> Result<Vec<Workspace>, DbError> {
    let mut workspaces = rows.iter().map(workspace).collect::<Result<Vec<_>, _>>()?;
    workspaces.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    Ok(workspaces)
}

fn workspace(row: &Row) -> Result<Workspace, DbError> {
    let record = Record::of("workspaces", row);
    Ok(Workspace {
        id: record.parse("id")?,
        name: record.parse("name")?,
        created_at: record.moment("created_at")?,
    })
}

fn developer(row: &Row) -> Result<Developer, DbError> {
    let record = Record::of("developers", row);
    Ok(Developer {
        id: record.parse("id")?,
        workspace: record.parse("workspace_id")?,
        handle: record.parse("handle")?,
        role: record.parse("role")?,
        private: record.count("private")? > 0,
        created_at: record.moment("created_at")?,
        removed_at: record.moment_or_none("removed_at")?,
    })
}
