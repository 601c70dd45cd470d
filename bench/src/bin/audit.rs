//! What the audit log costs: rows appended to a short and to a long log, by one caller and by many, and rows verified.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use covenant_gate::audit::read::{self, Proof};
use covenant_gate::audit::{AuditLog, Durability, Options};
use covenant_gate::clock::SystemClock;
use covenant_model::audit::{Decision, Event, Kind};
use covenant_model::redact::Redactor;
use ed25519_dalek::SigningKey;

type Outcome<T> = Result<T, Box<dyn Error>>;

const SHORT: u64 = 1_000;
const LONG: u64 = 1_000_000;

fn open(dir: &Path, durability: Durability) -> Outcome<AuditLog> {
    let mut options =
        Options::new(dir.to_owned(), SigningKey::from_bytes(&[7; 32]), [1; 32], Arc::new(SystemClock));
    options.durability = durability;
    Ok(AuditLog::open(options)?.0)
}

/// The three rows of a call, in the two writes in which the gate makes them.
async fn call(log: &AuditLog, redactor: &Redactor) -> Outcome<()> {
    let id = Some("call_abcdefghijkmnpq");
    let event =
        |kind, decision| Event { call: id, ..Event::new("client:bench", "tool:echo", kind, decision) };
    let mut check = event(Kind::CapabilityCheck, Decision::Allowed);
    (check.action, check.grant) = (Some("tool:echo"), Some("grant_abcdefghijkmnpq"));
    let mut begin = event(Kind::CallStarted, Decision::Allowed);
    begin.arguments = Some(log.digest(b"{\"text\":\"hello\"}"));
    let started = log.append(&[check, begin], redactor).await?;
    let mut end = event(Kind::CallFinished, Decision::Ok);
    (end.started, end.duration) = (Some(started), Some(Duration::from_micros(12)));
    end.result = Some(log.digest(b"{\"content\":[]}"));
    log.append(&[end], redactor).await?;
    Ok(())
}

/// The median time of a call, in microseconds.
async fn one_caller(log: &AuditLog, calls: usize) -> Outcome<f64> {
    let redactor = Redactor::none();
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        let begin = Instant::now();
        call(log, &redactor).await?;
        times.push(begin.elapsed());
    }
    times.sort_unstable();
    Ok(times.get(calls / 2).copied().unwrap_or_default().as_secs_f64() * 1e6)
}

/// Calls per second of 64 callers.
async fn many_callers(log: &AuditLog, calls_each: usize) -> Outcome<f64> {
    let begin = Instant::now();
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let log = log.clone();
        tasks.spawn(async move {
            let redactor = Redactor::none();
            for _ in 0..calls_each {
                call(&log, &redactor).await.map_err(|error| error.to_string())?;
            }
            Ok::<_, String>(())
        });
    }
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    Ok(f64::from(u32::try_from(calls_each * 64)?) / begin.elapsed().as_secs_f64())
}

async fn grow(log: &AuditLog, rows: u64) -> Outcome<()> {
    let events = vec![Event::new("client:bench", "tool:echo", Kind::CallRefused, Decision::Refused); 500];
    while *log.subscribe().borrow() < rows {
        log.append(&events, &Redactor::none()).await?;
    }
    log.checkpoint().await?;
    Ok(())
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Outcome<()> {
    let temp = tempfile::tempdir()?;
    let (short_dir, long_dir) = (temp.path().join("short"), temp.path().join("long"));
    let short = open(&short_dir, Durability::Group)?;
    let long = open(&long_dir, Durability::Group)?;
    grow(&short, SHORT).await?;
    grow(&long, LONG).await?;
    println!("one caller, three rows in two writes, median in µs (interleaved):");
    for round in 1..=5 {
        let at_short = one_caller(&short, 20_000).await?;
        let at_long = one_caller(&long, 20_000).await?;
        println!(
            "  round {round}: {at_short:.2} on a short log, {at_long:.2} on {LONG} rows: {:.2}",
            at_long / at_short
        );
    }
    println!("64 callers: {:.0} calls/s", many_callers(&long, 5_000).await?);
    long.close().await;
    drop(long);
    let begin = Instant::now();
    let long = open(&long_dir, Durability::Strict)?;
    println!("reopened in {:.1} ms", begin.elapsed().as_secs_f64() * 1e3);
    println!("strict: one caller {:.0} µs per call", one_caller(&long, 500).await?);
    println!("strict: 64 callers {:.0} calls/s", many_callers(&long, 200).await?);
    long.close().await;
    let proof = Proof::trusting(&[SigningKey::from_bytes(&[7; 32]).verifying_key()]);
    for _ in 0..3 {
        let begin = Instant::now();
        let report = read::verify_dir(&long_dir, &proof)?;
        let rate = f64::from(u32::try_from(report.rows)?) / begin.elapsed().as_secs_f64();
        println!("verify: {} rows, valid {}, {rate:.0} rows/s", report.rows, report.valid);
    }
    Ok(())
}
