//! A database of the private `PostgreSQL` as anyone who may sign in can see and change it.

use serde_json::Value;

use crate::postgres::{command, programs};

/// Runs statements on that database; each line of what they answer.
///
/// # Panics
/// If one fails.
#[track_caller]
pub fn execute(url: &str, statements: &[String]) -> Vec<String> {
    let mut psql = command(&programs().expect("PostgreSQL is installed").join("psql"));
    psql.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-d", url]);
    for statement in statements {
        psql.args(["-c", statement]);
    }
    let ran = psql.output().expect("psql runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).lines().map(str::to_owned).collect()
}

/// The rows of each query, each by the names of its columns.
///
/// # Panics
/// If one cannot be read.
#[track_caller]
pub fn rows(url: &str, queries: &[String]) -> Vec<Vec<Value>> {
    let whole = |query: &String| format!("SELECT coalesce(jsonb_agg(r), '[]') FROM ({query}) r");
    let lines = execute(url, &queries.iter().map(whole).collect::<Vec<_>>());
    let read = |line: &String| serde_json::from_str(line).expect("an array of rows");
    lines.iter().map(read).collect()
}
