//! Secrets: names go out, values only come in. Each change is on disk, in force and in the log, or in none of them.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use covenant_gate::{Fault, Operator};
use covenant_model::api::{Removed, SecretBody};
use covenant_model::audit::Kind;
use covenant_model::secret::Secret;
use http::Uri;

use super::super::auth::Admin;
use super::super::document::{Asked, Document, Segment};
use super::super::reply::{self, Failure};
use super::list::Part;
use crate::daemon::Daemon;
use crate::reload::{By, ReloadError};
use crate::secrets::{self, EditError, SecretsError, Snapshot};

/// The names, and where each value comes from.
pub(crate) async fn list(
    State(daemon): State<Arc<Daemon>>,
    _admin: Admin,
    uri: Uri,
    Asked(part): Asked<Part>,
) -> Result<Response, Failure> {
    let cut = part.of(daemon.secrets().entries(), |entry| entry.name.clone())?;
    cut.answer(&daemon.gate.redactor(), &uri, &cut.items)
}

/// Keeps a value under a name.
pub(crate) async fn set(
    State(daemon): State<Arc<Daemon>>,
    Admin(operator): Admin,
    Segment(name): Segment,
    Document(SecretBody { value }): Document<SecretBody>,
) -> Result<Response, Failure> {
    let value = Secret::new(value);
    let (home, key) = (daemon.home.clone(), name.clone());
    let edit = move || secrets::set(&home, &key, &value).map(|()| true);
    change(&daemon, &operator, Kind::SecretSet, &name, edit).await?;
    let entry = daemon.secrets().entries().into_iter().find(|entry| entry.name == name);
    reply::json(&daemon.gate.redactor(), &entry)
}

/// Forgets a value.
pub(crate) async fn remove(
    State(daemon): State<Arc<Daemon>>,
    Admin(operator): Admin,
    Segment(name): Segment,
) -> Result<Response, Failure> {
    let (home, key) = (daemon.home.clone(), name.clone());
    let edit = move || secrets::remove(&home, &key);
    if !change(&daemon, &operator, Kind::SecretRemoved, &name, edit).await? {
        let message = format!("secrets.toml holds no secret {name}");
        return Err(Failure::not_found(message, "see what there is with `covenant secrets list`"));
    }
    reply::json(&daemon.gate.redactor(), &Removed { removed: name, also: Vec::new() })
}

/// Edits the file, takes it into effect, and records it; without the row, the file is put back. `false`: no change.
async fn change(
    daemon: &Arc<Daemon>,
    operator: &Operator,
    kind: Kind,
    name: &str,
    edit: impl FnOnce() -> Result<bool, EditError> + Send + 'static,
) -> Result<bool, Failure> {
    let _alone = daemon.changing.lock().await;
    let before = Snapshot::take(&daemon.home).map_err(|error| failed(&error.into()))?;
    let edited = blocking(edit).await?.map_err(|error| failed(&error))?;
    if !edited {
        return Ok(false);
    }
    let failure = match daemon.read_servers() {
        Err(error) => unread(error),
        Ok(reading) => {
            daemon.take_secrets(reading.secrets.clone());
            let recorded = async {
                daemon.gate.record(operator, kind, name, None).await?;
                daemon.record_servers(By::Watch, &reading, None).await
            };
            match recorded.await {
                Ok(()) => {
                    // Servers whose entries name it have another plan now.
                    daemon.take_servers(reading).await;
                    return Ok(true);
                }
                Err(fault) => fault.into(),
            }
        }
    };
    let home = daemon.home.clone();
    blocking(move || before.put_back(&home)).await?.map_err(|error| failed(&error))?;
    if let Ok(reading) = daemon.read_servers() {
        daemon.take_secrets(reading.secrets);
    }
    Err(failure)
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Failure> {
    let stopped = |error| Failure::from(Fault::new("the daemon is stopping", error));
    tokio::task::spawn_blocking(work).await.map_err(stopped)
}

fn unread(error: ReloadError) -> Failure {
    match error {
        ReloadError::Fault(fault) => fault.into(),
        ReloadError::Secrets(error) => failed(&error.into()),
        ReloadError::Config(error) => failed(&SecretsError::from(error).into()),
    }
}

fn failed(error: &EditError) -> Failure {
    match error {
        EditError::Bad(bad) => Failure::invalid(bad.to_string()),
        EditError::Read(_) | EditError::Write { .. } => {
            let action = "correct that, and try again; nothing was changed";
            Failure::new(http::StatusCode::CONFLICT, "secrets_file", error.to_string(), action)
        }
    }
}
