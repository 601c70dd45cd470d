//! What a program may take of time, connections, look-ups and the log; and that nothing goes on after its run.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::io::AsyncWriteExt as _;
use tokio::time::Instant;
use tracing_subscriber::fmt::MakeWriter;

use super::super::lookup;
use super::super::{CONNECTIONS, NOTED, host::Host};
use super::world::{Echo, Proxy, listen, own_address, read, request, token};
use super::{PRIVATE, assert_refused};

const HELLO: &[u8] = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";

#[tokio::test(start_paused = true)]
async fn half_a_request_is_waited_for_ten_seconds() {
    let proxy = Proxy::knowing(&[], &[]).await;
    for half in ["", "C", "CONNECT good.example:443 HTTP/1.1\r\n"] {
        let begun = Instant::now();
        assert_refused(&proxy.answer(half).await, 408, "more than 10 seconds");
        // The two more are for a program that does not go.
        assert!((10..=12).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn a_hello_is_waited_for_ten_seconds_and_a_tunnel_may_rest_for_ten_minutes() {
    let address = own_address();
    let Some(listener) = listen(address).await else { return };
    let proxy = Proxy::knowing(&["good.example"], &[("good.example", &[IpAddr::V4(address)])]).await;
    let mut silent = proxy.tunnel("good.example:443").await;
    let (mut server, _) = listener.accept().await.unwrap();
    tokio::time::pause();
    let begun = Instant::now();
    assert_eq!(read(&mut silent).await, "");
    assert_eq!(read(&mut server).await, "", "nothing has left");
    assert_eq!(begun.elapsed().as_secs(), 10);
    tokio::time::resume();
    let mut resting = proxy.tunnel("good.example:443").await;
    let (mut server, _) = listener.accept().await.unwrap();
    resting.write_all(HELLO).await.unwrap();
    let mut told = [0; HELLO.len()];
    tokio::io::AsyncReadExt::read_exact(&mut server, &mut told).await.unwrap();
    tokio::time::pause();
    let begun = Instant::now();
    assert_eq!(read(&mut resting).await, "");
    assert_eq!(begun.elapsed().as_secs(), 600);
}

#[tokio::test]
async fn a_run_has_so_many_connections_and_the_place_of_one_that_ends_is_free_again() {
    let proxy = Proxy::knowing(&[], &[("private.example", &[PRIVATE])]).await;
    let mut open = Vec::new();
    for _ in 0..CONNECTIONS {
        open.push(proxy.connect().await);
    }
    // The proxy accepts in order: whoever comes now comes after them.
    assert_refused(&proxy.ask("private.example:443").await, 503, "64 connections open already");
    open.pop();
    loop {
        let answer = proxy.ask("private.example:443").await;
        if !answer.starts_with("HTTP/1.1 503") {
            assert_refused(&answer, 403, "a private address");
            break;
        }
    }
}

#[tokio::test]
async fn when_the_run_ends_so_do_its_tunnels_and_its_door() {
    let address = own_address();
    let Some(listener) = listen(address).await else { return };
    let mut proxy = Proxy::knowing(&["good.example"], &[("good.example", &[IpAddr::V4(address)])]).await;
    let mut stream = proxy.tunnel("good.example:443").await;
    let (mut server, _) = listener.accept().await.unwrap();
    stream.write_all(HELLO).await.unwrap();
    proxy.task.abort();
    assert!((&mut proxy.task).await.unwrap_err().is_cancelled());
    assert_eq!(read(&mut stream).await, "", "the program's end is closed");
    let left = read(&mut server).await;
    assert!(left.len() <= HELLO.len(), "the server's end is closed");
    assert!(proxy.try_connect().await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn look_ups_that_hang_keep_nobody_else_waiting() {
    let (hang_up, hung) = std::sync::mpsc::channel::<()>();
    let (hung, asked) = (Mutex::new(hung), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&asked);
    let slow = Proxy::with(
        &[],
        Arc::new(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            let _ = hung.lock().recv();
            Err(io::Error::other("too late"))
        }),
    );
    let slow = slow.await;
    tokio::time::pause();
    let asking = (0..8).map(|_| slow.ask("slow.example:443"));
    for answer in futures_util::future::join_all(asking).await {
        assert_refused(&answer, 504, "within 5 seconds");
    }
    while asked.load(Ordering::Relaxed) < 4 {
        std::thread::yield_now();
    }
    assert_eq!(asked.load(Ordering::Relaxed), 4, "a run has so many at a time");
    tokio::time::resume();
    let quick = Proxy::knowing(&[], &[("private.example", &[PRIVATE])]).await;
    assert_refused(&quick.ask("private.example:443").await, 403, "a private address");
    drop(hang_up);
}

#[tokio::test]
async fn a_name_is_looked_up_once_so_that_a_second_answer_cannot_be_another() {
    let address = own_address();
    let Some(listener) = listen(address).await else { return };
    let server = Echo::new(listener, "good.example");
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let resolver = move |_: &str| match counted.fetch_add(1, Ordering::Relaxed) {
        0 => Ok(vec![IpAddr::V4(address)]),
        _ => Err(io::Error::other("it was asked twice")),
    };
    let proxy = Proxy::with(&["good.example"], Arc::new(resolver)).await;
    assert_eq!(server.by(&proxy, "good.example", "hello").await, "hello");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

#[test]
fn of_the_addresses_of_a_name_only_the_public_ones_are_left() {
    let public: IpAddr = "93.184.215.14".parse().unwrap();
    let name = Host::Name("mixed.example".to_owned());
    assert_eq!(lookup::public(&name, vec![PRIVATE, public]).unwrap(), [public]);
    assert!(lookup::public(&name, vec![PRIVATE]).is_err());
    assert_eq!(lookup::public(&Host::Address(public), vec![public]).unwrap(), [public]);
}

/// A log in memory.
#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl io::Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Page {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn refusals_are_in_the_log_without_the_token_and_not_without_end() {
    let page = Page::default();
    let subscriber = tracing_subscriber::fmt().with_writer(page.clone()).with_ansi(false).finish();
    // With one alone, `tracing` asks whichever thread writes a line first whether anyone wants such lines, and the threads
    // of other tests have nobody who does.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let _guard = tracing::subscriber::set_default(subscriber);
    let proxy = Proxy::knowing(&[], &[("private.example", &[PRIVATE])]).await;
    proxy.ask("private.example:443").await;
    proxy.answer(request("private.example:443", &covenant_model::token::from_random([9; 32]))).await;
    for _ in 0..NOTED {
        proxy.ask("127.0.0.1:443").await;
    }
    let log = String::from_utf8(page.0.lock().clone()).unwrap();
    let ours: Vec<&str> = log.lines().filter(|line| line.contains("covenant::egress")).collect();
    assert!(
        ours[0].contains("run=\"tested\"") && ours[0].contains("host=\"private.example\""),
        "{}",
        ours[0]
    );
    assert!(ours[0].contains("leads to a private address"), "{}", ours[0]);
    assert!(ours[1].contains("wants the token of the run"), "{}", ours[1]);
    assert_eq!(ours.len(), usize::try_from(NOTED).unwrap() + 1, "{log}");
    assert!(ours.last().unwrap().contains("further ones are not written down"), "{log}");
    assert!(!log.contains("cv_") && !log.contains(token().reveal()), "{log}");
}
