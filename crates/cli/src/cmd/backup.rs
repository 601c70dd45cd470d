//! `covenant backup`: the home in one file, while a daemon runs or not.

pub(super) mod passphrase;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use covenant_daemon::backup::{self, BackupError, Made, Order, Replace, Secrets, Step};
use covenant_daemon::config::{Config, Overrides};
use covenant_daemon::store::Progress as Rows;
use http::Method;
use serde_json::json;

use crate::exit::{Exit, Failure};
use crate::print::{self, Progress};
use crate::setting::Setting;

const EXAMPLES: &str = "\
Examples:
  covenant backup ~/covenant.tar                  # without keys and secrets
  covenant backup ~/covenant.tar --with-secrets   # asks for a passphrase
  covenant backup /mnt/nightly.tar --force \\
      --with-secrets --passphrase-file /etc/covenant/backup.pass

A daemon may run meanwhile. In the file: the database, the audit log,
config.toml, agents, plugins, scripts and memory. Not in it: the workspace, the
vault and logs, which are copied like any files; and keys and secrets, unless
--with-secrets says so. Put it back with: covenant restore FILE";

/// Write the home into one file.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Backup {
    /// The file to write, outside of the home.
    file: PathBuf,
    /// Put keys and secrets in as well, encrypted with a passphrase.
    #[arg(long)]
    with_secrets: bool,
    /// Read the passphrase from a file; `-` is standard input.
    #[arg(long, value_name = "FILE", requires = "with_secrets")]
    passphrase_file: Option<PathBuf>,
    /// Replace the file if it is there.
    #[arg(long)]
    force: bool,
}

impl Backup {
    pub(crate) fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        if !setting.home.exists() {
            return Err(failure(&BackupError::NoHome(setting.home.root().to_owned())));
        }
        let loaded = Config::load(&setting.home, &Overrides::from_environment());
        let config = loaded.map_err(|error| Failure::told(Exit::Usage, &error))?.config;
        let secrets = if self.with_secrets {
            Secrets::Sealed(passphrase::new(self.passphrase_file.as_deref())?)
        } else {
            Secrets::Without
        };
        // Only to have the newest rows signed. Whatever comes of it, they are copied all the same.
        if let Ok(Some(daemon)) = setting.running() {
            let _ = daemon.send(Method::POST, "/api/v1/audit/head", &json!({}));
        }
        let progress = Progress::new();
        let order = Order {
            home: setting.home.clone(),
            config,
            into: self.file.clone(),
            replace: if self.force { Replace::What } else { Replace::Nothing },
            secrets,
            now: setting.now(),
            told: Arc::new(move |step| progress.say(&told(&step))),
        };
        let made = super::block_on(backup::make(order))?.map_err(|error| failure(&error))?;
        self.report(setting, &made)?;
        Ok(Exit::Done)
    }

    fn report(&self, setting: &Setting, made: &Made) -> Result<(), Failure> {
        let manifest = &made.manifest;
        if setting.json() {
            return print::json(&json!({
                "file": self.file.display().to_string(),
                "bytes": made.bytes,
                "files": manifest.files(),
                "database": manifest.database,
                "schema": manifest.schema,
                "created_at": manifest.created_at,
                "with_secrets": manifest.sealed.is_some(),
                "left_out": made.left_out,
            }));
        }
        for left_out in print::first_few(&made.left_out, 5).0 {
            print::warn(&format!(
                "{left_out} is not in it: only files and directories with names in UTF-8 are"
            ));
        }
        if made.left_out.len() > 6 {
            print::warn(&format!("{} of these are not in it; see all with --json", made.left_out.len()));
        }
        let (file, files) = (self.file.display(), manifest.files());
        let size = super::backup::size(made.bytes);
        print::line(&format!("wrote {file}: {files} files, {size}"))?;
        print::note(match manifest.sealed {
            Some(_) => "keys and secrets are in it, encrypted: without the passphrase they are lost",
            None => "keys and secrets are not in it; a home restored from it gets new keys",
        });
        print::note(
            "credentials that stand in config.toml itself are in it as they stand there: keep the file to yourself",
        );
        print::note("not in it: the workspace, the vault, logs, and what can be made anew");
        Ok(())
    }
}

/// What goes on, in words.
fn told(step: &Step) -> String {
    match step {
        Step::Database(Rows::Written(table, rows)) => format!("copying {table}: {rows} rows"),
        Step::Database(Rows::Compared(table, rows)) => format!("comparing {table}: {rows} rows"),
        Step::Added(path, before) => format!("{before} files, {path}"),
    }
}

/// So many bytes, for people.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        ..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KiB", bytes.div_ceil(1024)),
        _ => format!("{} MiB", bytes.div_ceil(1_048_576)),
    }
}

fn failure(error: &BackupError) -> Failure {
    let exit = match error {
        BackupError::NoHome(_)
        | BackupError::Inside { .. }
        | BackupError::Exists(_)
        | BackupError::TooMany => Exit::Usage,
        _ => Exit::Failed,
    };
    Failure::told(exit, error)
}
