//! What the operator changes while the daemon runs: each change is on record and in force, or neither.

use std::path::PathBuf;

use covenant_gate::{Fault, Operator};
use covenant_mcp::fleet::NoServer;
use covenant_model::audit::Kind;
use covenant_model::server::{BadEntry, NewServer, ServerStatus};

use super::desk::{Added, RUNTIME};
use super::edit::{self, EditError, Undo};
use super::{Known, entry, reading};
use crate::daemon::Daemon;
use crate::home::Home;
use crate::reload::{By, ReloadError};
use crate::secrets::Secrets;

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ChangeError {
    /// The entry cannot be used.
    #[error(transparent)]
    Bad(#[from] BadEntry),
    /// There is a server of that name.
    #[error("there is already a server `{name}`, from {origin}")]
    Taken { name: String, origin: String },
    /// There is none.
    #[error(transparent)]
    Missing(#[from] NoServer),
    /// A file cannot be changed.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// There is one in that file, which was taken away until the next start.
    #[error("{file} has a server `{name}` already, which was removed until the next start")]
    Away { name: String, file: String },
    /// A change could be neither finished nor taken back.
    #[error("{failure}; and {stays}")]
    Half { failure: Box<Self>, stays: EditError },
    /// With the change, what stands in the files cannot be used.
    #[error(transparent)]
    Reading(ReloadError),
    /// Something broke.
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// What the operator can say to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Command {
    /// Be reached.
    Connect,
    /// Be let go.
    Disconnect,
    /// Be ended, and started anew.
    Restart,
}

impl Command {
    fn word(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Disconnect => "disconnect",
            Self::Restart => "restart",
        }
    }
}

impl Daemon {
    /// Adds a server: until the next start, or for good.
    pub(crate) async fn add_server(
        &self,
        operator: &Operator,
        NewServer { entry, connect, persist }: NewServer,
    ) -> Result<(), ChangeError> {
        let _alone = self.changing.lock().await;
        entry::plan(&entry, &self.known(&self.secrets()))?;
        if let Some(origin) = self.desk.source(&entry.name) {
            return Err(ChangeError::Taken { name: entry.name, origin });
        }
        let (kind, name) = (Kind::ServerAdded, entry.name.clone());
        if persist {
            if let Some(file) = self.desk.away(&name) {
                return Err(ChangeError::Away { name, file });
            }
            let add =
                |home: &Home, undo: &mut Undo| edit::add(home, &entry, undo).map(|()| vec![home.config()]);
            self.edit(operator, kind, &name, add).await?;
            if !connect {
                self.desk.fleet.disconnect(&name).await?;
            }
            return Ok(());
        }
        self.gate.record(operator, kind, &name, Some(RUNTIME)).await?;
        // Hidden first: what is started may say it at once.
        let mut secrets = (*self.secrets()).clone();
        let credentials = reading::credentials_of(&entry, &self.known(&secrets));
        secrets.hide(credentials);
        self.hide(secrets);
        let wanted = self.desk.add(Added { entry, connect }, &self.known(&self.secrets()));
        self.desk.fleet.apply(wanted).await;
        Ok(())
    }

    /// Takes a server away: until the next start, or for good, also where it runs no more. The files it stood in.
    pub(crate) async fn remove_server(
        &self,
        operator: &Operator,
        name: &str,
        persist: bool,
    ) -> Result<Vec<String>, ChangeError> {
        let _alone = self.changing.lock().await;
        let (kind, origin) = (Kind::ServerRemoved, self.desk.source(name));
        if persist {
            let remove = |home: &Home, undo: &mut Undo| edit::remove(home, name, undo);
            match (self.edit(operator, kind, name, remove).await, &origin) {
                (Err(ChangeError::Edit(EditError::NotThere(_))), None) => {}
                (Err(ChangeError::Edit(EditError::NotThere(_))), Some(origin)) if origin == RUNTIME => {}
                (removed, _) => return removed,
            }
        }
        let origin = origin.ok_or_else(|| NoServer(name.to_owned()))?;
        self.gate.record(operator, kind, name, Some(&origin)).await?;
        let wanted = self.desk.remove(name, &self.known(&self.secrets()));
        self.desk.fleet.apply(wanted).await;
        Ok(Vec::new())
    }

    /// Does what the operator says with a server. One that was taken away until the next start is brought back first.
    pub(crate) async fn command_server(
        &self,
        operator: &Operator,
        name: &str,
        command: Command,
    ) -> Result<ServerStatus, ChangeError> {
        if command != Command::Disconnect {
            self.bring_back(operator, name).await?;
        }
        let fleet = &self.desk.fleet;
        fleet.server(name)?;
        self.gate.record(operator, Kind::ServerCommanded, name, Some(command.word())).await?;
        Ok(match command {
            Command::Connect => fleet.connect(name).await,
            Command::Disconnect => fleet.disconnect(name).await,
            Command::Restart => fleet.restart(name).await,
        }?)
    }

    async fn bring_back(&self, operator: &Operator, name: &str) -> Result<(), Fault> {
        let _alone = self.changing.lock().await;
        let Some(file) = self.desk.away(name).filter(|_| self.desk.source(name).is_none()) else {
            return Ok(());
        };
        self.gate.record(operator, Kind::ServerAdded, name, Some(&file)).await?;
        let wanted = self.desk.bring_back(name, &self.known(&self.secrets()));
        self.desk.fleet.apply(wanted).await;
        Ok(())
    }

    /// Changes files, and reads servers from them again; where any of that fails, the files are put back. Which files.
    async fn edit(
        &self,
        operator: &Operator,
        kind: Kind,
        name: &str,
        edit: impl Fn(&Home, &mut Undo) -> Result<Vec<PathBuf>, EditError>,
    ) -> Result<Vec<String>, ChangeError> {
        let (undo, edited) = anew(&self.home, edit)?;
        let failure = match edited {
            Err(error) => ChangeError::Edit(error),
            Ok(paths) => match self.put_in_force(operator, kind, name, &paths).await {
                Ok(files) => return Ok(files),
                Err(failure) => failure,
            },
        };
        match undo.put_back() {
            Ok(()) => Err(failure),
            Err(stays) => Err(ChangeError::Half { failure: Box::new(failure), stays }),
        }
    }

    async fn put_in_force(
        &self,
        operator: &Operator,
        kind: Kind,
        name: &str,
        paths: &[PathBuf],
    ) -> Result<Vec<String>, ChangeError> {
        let reading = self.read_servers().map_err(ChangeError::Reading)?;
        let files: Vec<String> = paths.iter().map(|path| self.home.shown(path)).collect();
        self.gate.record(operator, kind, name, Some(&files.join(", "))).await?;
        self.record_servers(By::Watch, &reading, Some(name)).await?;
        self.desk.forget(name);
        self.take_secrets(reading.secrets.clone());
        self.take_servers(reading).await;
        Ok(files)
    }

    /// What entries can name, with those secrets.
    pub(crate) fn known<'a>(&'a self, secrets: &'a Secrets) -> Known<'a> {
        Known { secrets, environment: &*self.environment, plugin: None }
    }
}

/// How often an edit is made anew where somebody else writes the file at the same time.
const TRIES: usize = 3;

/// Edits files. Where somebody else wrote one while it was read, what was done is put back and all of it done anew.
fn anew(
    home: &Home,
    edit: impl Fn(&Home, &mut Undo) -> Result<Vec<PathBuf>, EditError>,
) -> Result<(Undo, Result<Vec<PathBuf>, EditError>), EditError> {
    let mut tries = 1;
    loop {
        let mut undo = Undo::default();
        match edit(home, &mut undo) {
            Err(EditError::Overtaken { .. }) if tries < TRIES => undo.put_back()?,
            edited => return Ok((undo, edited)),
        }
        tries += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs;

    use covenant_model::server::Entry;

    use super::*;

    #[test]
    fn a_server_is_added_to_what_somebody_wrote_at_the_same_time() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(&dir.path().join("home")).unwrap();
        home.prepare().unwrap();
        let entry = Entry { name: "x".to_owned(), command: "run".to_owned(), ..Entry::default() };
        let first = Cell::new(true);
        let add = |home: &Home, undo: &mut Undo| {
            if first.replace(false) {
                fs::write(home.config(), "# by hand\n").unwrap();
                return Err(EditError::Overtaken { path: home.config() });
            }
            edit::add(home, &entry, undo).map(|()| vec![home.config()])
        };
        anew(&home, add).unwrap().1.unwrap();
        let text = fs::read_to_string(home.config()).unwrap();
        assert!(text.starts_with("# by hand\n") && text.contains("[[mcp.servers]]"), "{text}");
    }
}
