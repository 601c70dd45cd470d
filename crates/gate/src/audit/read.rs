//! Reading rows back: the newest ones, all after a row, an export, a verdict. Reads files only, asks the writer nothing,
//! and works while it writes or when no daemon runs.

mod files;
mod merge;
mod recent;
mod tail;

use std::fs::File;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use covenant_model::audit::{Checkpoint, Report, Source, Verifier};
use ed25519_dalek::VerifyingKey;

use self::merge::Merged;
use super::checkpoints;
use super::lines::Lines;

pub use files::{Files, files};
pub use recent::{Filter, recent};
pub use tail::{Tail, tail};

/// What a verification is held against.
#[derive(Debug, Clone)]
pub struct Proof {
    trusted: Vec<VerifyingKey>,
    anchors: Vec<Checkpoint>,
}

impl Proof {
    /// Signatures by these keys count, and no others.
    pub fn trusting(keys: &[VerifyingKey]) -> Self {
        Self { trusted: keys.to_vec(), anchors: Vec::new() }
    }

    /// And the log must contain what this checkpoint, kept elsewhere, was taken of; as of all others given.
    pub fn anchored_by(mut self, anchor: Checkpoint) -> Self {
        self.anchors.push(anchor);
        self
    }

    /// A verifier that is held against all that.
    pub fn verifier(&self, source: Source) -> Verifier {
        self.anchors.iter().fold(Verifier::new(&self.trusted, source), Verifier::anchored_by)
    }
}

/// Verifies the live files of a log, streaming. A prune under way would look like missing rows, so it is tried again
/// if the checkpoints were rewritten meanwhile.
pub fn verify_dir(dir: &Path, proof: &Proof) -> io::Result<Report> {
    let identity = || std::fs::metadata(dir.join(checkpoints::NAME)).map(|meta| meta.ino()).ok();
    let mut tries = 0;
    loop {
        let before = identity();
        let report = verify_once(dir, proof);
        let sound = report.as_ref().is_ok_and(|report| report.valid);
        if sound || identity() == before || tries == 3 {
            return report;
        }
        tries += 1;
    }
}

fn verify_once(dir: &Path, proof: &Proof) -> io::Result<Report> {
    let mut verifier = proof.verifier(Source::Live);
    let mut merged = Merged::open(dir)?;
    let walked = merged.each(|line| {
        verifier.feed(line);
        Ok(ControlFlow::Continue(()))
    });
    told_by_reader(walked, &mut verifier)?;
    Ok(verifier.finish())
}

/// Verifies an export.
pub fn verify_file(path: &Path, proof: &Proof) -> io::Result<Report> {
    let mut verifier = proof.verifier(Source::Export);
    let mut lines = Lines::new(File::open(path)?);
    let walked = loop {
        match lines.next() {
            Ok(Some(line)) => verifier.feed(line.bytes),
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    told_by_reader(walked, &mut verifier)?;
    Ok(verifier.finish())
}

/// A line that is too long is a finding; a disk that cannot be read is an error.
fn told_by_reader(walked: io::Result<()>, verifier: &mut Verifier) -> io::Result<()> {
    match walked {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            verifier.reject(&error.to_string());
            Ok(())
        }
        other => other,
    }
}

/// Writes the log up to its last checkpoint, with tombstone and checkpoints in line; the last row's number. Ask for a
/// checkpoint first, so that it covers everything.
pub fn export(dir: &Path, mut out: impl Write) -> io::Result<u64> {
    let last = checkpoints::ends(dir)?.last.map(|mark| mark.seq);
    let last =
        last.ok_or_else(|| io::Error::other("there is no checkpoint yet, and an export must end with one"))?;
    let mut merged = Merged::open(dir)?;
    let mut ended = false;
    merged.each(|line| {
        out.write_all(line)?;
        out.write_all(b"\n")?;
        ended =
            line.starts_with(Checkpoint::BEGIN) && Checkpoint::read(line).is_ok_and(|mark| mark.seq >= last);
        Ok(if ended { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    if !ended {
        return Err(io::Error::other("the log ends before its last checkpoint: run `covenant audit verify`"));
    }
    out.flush()?;
    Ok(last)
}
