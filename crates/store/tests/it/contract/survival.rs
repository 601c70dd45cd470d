//! A process that is killed in the middle of writing: what it was told is kept, is kept.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use covenant_gate::ports::{Badge, TokenRecord, Tokens as _};
use covenant_model::id::TokenId;
use covenant_model::token::TokenHash;
use covenant_store::Store;

use super::{Bench, at, on_both, seed};

/// Where the writing process finds its database; for everyone else this is no test at all.
const URL: &str = "COVENANT_TEST_WRITER_URL";

fn record(number: u64) -> TokenRecord {
    let mut hash = [0; 32];
    hash[..8].copy_from_slice(&number.to_be_bytes());
    TokenRecord {
        id: TokenId::from_random(seed(number)),
        hash: TokenHash(hash),
        principal: "client:a".parse().unwrap(),
        label: number.to_string(),
        badge: Badge::default(),
        created_at: at(number),
        revoked_at: None,
    }
}

/// The process that is killed: adds tokens without end, and says each one that is kept.
#[tokio::test]
async fn the_writer_that_is_killed() {
    let Ok(url) = std::env::var(URL) else { return };
    let store = Store::open(&url, "/".as_ref()).await.unwrap();
    for number in 0.. {
        assert!(store.add_token(record(number)).await.unwrap());
        let line = format!("\nkept {number}\n");
        std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes()).unwrap();
    }
}

#[expect(clippy::disallowed_methods, reason = "a process that is there to be killed")]
async fn what_was_kept_survives_the_death_of_the_process(bench: Bench) {
    let url =
        if bench.is_sqlite() { format!("sqlite:{}", bench.file().display()) } else { bench.url.clone() };
    for round in 1..=3 {
        let mut writer = Command::new(std::env::current_exe().unwrap());
        writer.args(["--exact", "contract::survival::the_writer_that_is_killed", "--nocapture"]);
        let mut writer = writer.env(URL, &url).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(writer.stdout.take().unwrap()).lines().map(Result::unwrap);
        let kept =
            lines.filter_map(|line| line.strip_prefix("kept ").map(|number| number.parse::<u64>().unwrap()));
        let mut last = None;
        for number in kept {
            last = Some(number);
            if number == 20 * round {
                writer.kill().unwrap();
            }
        }
        writer.wait().unwrap();
        let last = last.unwrap();
        let store = bench.open().await;
        let tokens = store.tokens().await.unwrap();
        let expected: Vec<_> = (0..tokens.len() as u64).map(record).collect();
        assert_eq!(tokens, expected, "round {round}");
        assert!(tokens.len() as u64 > last, "round {round}: {last} was kept, {} are there", tokens.len());
        store.close().await;
        bench.raw("DELETE FROM tokens").await;
    }
}

on_both!(what_was_kept_survives_the_death_of_the_process);
