//! `covenant logs`: the daemon's log, read from its files, so that it works after a crash as well.

use std::fs::File;
use std::io::{ErrorKind, IsTerminal as _, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::json;

use crate::args::count;
use crate::exit::{Exit, Failure};
use crate::print;
use crate::setting::{Output, Setting};

/// How many older files there may be.
const OLDER: u32 = 4;

/// How often it is looked for more.
const PAUSE: Duration = Duration::from_millis(200);

const EXAMPLES: &str = "\
Examples:
  covenant logs                    # the last 100 lines
  covenant logs -n 20 -f           # the last 20, and then what comes
  COVENANT_LOG=debug covenant up   # run a daemon that logs each request";

/// Show the daemon's log.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Logs {
    /// Go on with what comes.
    #[arg(short, long)]
    follow: bool,
    /// How many lines.
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100, value_parser = count)]
    lines: u32,
}

impl Logs {
    pub(crate) fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let path = setting.home.log();
        // Opened before the last lines are read: what is written meanwhile is not lost.
        let mut current = open(&path)?;
        if current.is_none() && !self.follow {
            return Err(Failure::failed(
                format!("there is no log yet: {} does not exist", path.display()),
                "it is begun by the first daemon: covenant up --detach",
            ));
        }
        if current.is_none() {
            print::note(&format!("no log yet in {}; waiting for a daemon", setting.home.logs().display()));
        }
        let mut pending = match &mut current {
            Some(file) => read_all(file, &path)?,
            None => Vec::new(),
        };
        let rest = pending.split_off(pending.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1));
        for line in last_lines(&path, &pending, usize::try_from(self.lines).unwrap_or(usize::MAX)) {
            show(&line, setting.output)?;
        }
        if self.follow { follow(&path, current, rest, setting.output) } else { finish(&rest, setting.output) }
    }
}

fn finish(rest: &[u8], output: Output) -> Result<Exit, Failure> {
    if !rest.is_empty() {
        show(rest, output)?;
    }
    Ok(Exit::Done)
}

/// The last lines of the file's text and, where those are too few, of the older files.
fn last_lines(path: &Path, text: &[u8], count: usize) -> Vec<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = Vec::new();
    let mut take = |text: &[u8]| {
        let mut part = text.split_inclusive(|&byte| byte == b'\n').rev();
        while lines.len() < count
            && let Some(line) = part.next()
        {
            lines.push(line.strip_suffix(b"\n").unwrap_or(line).to_vec());
        }
        lines.len() < count
    };
    let mut number = 1;
    let mut more = take(text);
    while more && number <= OLDER {
        more = std::fs::read(aside(path, number)).is_ok_and(|text| take(&text));
        number += 1;
    }
    lines.reverse();
    lines
}

fn aside(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// Shows what is written from now on, also into the file that takes the place of a full one.
fn follow(
    path: &Path,
    mut current: Option<File>,
    mut pending: Vec<u8>,
    output: Output,
) -> Result<Exit, Failure> {
    loop {
        if let Some(file) = &mut current {
            // Whether it was moved aside is asked before it is read to its end: nothing more comes after that.
            let moved = is_another(file, path);
            pending.extend(read_all(file, path)?);
            show_whole_lines(&mut pending, output)?;
            if moved {
                current = None;
            }
        }
        let fresh = current.is_none();
        if fresh {
            current = open(path)?;
        }
        // A file that has just been opened is read at once.
        if !fresh || current.is_none() {
            std::thread::sleep(PAUSE);
        }
    }
}

fn show_whole_lines(pending: &mut Vec<u8>, output: Output) -> Result<(), Failure> {
    let Some(end) = pending.iter().rposition(|&byte| byte == b'\n') else { return Ok(()) };
    let rest = pending.split_off(end + 1);
    for line in std::mem::replace(pending, rest).split_inclusive(|&byte| byte == b'\n') {
        show(line.strip_suffix(b"\n").unwrap_or(line), output)?;
    }
    Ok(())
}

/// Whether the path names another file than the open one by now.
fn is_another(file: &File, path: &Path) -> bool {
    match (file.metadata(), path.metadata()) {
        (Ok(ours), Ok(theirs)) => (ours.dev(), ours.ino()) != (theirs.dev(), theirs.ino()),
        _ => true,
    }
}

fn open(path: &Path) -> Result<Option<File>, Failure> {
    match File::open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(path, &error)),
    }
}

fn read_all(file: &mut File, path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    Ok(bytes)
}

fn unreadable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::failed(
        format!("the log {} cannot be read: {error}", path.display()),
        "see who owns it: covenant doctor",
    )
}

/// One line, as it is; for machines as JSON, unless it is that already.
fn show(line: &[u8], output: Output) -> Result<(), Failure> {
    let text = String::from_utf8_lossy(line);
    match output {
        Output::Machines if !text.starts_with('{') => print::line(&json!({"line": text}).to_string()),
        _ if std::io::stdout().is_terminal() => print::line(&print::escape(&text)),
        _ => print::raw(&[line, b"\n"].concat()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(lines: Vec<Vec<u8>>) -> Vec<String> {
        lines.into_iter().map(|line| String::from_utf8(line).unwrap()).collect()
    }

    #[test]
    fn the_last_lines_reach_back_into_older_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("covenant.log");
        std::fs::write(aside(&path, 2), "1\n2\n").unwrap();
        std::fs::write(aside(&path, 1), "3\n4\n").unwrap();
        assert_eq!(texts(last_lines(&path, b"5\n6\n", 3)), ["4", "5", "6"]);
        assert_eq!(texts(last_lines(&path, b"5\n6\n", 99)), ["1", "2", "3", "4", "5", "6"]);
        assert_eq!(texts(last_lines(&path, b"5\n6\n", 1)), ["6"]);
        assert!(last_lines(&path, b"5\n6\n", 0).is_empty());
    }

    #[test]
    fn a_file_that_was_moved_aside_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("covenant.log");
        std::fs::write(&path, "a\n").unwrap();
        let file = File::open(&path).unwrap();
        assert!(!is_another(&file, &path));
        std::fs::rename(&path, aside(&path, 1)).unwrap();
        assert!(is_another(&file, &path));
        std::fs::write(&path, "b\n").unwrap();
        assert!(is_another(&file, &path));
    }

    #[test]
    fn half_a_line_waits_for_its_end() {
        let mut pending = b"half".to_vec();
        show_whole_lines(&mut pending, Output::People).unwrap();
        assert_eq!(pending, b"half");
    }
}
