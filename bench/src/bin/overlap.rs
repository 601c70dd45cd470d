//! What a check for overlap costs: 1,000 open items, 10,000 open with 100,000 past ones, and the memory of 10,000.

use std::hint::black_box;
use std::time::Instant;

use covenant_bench::texts::Dice;
use covenant_bench::{line, mebibytes, median, micros};
use covenant_model::time::Timestamp;
use covenant_team::overlap::{Among, Features, Index, Query, Standing};
use covenant_team::work::Brief;

fn fill(open: usize, past: usize) -> (Index<usize>, f64) {
    let mut dice = Dice::new(42);
    let mut index = Index::default();
    let start = Instant::now();
    for at in 0..open + past {
        let standing =
            if at < past { Standing::Ended(Timestamp::from_millis(1_000)) } else { Standing::Open };
        index.put(at, &Features::of(&dice.brief()), standing);
    }
    let each = start.elapsed().as_secs_f64() * 1e6 / u32::try_from(open + past).map_or(1.0, f64::from);
    (index, each)
}

/// The median of many searches, the reading of the query included.
fn search(index: &Index<usize>, like: bool) -> String {
    let mut dice = Dice::new(if like { 42 } else { 7 });
    let among = Among { except: None, ended_since: Timestamp::from_millis(2_000) };
    let times = (0..201).map(|_| {
        let brief = dice.brief();
        let start = Instant::now();
        black_box(index.search(&Query::of(black_box(&brief)), &among, 20));
        start.elapsed()
    });
    micros(median(times.collect()))
}

/// Resident memory of this process.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:")?.trim().split(' ').next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}

fn main() {
    let before = resident();
    let (index, each) = fill(10_000, 0);
    line("memory of 10,000 items", &mebibytes(resident() - before), "at most 30 MiB");
    line("putting an item, its features included", &format!("{each:.1} µs"), "");
    drop(index);
    let (index, _) = fill(1_000, 0);
    line("a search among 1,000 open items, median of 201", &search(&index, false), "at most 1,000 µs");
    drop(index);
    let (index, _) = fill(10_000, 100_000);
    line("a search among 10,000 open and 100,000 past items", &search(&index, false), "at most 10,000 µs");
    line("the same for work that is there already", &search(&index, true), "at most 10,000 µs");
    let long = Brief { description: Dice::new(9).words(5_000), ..Dice::new(9).brief() };
    let start = Instant::now();
    black_box(index.search(&Query::of(&long), &Among::all(), 20));
    line("the same with a text of 5,000 words", &micros(start.elapsed()), "at most 10,000 µs");
}
