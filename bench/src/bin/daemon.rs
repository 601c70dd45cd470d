//! The daemon at rest: how long from `up` to ready on an empty home, and how much memory it then holds.

#![expect(clippy::expect_used, reason = "a benchmark stops when it cannot run")]

use std::time::Instant;

use covenant_bench::{line, median, process};
use covenant_testkit::Home;

fn main() {
    let covenant = std::env::current_exe().expect("this program").with_file_name("covenant");
    assert!(covenant.is_file(), "build it first: cargo build --release");
    let mut times = Vec::new();
    let mut resident = Vec::new();
    for _ in 0..11 {
        let home = Home::new(&covenant);
        let start = Instant::now();
        let daemon = home.up();
        times.push(start.elapsed());
        resident.push(process::resident(daemon.pid()));
        daemon.stop();
    }
    resident.sort_by(f64::total_cmp);
    let middle = median(times).as_secs_f64() * 1e3;
    line("`up` to ready, empty home (one `status` included)", &format!("{middle:.0} ms"), "at most 150 ms");
    let middle = resident.get(resident.len() / 2).copied().unwrap_or_default();
    line("resident memory, idle", &format!("{middle:.1} MiB"), "at most 25 MiB");
}
