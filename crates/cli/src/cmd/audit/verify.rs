//! `covenant audit verify`: reads the log or an export itself and checks every link and signature. A daemon that runs is
//! asked to sign what it has written, so that everything is covered, and believed in nothing: whoever doubts the log
//! should not have to believe the program that wrote it.

use std::path::Path;

use covenant_daemon::config::audit::Sink;
use covenant_daemon::config::{Config, Overrides};
use covenant_daemon::home::Home;
use covenant_daemon::identity;
use covenant_gate::audit::read::{self, Filter, Proof};
use covenant_model::audit::{Checkpoint, Report, Row, Source, Verifier};
use http::Method;
use serde_json::json;

use super::Verify;
use crate::client::Flow;
use crate::exit::{Exit, Failure};
use crate::print;
use crate::setting::Setting;

/// The most bytes a file of kept checkpoints may have.
const ANCHOR_LIMIT: u64 = 64 * 1024 * 1024;

/// Where the system keeps standard input as a file.
const STANDARD_INPUT: &str = "/dev/stdin";

impl Verify {
    pub(super) fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let key_file = self.key.clone().unwrap_or_else(|| setting.home.public_key());
        let key = identity::read_public(&key_file).map_err(|error| {
            let help =
                "name the public key of the home that wrote the log: --key FILE (its identity/local.pub)";
            // Of a missing file, what is missing; of another one, what is wrong with it.
            if key_file.exists() {
                Failure::usage(Failure::told(Exit::Usage, &error).message(), help)
            } else {
                Failure::usage(format!("there is no public key: {} does not exist", key_file.display()), help)
            }
        })?;
        let anchors = self.anchor.as_deref().map(checkpoints).transpose()?.unwrap_or_default();
        let newest = anchors.iter().map(|anchor| anchor.seq).max();
        let proof = anchors.into_iter().fold(Proof::trusting(&[key]), Proof::anchored_by);
        let (report, last) = match self.file.as_deref() {
            Some(directory) if directory.is_dir() => verify_files(directory, &proof)?,
            Some(file) => whole(verify_export(file, &proof)?),
            None if is_in_database(&setting.home) => {
                whole(verify_stream(setting, proof.verifier(Source::Export))?)
            }
            None => verify_home(setting, &proof)?,
        };
        if setting.json() {
            print::json(&report)?;
        } else {
            print::line(&sentence(&report, last, newest))?;
        }
        Ok(if report.valid { Exit::Done } else { Exit::Failed })
    }
}

/// A sound export ends with a checkpoint of its last row.
fn whole(report: Report) -> (Report, u64) {
    let last = report.verified_to;
    (report, last)
}

/// Verifies the files of this home, and says which row is the last.
fn verify_home(setting: &Setting, proof: &Proof) -> Result<(Report, u64), Failure> {
    // Only to have the newest rows signed. Whatever comes of it, the files are read all the same.
    if let Ok(Some(daemon)) = setting.running() {
        let _ = daemon.send(Method::POST, "/api/v1/audit/head", &json!({}));
    }
    verify_files(&setting.home.audit(), proof)
}

/// Verifies the files of a log, such as one from before a restore, and says which row is the last.
fn verify_files(directory: &Path, proof: &Proof) -> Result<(Report, u64), Failure> {
    let report = read::verify_dir(directory, proof).map_err(|error| unreadable(directory, &error))?;
    let last = last_row(directory).unwrap_or(report.verified_to);
    Ok((report, last))
}

/// Verifies what a daemon exports, where the log is in its database. It cannot forge: it is held to the key.
fn verify_stream(setting: &Setting, mut verifier: Verifier) -> Result<Report, Failure> {
    let daemon = setting.running()?.ok_or_else(|| {
        Failure::no_daemon(
            "this home keeps its log in the database, which is read through a daemon, and none runs",
            "start one: covenant up --detach; or verify an export: covenant audit verify FILE",
        )
    })?;
    daemon.lines(super::export::STREAM, |line| {
        verifier.feed(line);
        Ok(Flow::On)
    })?;
    Ok(verifier.finish())
}

fn verify_export(file: &Path, proof: &Proof) -> Result<Report, Failure> {
    let (name, path) = match file {
        file if file == Path::new("-") => ("standard input".to_owned(), Path::new(STANDARD_INPUT)),
        file => (file.display().to_string(), file),
    };
    let report = read::verify_file(path, proof).map_err(|error| unreadable(file, &error))?;
    if report.rows == 0 && report.head.is_none() && !report.valid {
        return Err(Failure::usage(
            format!("{name} is not an export of an audit log: it holds no rows"),
            "make one with: covenant audit export --out FILE",
        ));
    }
    Ok(report)
}

fn unreadable(place: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("{} cannot be read: {error}", place.display()), "name an export, or another home")
}

/// Whether the rows of that home go into its database. A configuration that cannot be read decides nothing.
pub(crate) fn is_in_database(home: &Home) -> bool {
    Config::load(home, &Overrides::from_environment())
        .is_ok_and(|loaded| loaded.config.audit.sink == Sink::Database)
}

/// The verdict on this home's own files, for `doctor`: a sentence, or what is wrong.
pub(crate) fn check_home(home: &Home) -> Result<String, Failure> {
    let key =
        identity::read_public(&home.public_key()).map_err(|error| Failure::told(Exit::Failed, &error))?;
    let report = read::verify_dir(&home.audit(), &Proof::trusting(&[key])).map_err(|error| {
        Failure::failed(
            format!("{} cannot be read: {error}", home.audit().display()),
            "see who owns what is in it, and make it yours",
        )
    })?;
    let sentence = sentence(&report, last_row(&home.audit()).unwrap_or(report.verified_to), None);
    if report.valid {
        return Ok(sentence);
    }
    Err(Failure::failed(sentence, "see which rows and since when: covenant audit verify --json"))
}

/// The number of the last row. Rows may have been pruned, so it is not how many there are.
fn last_row(directory: &Path) -> Option<u64> {
    let newest = read::recent(directory, &Filter { limit: 1, ..Filter::default() }).ok()?;
    newest.last().and_then(|line| Row::read(line.as_bytes()).ok().map(|row| row.seq))
}

/// The checkpoints in a file, one per line.
fn checkpoints(file: &Path) -> Result<Vec<Checkpoint>, Failure> {
    let help = "give it the lines that `covenant audit head` printed";
    let unreadable = |error: &dyn std::fmt::Display| {
        Failure::usage(format!("{} holds no checkpoint: {error}", file.display()), help)
    };
    let size = std::fs::metadata(file).map_err(|error| unreadable(&error))?.len();
    if size > ANCHOR_LIMIT {
        return Err(unreadable(&"it is larger than 64 MiB"));
    }
    let text = std::fs::read(file).map_err(|error| unreadable(&error))?;
    let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    let checkpoints: Vec<Checkpoint> =
        lines.map(Checkpoint::read).collect::<Result<_, _>>().map_err(|error| unreadable(&error))?;
    if checkpoints.is_empty() { Err(unreadable(&"it is empty")) } else { Ok(checkpoints) }
}

/// The verdict in words, on a log that ends with row `last`. What is not proved is said as well.
fn sentence(report: &Report, last: u64, anchor: Option<u64>) -> String {
    if let Some(bad) = &report.first_bad {
        let before = match report.verified_to {
            0 => "nothing before it is proved".to_owned(),
            row => format!("verified to row {row}"),
        };
        let reason = print::escape(&bad.reason);
        let named = reason.split(|c: char| !c.is_alphanumeric()).any(|word| word == bad.seq.to_string());
        let place = if named { String::new() } else { format!(" at row {}", bad.seq) };
        return format!("DAMAGED{place}: {reason}; {before}");
    }
    let held = match anchor {
        None => "no outside anchor".to_owned(),
        Some(_) if report.anchored => "and held against an outside anchor".to_owned(),
        Some(row) => format!("but the anchor proves nothing: it is for row {row}, which was pruned"),
    };
    let (rows, signed) = (rows(report.rows), report.verified_to);
    if signed >= last {
        return format!("{rows}, verified to row {signed}, {held}");
    }
    let signed = match signed {
        0 => "none signed yet".to_owned(),
        row => format!("signed up to row {row}"),
    };
    format!("{rows}, all chained; {signed} (a running daemon signs within 10 s); {held}")
}

/// How many rows, in words.
pub(super) fn rows(count: u64) -> String {
    match count {
        1 => "1 row".to_owned(),
        count => format!("{count} rows"),
    }
}

#[cfg(test)]
mod tests {
    use covenant_model::audit::FirstBad;

    use super::*;

    fn sound() -> Report {
        Report { valid: true, rows: 12, verified_to: 12, anchored: false, first_bad: None, head: None }
    }

    #[test]
    fn a_sound_log_without_an_anchor_says_what_is_not_proved() {
        assert_eq!(sentence(&sound(), 12, None), "12 rows, verified to row 12, no outside anchor");
        let anchored = Report { anchored: true, ..sound() };
        assert!(sentence(&anchored, 12, Some(3)).ends_with("held against an outside anchor"));
    }

    #[test]
    fn rows_that_are_not_signed_yet_are_told_from_those_that_are() {
        assert_eq!(
            sentence(&sound(), 14, None),
            "12 rows, all chained; signed up to row 12 (a running daemon signs within 10 s); no outside anchor"
        );
        let fresh = Report { verified_to: 0, rows: 1, ..sound() };
        assert!(sentence(&fresh, 1, None).starts_with("1 row, all chained; none signed yet ("));
    }

    #[test]
    fn an_anchor_for_a_pruned_row_proves_nothing() {
        let text = sentence(&sound(), 12, Some(3));
        assert!(text.contains("the anchor proves nothing: it is for row 3, which was pruned"), "{text}");
    }

    #[test]
    fn damage_names_the_first_bad_row_once() {
        let bad = |reason: &str| {
            let first_bad = Some(FirstBad { seq: 7, reason: reason.to_owned() });
            sentence(&Report { valid: false, verified_to: 4, first_bad, ..sound() }, 12, None)
        };
        assert_eq!(bad("was\u{1b} changed"), "DAMAGED at row 7: was\\u{1b} changed; verified to row 4");
        assert_eq!(bad("row 7 was changed"), "DAMAGED: row 7 was changed; verified to row 4");
        assert_eq!(bad("row 77 is odd"), "DAMAGED at row 7: row 77 is odd; verified to row 4");
    }

    #[test]
    fn what_is_no_export_is_bad_input_and_a_damaged_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        let proof = Proof::trusting(&[]);
        for text in ["", "root:x:0:0:root:/root:/bin/bash\n", "{}\n"] {
            std::fs::write(&file, text).unwrap();
            let failure = verify_export(&file, &proof).unwrap_err();
            assert_eq!(failure.exit(), Exit::Usage, "{text}");
            assert!(failure.message().contains("not an export of an audit log"), "{failure:?}");
        }
        std::fs::write(&file, "{\"seq\":1}\n").unwrap();
        assert!(!verify_export(&file, &proof).unwrap().valid);
    }

    #[test]
    fn a_home_whose_log_is_in_the_database_is_known_by_its_configuration() {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::at(&dir.path().join("home")).unwrap();
        home.prepare().unwrap();
        for (text, expected) in [("", false), ("[audit]\nsink = \"database\"\n", true), ("[audit", false)] {
            covenant_daemon::atomic::write(&home.config(), text.as_bytes()).unwrap();
            assert_eq!(is_in_database(&home), expected, "{text}");
        }
    }

    #[test]
    fn a_file_without_checkpoints_is_bad_input() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("kept");
        assert_eq!(checkpoints(&file).unwrap_err().exit(), Exit::Usage);
        for text in ["", "\n\n", "{}\n", "{\"checkpoint\":"] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(checkpoints(&file).unwrap_err().exit(), Exit::Usage, "{text}");
        }
    }
}
