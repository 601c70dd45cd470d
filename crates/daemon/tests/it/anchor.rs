//! Checkpoints are kept elsewhere: what is posted, what happens while nobody takes it, and what it is good for.

use std::path::Path;
use std::time::{Duration, Instant};

use covenant_daemon::Home;
use covenant_gate::audit::read::{Proof, verify_dir};
use serde_json::json;
use tokio::net::TcpListener;

use crate::house::{House, home, open};
use crate::keeper::{Keeper, Mood};

fn checkpoints(home: &Home) -> Vec<String> {
    let text = std::fs::read_to_string(home.audit().join("checkpoints.jsonl")).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn proof(home: &Home) -> Proof {
    Proof::trusting(&[covenant_daemon::identity::read_public(&home.public_key()).unwrap()])
}

async fn call_clock(house: &House) {
    assert_eq!(house.ask("POST", "/api/v1/tools/clock/call", json!({})).await.status, 200);
}

#[tokio::test]
async fn what_is_posted_is_a_checkpoint_of_the_log_and_signed_by_the_home() {
    let mut keeper = Keeper::new().await;
    let house = House::with(&keeper.config()).await;
    let home = house.running.home().clone();
    let first = keeper.next().await;
    assert_eq!((first.method.as_str(), first.target.as_str()), ("POST", "/keep"));
    assert_eq!(first.headers["content-type"], "application/json");
    assert!(!first.headers.contains_key("authorization"));
    let head = house.ask("POST", "/api/v1/audit/head", json!({})).await.text;
    assert_eq!(first.body.trim_end(), head.trim_end(), "it is what `covenant audit head` prints");
    // So many rows are not waited for.
    for _ in 0..90 {
        call_clock(&house).await;
    }
    let second = keeper.next().await;
    assert!(second.checkpoint().seq > 256, "{}", second.body);
    let key = covenant_daemon::identity::read_public(&home.public_key()).unwrap();
    for post in [&first, &second] {
        assert_eq!(post.checkpoint().verify(&[key]), Ok(()));
        let line = post.body.strip_suffix('\n').unwrap();
        assert!(checkpoints(&home).iter().any(|known| known == line), "{line}");
    }
    house.stop().await;
}

#[tokio::test]
async fn a_clean_stop_ends_with_a_post_of_the_last_checkpoint() {
    let mut keeper = Keeper::new().await;
    let house = House::with(&keeper.config()).await;
    keeper.next().await;
    call_clock(&house).await;
    let dir = house.stop().await;
    let last = keeper.newest().expect("it was posted before the daemon ended");
    assert_eq!(Some(last.body.trim_end()), checkpoints(&home(&dir)).last().map(String::as_str));
}

#[tokio::test]
async fn a_server_that_is_down_at_first_gets_the_newest_when_it_is_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let config = format!("[rate_limit]\nrate = 0\n[audit]\nanchor_url = \"http://{address}/\"\n");
    let house = House::with(&config).await;
    call_clock(&house).await;
    assert_eq!(house.get("/readyz").await.status, 200, "calls do not need an anchor");
    let head = house.ask("POST", "/api/v1/audit/head", json!({})).await.json();
    let mut keeper = Keeper::on(TcpListener::bind(address).await.unwrap(), &[]);
    let newest = head["checkpoint"]["seq"].as_u64().unwrap();
    // One may have been under way already when the newest was made; none between the two is.
    if keeper.next().await.checkpoint().seq < newest {
        assert!(keeper.next().await.checkpoint().seq >= newest, "older ones are skipped");
    }
    house.stop().await;
}

#[tokio::test]
async fn anything_but_success_is_tried_again_and_redirects_are_not_followed() {
    let mut keeper = Keeper::with(&[Mood::Says(500), Mood::Says(302)]).await;
    let house = House::with(&keeper.config()).await;
    let begun = Instant::now();
    for _ in 0..3 {
        let post = keeper.next().await;
        assert_eq!((post.method.as_str(), post.target.as_str()), ("POST", "/keep"));
    }
    assert!(begun.elapsed() >= Duration::from_millis(1500), "it waits longer after each failure");
    house.stop().await;
}

#[tokio::test]
async fn a_server_that_never_answers_holds_up_neither_calls_nor_the_stop() {
    let mut keeper = Keeper::with(&[Mood::Silent, Mood::Silent]).await;
    let house = House::with(&keeper.config()).await;
    keeper.next().await;
    call_clock(&house).await;
    assert_eq!(house.get("/api/v1/status").await.json()["ready"], true);
    let begun = Instant::now();
    house.stop().await;
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    keeper.next().await;
    assert!(keeper.newest().is_none(), "at the end there is one attempt");
}

#[tokio::test]
async fn a_reload_aims_elsewhere_and_credentials_are_sent_but_not_shown() {
    let mut old = Keeper::new().await;
    let house = House::with(&old.config()).await;
    old.next().await;
    let mut new = Keeper::new().await;
    let text = format!(
        "[audit]\nanchor_url = \"http://ada:hunter2hunter2@{}/k?token=hunter3hunter3\"\n",
        new.address
    );
    covenant_daemon::atomic::write(&house.running.home().config(), text.as_bytes()).unwrap();
    let reloaded = house.ask("POST", "/api/v1/reload", json!({})).await.json();
    assert!(reloaded["applied"].to_string().contains("audit.anchor_url"), "{reloaded}");
    let post = new.next().await;
    assert_eq!(post.target, "/k?token=hunter3hunter3");
    assert_eq!(post.headers["authorization"], "Basic YWRhOmh1bnRlcjJodW50ZXIy");
    let shown = house.get("/api/v1/config").await.text;
    assert!(!shown.contains("hunter") && shown.contains("[REDACTED]"), "{shown}");
    let echoed = json!({"arguments": {"text": "hunter2hunter2 hunter3hunter3"}});
    house
        .ask("POST", "/api/v1/capabilities", json!({"subject": "user@local", "action": "tool.call.echo"}))
        .await;
    let echoed = house.ask("POST", "/api/v1/tools/echo/call", echoed).await.text;
    assert!(echoed.contains("[REDACTED") && !echoed.contains("hunter"), "{echoed}");
    house.stop().await;
    assert!(old.newest().is_none(), "the old address gets nothing more");
}

/// What all of this is for.
#[tokio::test]
async fn a_log_put_back_to_an_earlier_state_is_found_out_by_what_the_anchor_kept_and_by_nothing_else() {
    let mut keeper = Keeper::new().await;
    let house = House::with(&keeper.config()).await;
    call_clock(&house).await;
    let dir = house.stop().await;
    let home = home(&dir);
    let earlier = dir.path().join("earlier");
    copy(&home.audit(), &earlier);

    let house = House { dir, running: open(home.clone()).await.unwrap() };
    call_clock(&house).await;
    let dir = house.stop().await;
    let kept = keeper.newest().unwrap().checkpoint();
    let honest = verify_dir(&home.audit(), &proof(&home).anchored_by(kept.clone())).unwrap();
    assert!(honest.valid && honest.anchored, "{honest:?}");

    // The owner of the home puts rows and checkpoints back to how they were, and the second call never happened.
    std::fs::remove_dir_all(home.audit()).unwrap();
    copy(&earlier, &home.audit());
    let alone = verify_dir(&home.audit(), &proof(&home)).unwrap();
    assert!(alone.valid, "alone it looks sound: {alone:?}");
    let cut = verify_dir(&home.audit(), &proof(&home).anchored_by(kept.clone())).unwrap();
    assert!(!cut.valid && cut.first_bad.unwrap().reason.contains("the tail was cut"));

    // And writes another history over it, signed with the right key.
    let house = House { dir, running: open(home.clone()).await.unwrap() };
    for _ in 0..3 {
        call_clock(&house).await;
    }
    let _dir = house.stop().await;
    let alone = verify_dir(&home.audit(), &proof(&home)).unwrap();
    assert!(alone.valid && alone.verified_to > kept.seq, "alone it looks sound: {alone:?}");
    let rewritten = verify_dir(&home.audit(), &proof(&home).anchored_by(kept.clone())).unwrap();
    let bad = rewritten.first_bad.unwrap();
    assert!(!rewritten.valid && bad.seq == kept.seq && bad.reason.contains("rewritten"), "{bad:?}");

    // The new history was posted too, and fits its own checkpoint; together with the older one it does not.
    let newest = keeper.newest().unwrap().checkpoint();
    let alone = verify_dir(&home.audit(), &proof(&home).anchored_by(newest.clone())).unwrap();
    assert!(alone.valid && alone.anchored, "{alone:?}");
    let both = verify_dir(&home.audit(), &proof(&home).anchored_by(newest).anchored_by(kept)).unwrap();
    assert!(!both.valid, "{both:?}");
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}
