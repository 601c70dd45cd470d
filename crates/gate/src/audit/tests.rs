//! The log on real files: a home to open, crash, tamper with and reopen.

mod database;
mod faults;
mod pruning;
mod reading;
mod recovery;
mod table;
mod tampering;
mod writing;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use covenant_model::audit::{Decision, Event, Kind, Report};
use covenant_model::redact::Redactor;
use covenant_model::time::Timestamp;
use ed25519_dalek::SigningKey;
use tempfile::TempDir;

use super::combine::Limits;
use super::read::{self, Proof};
use super::segment::{self, Disks, Files};
use super::{AuditLog, Durability, OpenError, Opened, Options};
use crate::clock::HandClock;

/// A directory for a log, and what is needed to open it.
struct Home {
    _temp: TempDir,
    dir: PathBuf,
    clock: Arc<HandClock>,
    limits: Limits,
    segment_bytes: u64,
    durability: Durability,
}

fn key() -> SigningKey {
    SigningKey::from_bytes(&[5; 32])
}

fn proof() -> Proof {
    Proof::trusting(&[key().verifying_key()])
}

impl Home {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("audit");
        let clock = Arc::new(HandClock::at(Timestamp::from_millis(1_700_000_000_000)));
        // Checkpoints only when a test asks for one.
        let limits = Limits {
            checkpoint_rows: u64::MAX,
            checkpoint_every: Duration::from_hours(1),
            ..Limits::default()
        };
        Self { _temp: temp, dir, clock, limits, segment_bytes: 1 << 20, durability: Durability::Group }
    }

    fn options(&self) -> Options {
        let mut options =
            Options::new(self.dir.clone(), key(), [1; 32], Arc::<HandClock>::clone(&self.clock));
        options.segment_bytes = self.segment_bytes;
        options.durability = self.durability;
        options
    }

    fn try_open(&self) -> Result<(AuditLog, Opened), OpenError> {
        self.open_on(Arc::new(Files))
    }

    fn open_on(&self, disks: Arc<dyn Disks>) -> Result<(AuditLog, Opened), OpenError> {
        AuditLog::open_with(self.options(), self.limits, disks)
    }

    fn open(&self) -> AuditLog {
        self.try_open().unwrap().0
    }

    /// A log of that many rows, closed with a checkpoint.
    async fn filled(&self, rows: usize) {
        let log = self.open();
        for _ in 0..rows {
            log.append(&[row()], &Redactor::none()).await.unwrap();
        }
        log.close().await;
    }

    fn verify(&self) -> Report {
        read::verify_dir(&self.dir, &proof()).unwrap()
    }

    #[track_caller]
    fn assert_valid(&self) -> Report {
        let report = self.verify();
        assert!(report.valid, "{report:?}");
        report
    }

    fn segments(&self) -> Vec<PathBuf> {
        segment::list(&self.dir).unwrap().into_iter().map(|segment| segment.path).collect()
    }

    /// All rows, parsed.
    fn rows(&self) -> Vec<serde_json::Value> {
        let texts = self.segments().into_iter().map(|path| std::fs::read_to_string(path).unwrap());
        let text = texts.collect::<String>();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn kinds(&self) -> Vec<String> {
        self.rows().iter().map(|row| row["kind"].as_str().unwrap().to_owned()).collect()
    }
}

fn row() -> Event<'static> {
    Event::new("user@local", "tool:echo", Kind::CallRefused, Decision::Refused)
}

fn started(call: &str) -> Event<'_> {
    Event { call: Some(call), ..Event::new("client:a", "tool:echo", Kind::CallStarted, Decision::Allowed) }
}

fn finished(call: &str, started: u64) -> Event<'_> {
    Event {
        call: Some(call),
        started: Some(started),
        ..Event::new("client:a", "tool:echo", Kind::CallFinished, Decision::Ok)
    }
}

fn add_to(path: &Path, bytes: &[u8]) {
    std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap().write_all(bytes).unwrap();
}

/// Waits for a condition that another thread brings about.
async fn until(condition: impl Fn() -> bool) {
    let patience = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), patience).await.expect("the condition never came true");
}
