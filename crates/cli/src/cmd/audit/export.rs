//! `covenant audit export`: the log as one file. A file appears under its name only when it is whole.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::client::Flow;
use crate::exit::{Exit, Failure};
use crate::print;
use crate::setting::Setting;

/// What a row begins with; the other lines are checkpoints and marks of pruning.
const ROW: &[u8] = b"{\"seq\":";

/// Where the daemon exports its log.
pub(super) const STREAM: &str = "/api/v1/audit/export";

/// Writes the export to that file, or to standard output.
pub(super) fn run(out: Option<&Path>, setting: &Setting) -> Result<Exit, Failure> {
    let client = setting.client()?;
    let Some(out) = out else {
        let mut stdout = BufWriter::new(std::io::stdout().lock());
        client.lines(STREAM, |line| {
            let written = stdout.write_all(line).and_then(|()| stdout.write_all(b"\n"));
            written.map(|()| Flow::On).map_err(|error| Failure::output(&error))
        })?;
        stdout.flush().map_err(|error| Failure::output(&error))?;
        return Ok(Exit::Done);
    };
    let draft = draft_name(out);
    let unwritten = |error: std::io::Error| {
        Failure::failed(
            format!("{} cannot be written: {error}", out.display()),
            "name a file in a directory you can write to",
        )
    };
    let mut file = BufWriter::new(create(&draft).map_err(unwritten)?);
    let mut rows = 0_u64;
    let written = client.lines(STREAM, |line| {
        rows += u64::from(line.starts_with(ROW));
        file.write_all(line).and_then(|()| file.write_all(b"\n")).map_err(unwritten)?;
        Ok(Flow::On)
    });
    let written = written.and_then(|()| finish(file, &draft, out).map_err(unwritten));
    if let Err(failure) = written {
        // The failure is what matters; a draft that cannot be removed is in nobody's way.
        let _ = std::fs::remove_file(&draft);
        return Err(failure);
    }
    if setting.json() {
        print::json(&json!({"out": out.display().to_string(), "rows": rows}))?;
    } else {
        let (count, out) = (super::verify::rows(rows), out.display());
        print::note(&format!("wrote {count} to {out}; check it with: covenant audit verify {out}"));
    }
    Ok(Exit::Done)
}

fn draft_name(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(format!(".{}.partial", std::process::id()));
    name.into()
}

fn create(path: &Path) -> Result<File, std::io::Error> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

fn finish(file: BufWriter<File>, draft: &Path, out: &Path) -> Result<(), std::io::Error> {
    file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()?;
    std::fs::rename(draft, out)
}
