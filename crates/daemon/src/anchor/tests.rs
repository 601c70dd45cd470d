//! The log is real, and so is the server; only the waiting is shorter.

use std::sync::Arc;

use covenant_gate::SystemClock;
use covenant_gate::audit::Options;
use covenant_model::audit::{Decision, Event, Kind, OWN};
use covenant_model::redact::Redactor;
use ed25519_dalek::SigningKey;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;

const QUICK: Pace = Pace {
    step: Duration::from_millis(10),
    every: Duration::from_millis(20),
    rows: 256,
    patience: Duration::from_millis(200),
    shortest: Duration::from_millis(10),
    longest: Duration::from_millis(20),
};

/// A log, a server's listener, and an anchor aimed at it.
struct Scene {
    _dir: tempfile::TempDir,
    audit: AuditLog,
    listener: TcpListener,
    anchor: Arc<Anchor>,
}

impl Scene {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let key = SigningKey::from_bytes(&[7; 32]);
        let options = Options::new(dir.path().join("audit"), key, [0; 32], Arc::new(SystemClock));
        std::fs::create_dir(dir.path().join("audit")).unwrap();
        let (audit, _) = AuditLog::open(options).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://127.0.0.1:{}/", listener.local_addr().unwrap().port());
        let anchor = Arc::new(Anchor::new(Address::parse(&url).ok()));
        let scene = Self { _dir: dir, audit, listener, anchor };
        scene.row().await;
        scene
    }

    async fn row(&self) -> u64 {
        let event = Event::new(OWN, OWN, Kind::ConfigLoaded, Decision::Done);
        self.audit.append(&[event], &Redactor::none()).await.unwrap()
    }

    fn follow(&self) -> tokio::task::JoinHandle<()> {
        let (anchor, audit) = (Arc::clone(&self.anchor), self.audit.clone());
        tokio::spawn(async move { anchor.follow(&audit, QUICK).await })
    }

    /// The next connection, and the row of the checkpoint that came on it.
    async fn next(&self) -> (TcpStream, u64) {
        let (mut stream, _) =
            timeout(Duration::from_secs(10), self.listener.accept()).await.unwrap().unwrap();
        let mut text = String::new();
        while !text.ends_with("}\n") {
            let mut piece = [0; 4096];
            let count = stream.read(&mut piece).await.unwrap();
            assert!(count > 0, "{text}");
            text.push_str(std::str::from_utf8(&piece[..count]).unwrap());
        }
        let checkpoint =
            Checkpoint::read(text.split("\r\n\r\n").nth(1).unwrap().trim_end().as_bytes()).unwrap();
        (stream, checkpoint.seq)
    }
}

async fn say(mut stream: TcpStream, status: &str) {
    stream.write_all(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").as_bytes()).await.unwrap();
}

#[tokio::test]
async fn silence_is_given_up_on_before_the_next_attempt_which_has_the_newest() {
    let scene = Scene::new().await;
    let task = scene.follow();
    let (mut silent, first) = scene.next().await;
    assert_eq!(first, 1);
    for _ in 0..5 {
        scene.row().await;
    }
    let (second, seq) = scene.next().await;
    assert_eq!(seq, 6, "those between are skipped");
    assert_eq!(silent.read(&mut [0; 1]).await.unwrap_or(0), 0, "the first was hung up: one at a time");
    say(second, "200 OK").await;
    let last = scene.row().await;
    let (stream, seq) = scene.next().await;
    assert_eq!(seq, last, "and on it goes");
    say(stream, "200 OK").await;
    task.abort();
}

#[tokio::test]
async fn a_log_that_does_not_grow_is_not_posted_again() {
    let scene = Scene::new().await;
    let task = scene.follow();
    say(scene.next().await.0, "204 No Content").await;
    let again = timeout(QUICK.every * 10, scene.listener.accept()).await;
    assert!(again.is_err(), "nothing is new");
    task.abort();
}

#[test]
fn only_the_first_failure_and_the_first_success_after_one_are_news() {
    let mut standing = Standing::Untried;
    let mut told = Vec::new();
    for (seq, taken) in (1..).zip([true, true, false, false, false, true, true, false]) {
        let next = standing.after(seq, taken);
        if standing.is_news(next) {
            told.push((seq, next));
        }
        standing = next;
    }
    let (kept, failing) = (Standing::Kept, |seq| Standing::Failing(Some(seq)));
    assert_eq!(told, [(1, kept(1)), (3, failing(2)), (6, kept(6)), (8, failing(7))]);
    assert_eq!(Standing::Untried.after(1, false), Standing::Failing(None));
}

#[tokio::test]
async fn every_answer_but_success_is_a_failure() {
    let scene = Scene::new().await;
    let task = scene.follow();
    for (status, standing) in [
        ("204 No Content", Standing::Kept(1)),
        ("500 Broken", Standing::Failing(Some(1))),
        ("404 Nowhere", Standing::Failing(Some(1))),
        ("301 Elsewhere", Standing::Failing(Some(1))),
        ("202 Later", Standing::Kept(5)),
    ] {
        say(scene.next().await.0, status).await;
        let settled = async {
            while *scene.anchor.standing.lock() != standing {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_secs(10), settled).await.unwrap_or_else(|_| panic!("{status}"));
        scene.row().await;
    }
    task.abort();
}

#[tokio::test]
async fn without_an_address_nothing_is_signed_or_posted() {
    let scene = Scene::new().await;
    scene.anchor.aim(None);
    assert_eq!(scene.anchor.last(&scene.audit).await, None);
    let task = scene.follow();
    assert!(timeout(QUICK.every * 5, scene.listener.accept()).await.is_err());
    let url = format!("http://{}/", scene.listener.local_addr().unwrap());
    scene.anchor.aim(Address::parse(&url).ok());
    assert_eq!(scene.next().await.1, 1, "until one is given");
    task.abort();
}
