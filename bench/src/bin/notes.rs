//! What notes cost: indexing ten thousand of them, searching them, and finding that one changed, each beside the same done
//! without an index.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use covenant_bench::{line, median};
use covenant_gate::SystemClock;
use covenant_model::note::{Index, Query};
use covenant_store::NoteIndex;
use covenant_tools::library::Library;
use covenant_tools::ports::Indexes;

type Outcome<T> = Result<T, Box<dyn Error>>;

const NOTES: usize = 10_000;
const ROUNDS: usize = 101;

/// A vocabulary in which some words are much more frequent than others, as in any language.
fn word(mut state: u64) -> String {
    state ^= state >> 33;
    state = state.wrapping_mul(0xff51_afd7_ed55_8ccd);
    state ^= state >> 33;
    let rank = (state % 100) * (state / 100 % 100) * (state / 10_000 % 3) / 2;
    let letters = "etaoinshrdlucmfwypvbgkqjxz".as_bytes();
    let mut rank = rank + 7;
    let mut word = String::new();
    while rank > 0 {
        let letter = usize::try_from(rank % 26).ok().and_then(|at| letters.get(at)).copied();
        word.push(char::from(letter.unwrap_or(b'e')));
        rank /= 9;
    }
    word
}

/// About two kilobytes: front matter, headings, links, tags, words.
fn note(number: u64) -> String {
    let words = |from: u64, count: u64| {
        let words: Vec<String> = (from..from + count).map(|n| word(number * 1009 + n)).collect();
        words.join(" ")
    };
    let head = format!("---\ntags: [t{}, all/t{}]\n---\n# {}\n", number % 50, number % 7, words(0, 4));
    let parts = (0..5).map(|part| {
        let (heading, body) = (words(part * 100, 3), words(part * 100 + 3, 70));
        format!("\n## {heading}\n{body} [[n{}]] #x{}\n", (number * 31 + part) % 10_000, number % 9)
    });
    std::iter::once(head).chain(parts).collect()
}

fn fill(vault: &Path) -> Outcome<()> {
    for number in 0..NOTES {
        let directory = vault.join(format!("d{}", number % 100));
        fs::create_dir_all(&directory)?;
        fs::write(directory.join(format!("n{number}.md")), note(u64::try_from(number)?))?;
    }
    Ok(())
}

fn library(vault: &Path, file: &Path) -> Library {
    let file = file.to_owned();
    let indexes: Indexes = Arc::new(move |_, of| {
        let opened = NoteIndex::open(&file, of).map_err(|error| error.to_string())?;
        Ok(Arc::new(opened) as Arc<dyn Index>)
    });
    Library::new(vault.to_owned(), "vault", indexes, Arc::new(SystemClock))
}

fn timed<T>(mut work: impl FnMut() -> Outcome<T>) -> Outcome<Duration> {
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        work()?;
        times.push(begun.elapsed());
    }
    Ok(median(times))
}

/// The same found by reading every file, as a search without an index does.
fn by_reading(vault: &Path, wanted: &str) -> Outcome<usize> {
    let mut found = 0;
    for directory in fs::read_dir(vault)? {
        for file in fs::read_dir(directory?.path())? {
            found += usize::from(fs::read_to_string(file?.path())?.to_lowercase().contains(wanted));
        }
    }
    Ok(found)
}

fn main() -> Outcome<()> {
    let place = tempfile::tempdir()?;
    let (vault, file) = (place.path().join("vault"), place.path().join("index/vault.db"));
    fill(&vault)?;
    let begun = Instant::now();
    by_reading(&vault, "etaoin")?;
    let reading = begun.elapsed();
    let library = library(&vault, &file);
    let begun = Instant::now();
    library.refresh()?;
    let indexing = begun.elapsed();
    let rate = f64::from(u32::try_from(NOTES)?) / indexing.as_secs_f64();
    line("indexing 10,000 notes", &format!("{rate:.0} notes/s"), "at least 2,000/s");
    line(
        "  of reading them all",
        &format!("{:.1} times", indexing.as_secs_f64() / reading.as_secs_f64()),
        "",
    );
    let common = word(3);
    let other = (11..1000).map(word).find(|word| word.len() > 3 && *word != common).unwrap_or_default();
    let questions = [
        ("a frequent word", common.clone()),
        ("how words begin", common.chars().take(3).collect()),
        ("two words and a tag", format!("{common} {other} tag:all/t3")),
        ("a word in most notes", word(11)),
        ("a tag alone", "tag:t7".to_owned()),
        ("a phrase", format!("\"{} {}\"", word(5), word(6))),
        ("nothing that is there", "zzzzqqqq".to_owned()),
    ];
    for (what, question) in questions {
        let query = Query::read(&question);
        let total = library.search(&query)?.total;
        let time = timed(|| Ok(library.search(&query)?))?;
        line(
            &format!("search: {what} ({total})"),
            &format!("{:.2} ms", time.as_secs_f64() * 1e3),
            "at most 20 ms",
        );
    }
    let time = timed(|| Ok(library.backlinks("d1/n1.md")?))?;
    line("backlinks", &format!("{:.2} ms", time.as_secs_f64() * 1e3), "");
    let mut round = 0;
    let time = timed(|| {
        round += 1;
        fs::write(vault.join("d7/n7.md"), format!("changed{round}x"))?;
        let found = library.search(&Query::read(&format!("changed{round}x")))?;
        if found.total == 1 { Ok(()) } else { Err("the change was not found".into()) }
    })?;
    line("a change, written and found", &format!("{:.2} ms", time.as_secs_f64() * 1e3), "at most 2 s");
    let size = fs::metadata(&file)?.len() / 1024 / 1024;
    line("the index on disk", &format!("{size} MiB"), "");
    Ok(())
}
