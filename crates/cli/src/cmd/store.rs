//! `covenant store`: where things are kept, and how they get elsewhere.

use clap::{Args, Subcommand};
use covenant_daemon::config::{Config, Overrides};
use covenant_daemon::store::{self, Copied, CopyError, Progress as Rows, StoreError};
use serde_json::json;

use crate::exit::{Exit, Failure};
use crate::print::{self, Progress, Table};
use crate::setting::Setting;

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  covenant store copy --to postgres://covenant@db.example.org/covenant";
const COPY: &str = "\
Examples:
  covenant stop
  createdb team
  covenant store copy --to postgres://covenant@localhost/team
  PGPASSWORD=... covenant store copy --to postgres://ada@db/team

Every table is copied in one transaction, read back from both sides and
compared; where they differ, nothing is kept. No daemon may run meanwhile. The
database in use stays as it is: to use the new one, write its URL into
config.toml. A password may stand in the URL, where process lists show it, in
PGPASSWORD, or in ~/.pgpass.";

/// Move what is kept to another database.
#[derive(Debug, Subcommand)]
pub(crate) enum Store {
    Copy(Copy),
}

/// Copy the database into another, empty one, and compare both.
#[derive(Debug, Args)]
#[command(after_help = COPY)]
pub(crate) struct Copy {
    /// Where to: `postgres://USER@HOST/NAME`, or `sqlite:FILE`.
    #[arg(long, value_name = "URL")]
    to: String,
}

impl Store {
    pub(crate) fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        match self {
            Self::Copy(copy) => copy.run(setting),
        }
    }
}

impl Copy {
    fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        let loaded = Config::load(&setting.home, &Overrides::from_environment());
        let config = loaded.map_err(|error| Failure::told(Exit::Usage, &error))?.config;
        let progress = Progress::new();
        let told = |rows: Rows| {
            progress.say(&match rows {
                Rows::Written(table, rows) => format!("copying {table}: {rows} rows"),
                Rows::Compared(table, rows) => format!("comparing {table}: {rows} rows"),
            });
        };
        let copying = store::copy(&setting.home, &config, &self.to, setting.now(), &told);
        let copied = super::block_on(copying)?;
        drop(progress);
        report(setting, &copied.map_err(|error| failure(&error))?)?;
        Ok(Exit::Done)
    }
}

fn report(setting: &Setting, copied: &Copied) -> Result<(), Failure> {
    let rows: u64 = copied.tables.iter().map(|table| table.rows).sum();
    if setting.json() {
        let tables: Vec<_> = copied
            .tables
            .iter()
            .map(|table| json!({"table": table.table, "rows": table.rows, "digest": table.digest}))
            .collect();
        return print::json(&json!({"from": copied.from, "to": copied.to, "rows": rows, "tables": tables}));
    }
    let mut table = Table::new(&["TABLE", "ROWS", "DIGEST OF BOTH"]);
    for copied in &copied.tables {
        let digest: String = copied.digest.chars().take(16).collect();
        table.row([(&copied.table).into(), copied.rows.to_string().into(), digest.into()]);
    }
    table.print()?;
    print::note(&format!("{rows} rows are the same in {} and {}", copied.from, copied.to));
    print::note(
        "to use the new one, write it into config.toml, with its password if it has one, and start the daemon:",
    );
    print::note(&format!("  [database]\n  url = {:?}", copied.to));
    Ok(())
}

fn failure(error: &StoreError) -> Failure {
    let exit = match error {
        StoreError::Nothing(_)
        | StoreError::Copy(CopyError::NotEmpty { .. } | CopyError::Same(_) | CopyError::Unlike { .. }) => {
            Exit::Usage
        }
        StoreError::To(
            covenant_daemon::store::OpenError::UnknownScheme | covenant_daemon::store::OpenError::BadUrl(_),
        ) => Exit::Usage,
        _ => Exit::Failed,
    };
    Failure::told(exit, error)
}
