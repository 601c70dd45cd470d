//! Asking a program one question: started outside the sandbox with next to no environment, it prints a line that
//! begins with our mark, in bounded time and with bounded output. Nothing of it is left afterwards.

use std::ffi::OsString;
use std::io::{PipeReader, Read as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use crate::daemon::readable;
use crate::ending::Status;
use crate::spawn::command;

/// How the line begins that counts. Shims are talkative.
pub(super) const MARK: &str = "covenant-interpreter ";

/// The most that is read.
const OUTPUT_LIMIT: usize = 64 * 1024;

/// The most of its own words that an error quotes.
const QUOTED: usize = 200;

/// Why a program gave no answer: the end of a sentence.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// It could not be run.
    #[error("it could not be started: {0}")]
    Start(std::io::Error),
    /// It took too long.
    #[error("it said nothing of use within {} s", .0.as_secs_f32())]
    Late(Duration),
    /// It ended without an answer.
    #[error("it ended with {status}{}", quoted(.last))]
    Ended {
        /// How it ended.
        status: Status,
        /// The last line of its output.
        last: String,
    },
    /// It printed something else than was asked for.
    #[error("its answer makes no sense{}", quoted(.0))]
    Garbled(String),
}

/// The line that the program answers with, without the mark.
pub(super) fn ask(
    program: &Path,
    question: &[&str],
    environment: &[(OsString, OsString)],
    patience: Duration,
) -> Result<String, AskError> {
    let deadline = Instant::now() + patience;
    let (mut pipe, mut child) = start(program, question, environment).map_err(AskError::Start)?;
    let read = read(&mut pipe, deadline);
    let answer = read.as_deref().ok().and_then(marked).map(str::to_owned);
    // Who answered is done. Who closed the output without an answer is about to say, by how it ends, why.
    let may_end = answer.is_none() && read.is_ok();
    let status = end(&mut child, if may_end { deadline } else { Instant::now() });
    match (answer, read) {
        (Some(line), _) => Ok(line),
        (None, Ok(text)) => Err(AskError::Ended { status, last: last_line(&text) }),
        (None, Err(Unread::Late)) => Err(AskError::Late(patience)),
        (None, Err(Unread::Endless)) => Err(AskError::Garbled(format!("more than {OUTPUT_LIMIT} bytes"))),
        (None, Err(Unread::Broken(cause))) => Err(AskError::Start(cause)),
    }
}

/// Why its output was not read to the end.
enum Unread {
    Late,
    Endless,
    Broken(std::io::Error),
}

/// Standard output and error are one pipe: what a program says instead of an answer is why there is none.
fn start(
    program: &Path,
    question: &[&str],
    environment: &[(OsString, OsString)],
) -> Result<(PipeReader, Child), std::io::Error> {
    let (reader, writer) = std::io::pipe()?;
    let arguments: Vec<OsString> = question.iter().map(Into::into).collect();
    let mut command = command(program, &arguments, environment);
    command.current_dir("/").stdout(writer.try_clone()?).stderr(writer).process_group(0);
    Ok((reader, command.spawn()?))
}

/// All it prints until it closes its output, or until a whole line with the mark is there.
fn read(pipe: &mut PipeReader, deadline: Instant) -> Result<String, Unread> {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    while bytes.len() <= OUTPUT_LIMIT {
        let left = deadline.saturating_duration_since(Instant::now());
        if !readable(pipe, left).map_err(Unread::Broken)? {
            return Err(Unread::Late);
        }
        let count = pipe.read(&mut chunk).map_err(Unread::Broken)?;
        bytes.extend_from_slice(chunk.get(..count).unwrap_or_default());
        let text = String::from_utf8_lossy(&bytes);
        if count == 0 || marked(&text).is_some() {
            return Ok(text.into_owned());
        }
    }
    Err(Unread::Endless)
}

/// The line with the mark, once it is whole.
fn marked(text: &str) -> Option<&str> {
    text.split_inclusive('\n').find_map(|line| line.strip_prefix(MARK)?.strip_suffix('\n'))
}

/// Waits for the program until then, and kills it and its group: after this nothing of it runs.
fn end(child: &mut Child, deadline: Instant) -> Status {
    let Some(leader) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return Status::Unknown };
    while Instant::now() < deadline && is_running(leader) {
        std::thread::sleep(Duration::from_millis(1));
    }
    // Before it is waited for: until then nobody else can have its number. A group that is gone needs no signal.
    let _ = kill_process_group(leader, Signal::KILL);
    child.wait().map_or(Status::Unknown, status)
}

/// Whether it runs, which leaves it to be waited for.
fn is_running(child: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::Pid(child), options), Ok(None))
}

fn status(status: ExitStatus) -> Status {
    match (status.code(), status.signal()) {
        (Some(code), _) => Status::Exited(code),
        (None, Some(signal)) => Status::Killed(signal),
        (None, None) => Status::Unknown,
    }
}

fn last_line(text: &str) -> String {
    text.trim_end().lines().next_back().unwrap_or_default().trim().to_owned()
}

fn quoted(words: &str) -> String {
    if words.is_empty() {
        return String::new();
    }
    let cut: String = words.chars().take(QUOTED).collect();
    format!(": {cut}{}", if cut.len() < words.len() { "…" } else { "" })
}
