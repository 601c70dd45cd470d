//! Running git: which program, in which directory, with how little of the environment, and for how long.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use covenant_runner::ending::Status;
use covenant_runner::interpreter::on_path;
use covenant_runner::order::Order;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use crate::ports::{Environment, Later, Programs};

/// The most bytes of an answer. What is longer counts for nothing: half a list of names would be taken for the whole.
const MOST: usize = 8 << 20;

/// How long git may take to end where it took too long: it is asked first, since one that is killed leaves its locks behind.
const GRACE: Duration = Duration::from_secs(4);

/// Variables that git needs to reach a remote as its user would.
const KEPT: &[&str] = &[
    "HOME",
    "PATH",
    "USER",
    "LOGNAME",
    "XDG_CONFIG_HOME",
    "SSH_AUTH_SOCK",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "all_proxy",
    "TMPDIR",
];

/// What stands before every command, whatever the configuration of the user or the repository says: nothing that the
/// directory brings along is started, nobody is asked anything, nothing is signed, nothing is put aside or merged otherwise
/// than this house means it, and paths are names and no patterns.
const BEFORE: &[&str] = &[
    "--literal-pathspecs",
    "--no-pager",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.quotePath=false",
    "-c",
    "core.askPass=",
    "-c",
    "credential.interactive=false",
    "-c",
    "commit.gpgSign=false",
    "-c",
    "commit.cleanup=whitespace",
    "-c",
    "push.gpgSign=false",
    "-c",
    "push.followTags=false",
    "-c",
    "push.recurseSubmodules=no",
    "-c",
    "fetch.all=false",
    // An edit that nobody committed would be put aside, and come back with marks of a conflict in it.
    "-c",
    "merge.autoStash=false",
    "-c",
    "rebase.autoStash=false",
    "-c",
    "merge.ff=true",
    // A new file would come to another place than the remote has it, where nobody looked whether something lies there.
    "-c",
    "merge.directoryRenames=false",
    "-c",
    "rerere.enabled=false",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "submodule.recurse=false",
    "-c",
    "protocol.ext.allow=never",
];

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ran {
    /// Its exit code; none where it was killed.
    pub code: Option<i32>,
    /// What it answered.
    pub out: String,
    /// What else it said.
    pub said: String,
}

impl Ran {
    /// Whether it went well.
    pub fn is_well(&self) -> bool {
        self.code == Some(0)
    }
}

/// Runs git in one directory.
pub trait Runs: Send + Sync {
    /// Runs it with these arguments for that long at most; otherwise says in a clause why not.
    fn run<'a>(&'a self, arguments: &'a [&'a str], within: Duration) -> Later<'a, Result<Ran, String>>;

    /// Where.
    fn directory(&self) -> &Path;
}

/// The git on PATH.
pub struct Program {
    programs: Arc<dyn Programs>,
    environment: Environment,
    directory: PathBuf,
}

impl Program {
    /// Runs it in that directory.
    pub fn new(programs: Arc<dyn Programs>, environment: Environment, directory: PathBuf) -> Self {
        Self { programs, environment, directory }
    }

    fn order(&self, arguments: &[&str]) -> Result<Order, String> {
        let path = (self.environment)("PATH").unwrap_or_default();
        let program = on_path("git", path.as_ref())
            .ok_or("git is not on PATH: install it, or write `git_sync = false` in `[vault]`")?;
        let kept = KEPT.iter().filter_map(|name| Some(((*name).to_owned(), (self.environment)(name)?)));
        let added = variables(&self.directory).map(|(name, value)| (name.to_owned(), value));
        Ok(Order {
            name: "git".to_owned(),
            program,
            arguments: BEFORE.iter().chain(arguments).map(|word| (*word).to_owned()).collect(),
            environment: kept.chain(added).collect(),
            directory: self.directory.clone(),
            sandbox: None,
        })
    }

    async fn finished(&self, arguments: &[&str], within: Duration) -> Result<Ran, String> {
        let order = self.order(arguments)?;
        let end = tokio::time::Instant::now() + within;
        let mut child =
            self.programs.start(order).await.map_err(|error| format!("git could not be started: {error}"))?;
        drop(child.take_input());
        let output = child.take_output();
        let work = async {
            let out = match output {
                Some(output) => whole(output).await,
                None => Some(Vec::new()),
            };
            (out, child.wait().await)
        };
        let Ok((out, ending)) = tokio::time::timeout_at(end, work).await else {
            child.stop(GRACE).await;
            return Err(late(arguments, within));
        };
        let out =
            out.ok_or_else(|| format!("`git {}` said more than can be looked at", command(arguments)))?;
        let code = match ending.status {
            Status::Exited(code) => Some(code),
            Status::Killed(_) | Status::Unknown => None,
        };
        Ok(Ran { code, out: String::from_utf8_lossy(&out).into_owned(), said: child.errors() })
    }
}

impl Runs for Program {
    fn run<'a>(&'a self, arguments: &'a [&'a str], within: Duration) -> Later<'a, Result<Ran, String>> {
        Box::pin(self.finished(arguments, within))
    }

    fn directory(&self) -> &Path {
        &self.directory
    }
}

/// All that is said, unless it is too much. That is read and forgotten, so that nobody waits for room.
async fn whole(said: impl AsyncRead + Unpin) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut said = said.take(u64::try_from(MOST).unwrap_or(u64::MAX));
    let _ = said.read_to_end(&mut out).await;
    let more = tokio::io::copy(&mut said.into_inner(), &mut tokio::io::sink()).await;
    (more.unwrap_or_default() == 0).then_some(out)
}

/// What git is to do: the first word that is no option and no setting.
fn command<'a>(arguments: &[&'a str]) -> &'a str {
    let mut words = arguments.iter().copied();
    while let Some(word) = words.next() {
        match word {
            "-c" => drop(words.next()),
            word if word.starts_with('-') => {}
            word => return word,
        }
    }
    ""
}

fn late(arguments: &[&str], within: Duration) -> String {
    let what = command(arguments);
    format!("`git {what}` took longer than {} s and was ended", within.as_secs())
}

/// The variables that are the same for everyone: no questions, plain English, and no repository above the directory, which
/// would be another one than the one that is meant.
fn variables(directory: &Path) -> impl Iterator<Item = (&'static str, String)> {
    let real = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let above = real.parent().map(|parent| parent.display().to_string()).unwrap_or_default();
    let fixed = [
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_EDITOR", "true"),
        ("GIT_MERGE_AUTOEDIT", "no"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("SSH_ASKPASS_REQUIRE", "never"),
        ("LC_ALL", "C"),
    ];
    let fixed = fixed.map(|(name, value)| (name, value.to_owned()));
    fixed.into_iter().chain([("GIT_CEILING_DIRECTORIES", above)])
}

/// For tests, which start git themselves: the same arguments and variables.
#[cfg(test)]
pub(super) fn prepared(directory: &Path) -> (&'static [&'static str], Vec<(&'static str, String)>) {
    (BEFORE, variables(directory).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_answer_is_whole_or_none() {
        let said = vec![b'x'; MOST];
        assert_eq!(whole(&*said).await.map(|out| out.len()), Some(MOST));
        assert_eq!(whole([&*said, b"y"].concat().as_slice()).await, None);
    }

    #[test]
    fn what_took_too_long_is_named() {
        let arguments = ["-c", "user.name=Covenant", "merge", "--quiet"];
        assert_eq!(
            late(&arguments, Duration::from_mins(1)),
            "`git merge` took longer than 60 s and was ended"
        );
    }
}
