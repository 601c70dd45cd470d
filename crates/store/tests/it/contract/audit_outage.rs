//! The audit log while its database is gone, comes back, loses answers, or outlives the process that wrote.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use covenant_model::audit::{Decision, Event, Kind};
use covenant_model::redact::Redactor;
use covenant_store::Store;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;

use super::audit_chain::Daemon;
use super::{Bench, on_both};

/// What a proxy between us and the server does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    /// Passes everything on.
    Open,
    /// Passes everything on but the answer to the commit of row 2: it cuts that connection instead.
    LoseAnswer,
    /// The same, and then cuts everything.
    LoseAnswerAndCut,
    /// Cuts every connection and takes none.
    Cut,
}

/// A line to the server that a test can cut.
struct Proxy {
    url: String,
    line: Arc<watch::Sender<Line>>,
}

impl Proxy {
    fn before(bench: &Bench) -> Self {
        let (address, directory) = bench.url.split_once("?host=").unwrap();
        let ours = bench.home.path().join("proxy");
        std::fs::create_dir(&ours).unwrap();
        let server = Path::new(directory).join(".s.PGSQL.5432");
        let listener = UnixListener::bind(ours.join(".s.PGSQL.5432")).unwrap();
        let line = Arc::new(watch::Sender::new(Line::Open));
        tokio::spawn(listen(listener, server, Arc::clone(&line)));
        Self { url: format!("{address}?host={}", ours.display()), line }
    }

    async fn store(&self, bench: &Bench) -> Arc<Store> {
        Store::open(&self.url, bench.home.path()).await.unwrap()
    }
}

async fn listen(listener: UnixListener, server: PathBuf, line: Arc<watch::Sender<Line>>) {
    while let Ok((client, _)) = listener.accept().await {
        let (server, line) = (server.clone(), Arc::clone(&line));
        if *line.borrow() == Line::Cut {
            continue;
        }
        tokio::spawn(async move {
            let server = UnixStream::connect(server).await.unwrap();
            let mut cut = line.subscribe();
            tokio::select! {
                // Both end with the connection, or with a test that is over.
                _ = pass(client, server, &line) => {}
                _ = cut.wait_for(|line| *line == Line::Cut) => {}
            }
        });
    }
}

async fn pass(
    mut client: UnixStream,
    mut server: UnixStream,
    line: &watch::Sender<Line>,
) -> std::io::Result<()> {
    let (mut asked, mut answered) = (vec![0; 65536], vec![0; 65536]);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let asked = &asked[..read?];
                server.write_all(asked).await?;
                let mode = *line.borrow();
                let second = asked.windows(8).any(|part| part == b"\"seq\":2,");
                if asked.is_empty() {
                    return Ok(());
                }
                if second && mode != Line::Open {
                    assert!(server.read(&mut answered).await? > 0, "the server answered");
                    let then = if mode == Line::LoseAnswer { Line::Open } else { Line::Cut };
                    line.send_replace(then);
                    return Ok(());
                }
            }
            read = server.read(&mut answered) => match read? {
                0 => return Ok(()),
                length => client.write_all(&answered[..length]).await?,
            },
        }
    }
}

async fn until_healthy(daemon: &Daemon) {
    let patience = async {
        while daemon.log.health().is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(1), patience).await.expect("it heals by itself");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_the_server_is_gone_nothing_is_done_and_it_heals_when_it_is_back() {
    let Some(bench) = Bench::postgres() else { return };
    let proxy = Proxy::before(&bench);
    let store = proxy.store(&bench).await;
    let daemon = Daemon::start(&store, 1).await;
    daemon.append().await.unwrap();
    proxy.line.send_replace(Line::Cut);
    let fault = daemon.append().await.unwrap_err();
    assert!(fault.to_string().contains("so nothing is done: the database cannot be reached"), "{fault}");
    assert!(daemon.log.health().unwrap_err().starts_with("audit: the database cannot be reached"));
    let at_once = tokio::time::timeout(Duration::from_secs(1), daemon.append()).await;
    assert!(at_once.expect("nobody waits for a database that is known to be gone").is_err());
    assert_eq!(bench.number("SELECT count(*) FROM audit_log").await, 1);
    proxy.line.send_replace(Line::Open);
    until_healthy(&daemon).await;
    daemon.append().await.unwrap();
    let report = daemon.verify(&bench).await;
    assert!(report.valid && report.rows == 3, "the row that says so is between them: {report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_answer_was_lost_is_found_again_and_counts() {
    let Some(bench) = Bench::postgres() else { return };
    let proxy = Proxy::before(&bench);
    let store = proxy.store(&bench).await;
    let daemon = Daemon::start(&store, 1).await;
    daemon.append().await.unwrap();
    proxy.line.send_replace(Line::LoseAnswer);
    assert_eq!(daemon.append().await.unwrap(), 2);
    assert_eq!(*proxy.line.borrow(), Line::Open, "the answer was lost indeed");
    assert_eq!(daemon.append().await.unwrap(), 3);
    let report = daemon.verify(&bench).await;
    assert!(report.valid && report.rows == 3, "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_that_nobody_could_confirm_is_found_when_the_server_is_back() {
    let Some(bench) = Bench::postgres() else { return };
    let proxy = Proxy::before(&bench);
    let store = proxy.store(&bench).await;
    let daemon = Daemon::start(&store, 1).await;
    daemon.append().await.unwrap();
    proxy.line.send_replace(Line::LoseAnswerAndCut);
    daemon.append().await.unwrap_err();
    assert_eq!(bench.number("SELECT count(*) FROM audit_log").await, 2, "it was committed all the same");
    proxy.line.send_replace(Line::Open);
    until_healthy(&daemon).await;
    let last = daemon.append().await.unwrap();
    let report = daemon.verify(&bench).await;
    assert!(report.valid && report.rows == last, "{report:?}");
    let told = "SELECT count(*) FROM audit_log WHERE line LIKE '%rows 2 to 2 were kept although%'";
    assert_eq!(bench.number(told).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_ends_our_sessions_under_load_loses_and_repeats_nothing() {
    let Some(bench) = Bench::postgres() else { return };
    let store = bench.open().await;
    let daemon = Arc::new(Daemon::start(&store, 1).await);
    let callers: Vec<_> = (0..8)
        .map(|_| {
            let daemon = Arc::clone(&daemon);
            tokio::spawn(async move {
                let mut seqs = Vec::new();
                for _ in 0..150 {
                    // Refused ones are nobody's: they are not counted.
                    seqs.extend(daemon.append().await);
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                seqs
            })
        })
        .collect();
    let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
               WHERE datname = current_database() AND pid <> pg_backend_pid()";
    while !callers.iter().all(tokio::task::JoinHandle::is_finished) {
        bench.raw(cut).await;
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
    let mut seqs = Vec::new();
    for caller in callers {
        seqs.extend(caller.await.unwrap());
    }
    until_healthy(&daemon).await;
    let told = seqs.len();
    seqs.sort_unstable();
    seqs.dedup();
    assert_eq!(seqs.len(), told, "no two callers were told the same number");
    assert!(told > 8, "{told}");
    let report = daemon.verify(&bench).await;
    assert!(report.valid && report.rows >= told as u64, "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_takes_no_rows_refuses_calls_until_it_does() {
    let bench = Bench::sqlite();
    let store = bench.open().await;
    let daemon = Daemon::start(&store, 1).await;
    daemon.append().await.unwrap();
    bench
        .raw("CREATE TRIGGER full BEFORE INSERT ON audit_log BEGIN SELECT RAISE(ABORT, 'no room'); END")
        .await;
    let fault = daemon.append().await.unwrap_err();
    assert!(fault.to_string().contains("so nothing is done"), "{fault}");
    assert!(daemon.log.health().is_err());
    bench.raw("DROP TRIGGER full").await;
    until_healthy(&daemon).await;
    daemon.append().await.unwrap();
    let report = daemon.verify(&bench).await;
    assert!(report.valid && report.rows == 3, "{report:?}");
}

/// Where the writing process finds its database; for everyone else this is no test at all.
const URL: &str = "COVENANT_TEST_AUDITOR_URL";

/// The process that is killed: starts calls without end, ends every second one, and says what is committed.
#[tokio::test(flavor = "multi_thread")]
async fn the_auditor_that_is_killed() {
    let Ok(url) = std::env::var(URL) else { return };
    let store = Store::open(&url, "/".as_ref()).await.unwrap();
    let daemon = Daemon::start(&store, 1).await;
    for number in 0.. {
        let call = number.to_string();
        let of = |kind, decision| Event {
            call: Some(call.as_str()),
            ..Event::new("client:a", "tool:echo", kind, decision)
        };
        let start = of(Kind::CallStarted, Decision::Allowed);
        let mut seq = daemon.log.append(&[start], &Redactor::none()).await.unwrap();
        if number % 2 == 0 {
            let end = Event { started: Some(seq), ..of(Kind::CallFinished, Decision::Ok) };
            seq = daemon.log.append(&[end], &Redactor::none()).await.unwrap();
        }
        let line = format!("\ncommitted {seq}\n");
        std::io::Write::write_all(&mut std::io::stdout(), line.as_bytes()).unwrap();
    }
}

#[expect(clippy::disallowed_methods, reason = "a process that is there to be killed")]
async fn a_process_that_is_killed_leaves_a_chain_that_goes_on(bench: Bench) {
    let url =
        if bench.is_sqlite() { format!("sqlite:{}", bench.file().display()) } else { bench.url.clone() };
    let mut writer = Command::new(std::env::current_exe().unwrap());
    writer.args(["--exact", "contract::audit_outage::the_auditor_that_is_killed", "--nocapture"]);
    let mut writer = writer.env(URL, &url).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(writer.stdout.take().unwrap()).lines().map(Result::unwrap);
    let committed = lines.filter_map(|line| line.strip_prefix("committed ").map(|seq| seq.parse().unwrap()));
    let mut last: u64 = 0;
    for seq in committed {
        last = seq;
        if (400..410).contains(&seq) {
            writer.kill().unwrap();
        }
    }
    writer.wait().unwrap();
    assert!(last >= 400, "{last}");
    let store = bench.open().await;
    let daemon = Daemon::start(&store, 1).await;
    assert!(daemon.opened.last >= last, "what was said to be committed is there: {:?}", daemon.opened);
    let open = daemon.opened.interrupted;
    assert!(open >= last / 4, "every second call never ended: {:?}", daemon.opened);
    let head = daemon.append().await.unwrap();
    assert_eq!(head, daemon.opened.last + open + 1, "each gets its end");
    let report = daemon.verify(&bench).await;
    assert!(report.valid && report.rows == head, "{report:?}");
}

on_both!(a_process_that_is_killed_leaves_a_chain_that_goes_on);
