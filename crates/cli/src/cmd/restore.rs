//! `covenant restore`: a home out of one file. What it is worth is said before anything is written.

use std::path::PathBuf;

use clap::Args;
use covenant_daemon::backup::{
    Archive, BadArchive, Keys, Manifest, Replace, RestoreError, Restored, Succession,
};
use serde_json::json;

use super::backup::passphrase;
use crate::exit::{Exit, Failure};
use crate::print;
use crate::setting::Setting;

const EXAMPLES: &str = "\
Examples:
  covenant restore ~/covenant.tar
  covenant --home ~/other restore ~/covenant.tar
  covenant restore ~/covenant.tar --force   # moves the home there is aside

No daemon may run in that home. A backup without keys gives a home with new
ones: see what that means in docs/operating.md.";

/// Make a home from a backup.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Restore {
    /// The backup.
    file: PathBuf,
    /// Move a home that is there already aside.
    #[arg(long)]
    force: bool,
    /// Read the passphrase from a file; `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "without_secrets")]
    passphrase_file: Option<PathBuf>,
    /// Leave the keys and secrets of the backup alone, and begin with new keys.
    #[arg(long)]
    without_secrets: bool,
}

impl Restore {
    pub(crate) fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        let bad = |why: BadArchive| failure(&RestoreError::Archive { path: self.file.clone(), why });
        let archive = Archive::open(&self.file).map_err(bad)?;
        let sealed = archive.manifest().sealed.is_some();
        let keys = if sealed && !self.without_secrets {
            let passphrase = passphrase::known(self.passphrase_file.as_deref())?;
            Keys::Own(archive.unseal(&passphrase).map_err(bad)?)
        } else if self.passphrase_file.is_some() {
            return Err(bad(BadArchive::NothingSealed));
        } else {
            Keys::New
        };
        let replace = if self.force { Replace::What } else { Replace::Nothing };
        let restoring = archive.restore(&setting.home, keys, replace, setting.now());
        let restored = super::block_on(restoring)?.map_err(|error| failure(&error))?;
        report(setting, archive.manifest(), &restored)?;
        Ok(Exit::Done)
    }
}

fn report(setting: &Setting, manifest: &Manifest, restored: &Restored) -> Result<(), Failure> {
    let home = setting.home.root().display().to_string();
    let moved = restored.moved.as_ref().map(|path| path.display().to_string());
    if setting.json() {
        let new_keys = restored.succession.as_ref().map(|Succession { grants, log }| {
            json!({"grants_signed_anew": grants.grants, "grants_left": grants.left, "log_before": log})
        });
        return print::json(&json!({
            "home": home,
            "created_at": manifest.created_at,
            "covenant": manifest.covenant,
            "files": manifest.files(),
            "bytes": manifest.bytes(),
            "moved_aside": moved,
            "new_keys": new_keys,
            "audit": restored.audit,
        }));
    }
    print::line(&format!("restored {home} as it was at {}", manifest.created_at))?;
    if let Some(moved) = moved {
        print::note(&format!("what was there before is in {moved}"));
    }
    if let Some(database) = manifest.database.as_deref().filter(|place| !place.starts_with("sqlite:")) {
        print::note(&format!(
            "its database was {database} and is a file now; to move it to a server: covenant store copy --to URL"
        ));
    }
    if let Some(report) = restored.audit.as_ref().filter(|report| !report.valid) {
        let why = report.first_bad.as_ref().map_or("", |bad| bad.reason.as_str());
        print::warn(&format!("its audit log was damaged when the backup was made: {}", print::escape(why)));
    }
    print::note("whoever was signed in in a browser signs in again, and links that nobody had used are void");
    match &restored.succession {
        None => print::note("it has its own keys: do not run both it and the home it was copied from"),
        Some(succession) => say_what_is_new(setting, succession),
    }
    Ok(())
}

/// What a home with new keys does not have of the old one.
fn say_what_is_new(setting: &Setting, Succession { grants, log }: &Succession) {
    print::note("it has new keys; tokens of clients are as they were, the operator's is new");
    print::note(&format!("{} of its grants were signed anew with them", grants.grants));
    if grants.left > 0 {
        print::warn(&format!(
            "{} grants were not signed by the old key and stay as they are; see which count: covenant capabilities list",
            grants.left
        ));
    }
    if let Some(log) = log {
        let aside = setting.home.root().join(log).display().to_string();
        print::note(&format!(
            "a new audit log begins; the old one is in {aside}, check it with: \
             covenant audit verify {aside} --key {aside}/local.pub"
        ));
    }
    print::note("secrets are to be set again: covenant secrets set NAME");
}

fn failure(error: &RestoreError) -> Failure {
    let exit = match error {
        RestoreError::Archive { why: BadArchive::Unwritten(_), .. } => Exit::Failed,
        RestoreError::Archive { .. } | RestoreError::Occupied(_) | RestoreError::Home(_) => Exit::Usage,
        _ => Exit::Failed,
    };
    Failure::told(exit, error)
}
