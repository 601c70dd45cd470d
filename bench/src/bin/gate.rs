//! A call of `echo` through the gate in process, with its three rows: one caller, then sixty-four.

#![expect(clippy::expect_used, reason = "a benchmark stops when it cannot run")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use covenant_bench::{echo, gate, line, median, micros};
use covenant_gate::Credential;
use covenant_gate::audit::Durability;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    for (durability, name, latency, throughput) in [
        (Durability::Group, "group", "at most 15 µs", "at least 80,000 per second"),
        (Durability::Strict, "strict", "", ""),
    ] {
        let directory = tempfile::tempdir().expect("a directory");
        let gate = gate(directory.path(), durability).await;
        let single = tokio::spawn({
            let gate = gate.clone();
            async move {
                let credential = Credential::peer(0);
                let count = if durability == Durability::Group { 50_000 } else { 500 };
                let mut times = Vec::with_capacity(count);
                for _ in 0..count {
                    let start = Instant::now();
                    echo(&gate, &credential).await;
                    times.push(start.elapsed());
                }
                median(times)
            }
        });
        line(
            &format!("{name}: one caller, median per call"),
            &micros(single.await.expect("no panic")),
            latency,
        );
        let rates: Vec<f64> = {
            let mut rates = Vec::new();
            for _ in 0..3 {
                rates.push(sixty_four(&gate).await);
            }
            rates
        };
        let best = rates.iter().copied().fold(0.0, f64::max);
        line(&format!("{name}: 64 callers, calls per second (best of 3)"), &format!("{best:.0}"), throughput);
    }
}

async fn sixty_four(gate: &Arc<covenant_gate::Gate>) -> f64 {
    let run = Duration::from_secs(2);
    let start = Instant::now();
    let callers: Vec<_> = (0..64)
        .map(|_| {
            let gate = gate.clone();
            tokio::spawn(async move {
                let credential = Credential::peer(0);
                let mut calls = 0_u32;
                while start.elapsed() < run {
                    echo(&gate, &credential).await;
                    calls += 1;
                    tokio::task::consume_budget().await;
                }
                calls
            })
        })
        .collect();
    let mut calls = 0_u32;
    for caller in callers {
        calls += caller.await.expect("no panic");
    }
    f64::from(calls) / start.elapsed().as_secs_f64()
}
