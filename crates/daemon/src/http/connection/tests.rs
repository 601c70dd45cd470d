//! Connections that dawdle, that must go and that must not: over a pipe, in time that passes when everyone waits.

use axum::response::IntoResponse as _;
use covenant_model::redact::Redactor;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::*;
use crate::http::document::Bodies;
use crate::http::reply;
use crate::http::seats::Seats;

/// A room with one seat, the connection that has it, and its client.
struct Scene {
    seats: Arc<Seats>,
    stop: Arc<Stop>,
    client: DuplexStream,
    ended: JoinHandle<()>,
}

impl Scene {
    /// A connection whose pipe holds that many bytes, answered by path:
    /// `/big` with a megabyte, `/stream` with what the test sends, `/body` after reading the body, `/apart` after another
    /// task has, either with `/stream` behind it by what the test sends, others with `ok`.
    async fn new(pipe: usize) -> (Self, mpsc::Sender<Bytes>) {
        let (seats, stop) = (Seats::new(1), Arc::new(Stop::new(Duration::from_secs(10))));
        let seat = seats.take(stop.begin().unwrap()).await;
        let (client, server) = tokio::io::duplex(pipe);
        let (pieces, given) = mpsc::channel::<Bytes>(1);
        let given = Arc::new(tokio::sync::Mutex::new(given));
        let stopping = Arc::clone(&stop);
        let ended = tokio::spawn(async move {
            serve(server, seat, &stopping, |request, engaged| answer(request, engaged, Arc::clone(&given)))
                .await;
        });
        (Self { seats, stop, client, ended }, pieces)
    }

    async fn say(&mut self, text: &str) {
        self.client.write_all(text.as_bytes()).await.unwrap();
    }

    /// Reads until that has come.
    async fn hear(&mut self, end: &str) -> String {
        let mut heard = Vec::new();
        while !String::from_utf8_lossy(&heard).ends_with(end) {
            heard.push(self.client.read_u8().await.expect("the connection is open"));
        }
        String::from_utf8(heard).unwrap()
    }

    /// Whether a newcomer gets the seat within that time.
    async fn makes_room(&self, within: Duration) -> bool {
        tokio::time::timeout(within, self.seats.take(self.stop.begin().unwrap())).await.is_ok()
    }
}

async fn answer(
    request: Request<Incoming>,
    engaged: Arc<Engaged>,
    given: Arc<tokio::sync::Mutex<mpsc::Receiver<Bytes>>>,
) -> Response {
    let path = request.uri().path().to_owned();
    let streamed = || {
        Body::from_stream(futures_util::stream::unfold(given, async |given| {
            let piece = given.lock().await.recv().await?;
            Some((Ok::<_, std::io::Error>(piece), given))
        }))
        .into_response()
    };
    let response = match path.as_str() {
        "/big" => vec![b'x'; 1024 * 1024].into_response(),
        "/stream" => streamed(),
        _ if path.starts_with("/body") || path.starts_with("/apart") => {
            let read = async move { Bodies::new().read(request.into_body(), 100_000, Some(&engaged)).await };
            let read = if path.starts_with("/body") { read.await } else { tokio::spawn(read).await.unwrap() };
            match read {
                Ok(_) if path.ends_with("/stream") => streamed(),
                Ok(body) => body.len().to_string().into_response(),
                Err(failure) => failure.into_response(),
            }
        }
        _ => "ok".into_response(),
    };
    reply::finish(response, &Redactor::none())
}

const SOON: Duration = Duration::from_secs(1);
const LATE: Duration = Duration::from_mins(5);

/// Waits for the end of the connection; how long that took.
async fn ends(scene: Scene) -> Duration {
    let begun = Instant::now();
    tokio::time::timeout(LATE, scene.ended).await.expect("the connection ends").unwrap();
    begun.elapsed()
}

#[tokio::test(start_paused = true)]
async fn silence_and_half_a_head_end_after_thirty_seconds() {
    for said in ["", "GET / HT", "GET / HTTP/1.1\r\nHost: local", "GET /again HTTP/1.1\r\n\r\n"] {
        let (mut scene, _pieces) = Scene::new(1024).await;
        scene.say(said).await;
        if said.ends_with("\r\n\r\n") {
            scene.hear("ok").await;
        }
        assert_eq!(ends(scene).await.as_secs(), 30, "{said:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_head_sent_byte_by_byte_has_thirty_seconds_in_all() {
    let (mut scene, _pieces) = Scene::new(1024).await;
    let begun = Instant::now();
    for byte in "GET / HTTP/1.1\r\nHost: localhost\r\nX: ".chars().chain(std::iter::repeat('x')) {
        if scene.client.write_all(&[u8::try_from(byte).unwrap()]).await.is_err() {
            break;
        }
        tokio::time::sleep(SOON).await;
        assert!(begun.elapsed() < LATE, "it goes on for ever");
    }
    assert!(begun.elapsed().as_secs() <= 32, "{:?}", begun.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_body_that_never_ends_is_refused_after_thirty_seconds_and_the_connection_ends() {
    for (head, piece) in [
        ("Content-Length: 90000", "x"),
        ("Transfer-Encoding: chunked", "1\r\nx\r\n"),
        ("Content-Length: 9", ""),
    ] {
        let (mut scene, _pieces) = Scene::new(1024).await;
        let begun = Instant::now();
        scene.say(&format!("POST /body HTTP/1.1\r\nHost: localhost\r\n{head}\r\n\r\n")).await;
        let mut heard = Vec::new();
        while !scene.ended.is_finished() {
            let _ = scene.client.write_all(piece.as_bytes()).await;
            let mut room = [0; 512];
            if let Ok(Ok(count)) = tokio::time::timeout(SOON, scene.client.read(&mut room)).await {
                heard.extend_from_slice(&room[..count]);
            }
            assert!(begun.elapsed() < LATE, "it goes on for ever");
        }
        let heard = String::from_utf8(heard).unwrap();
        assert!(heard.starts_with("HTTP/1.1 408") && heard.contains("too_slow"), "{head}: {heard}");
        assert!(heard.to_ascii_lowercase().contains("connection: close"), "{heard}");
        assert!((30..=33).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn the_head_of_a_request_has_its_limit() {
    let (mut scene, _pieces) = Scene::new(1024 * 1024).await;
    scene.say(&format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(HEAD))).await;
    let mut heard = String::new();
    scene.client.read_to_string(&mut heard).await.unwrap();
    assert!(heard.starts_with("HTTP/1.1 431"), "{heard}");

    let frame = "GET / HTTP/1.1\r\nX: \r\n\r\n".len();
    for (more, status) in [(0, "HTTP/1.1 200"), (1, "HTTP/1.1 431"), (20_000, "HTTP/1.1 431")] {
        let (mut scene, _pieces) = Scene::new(1024 * 1024).await;
        scene.say(&format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(HEAD - frame + more))).await;
        let heard = scene.hear("\r\n\r\n").await;
        assert!(heard.starts_with(status), "{more} more than may be: {heard}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_idle_make_room_at_once_whatever_they_wait_for() {
    for said in ["", "GET / HTTP/1.1\r\nHost: loc", "GET /again HTTP/1.1\r\n\r\n"] {
        let (mut scene, _pieces) = Scene::new(1024).await;
        scene.say(said).await;
        if said.ends_with("\r\n\r\n") {
            scene.hear("ok").await;
        }
        assert!(scene.makes_room(SOON).await, "{said:?}");
        assert_eq!(scene.client.read(&mut [0; 16]).await.unwrap(), 0, "it was closed");
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_is_answered_is_not_sent_away() {
    let (mut scene, pieces) = Scene::new(1024).await;
    scene.say("GET /stream HTTP/1.1\r\n\r\n").await;
    scene.hear("\r\n\r\n").await;
    assert!(!scene.makes_room(LATE).await, "an answer is being made");
    pieces.send(Bytes::from_static(b"piece")).await.unwrap();
    scene.hear("piece\r\n").await;
    assert!(!scene.makes_room(LATE).await, "there may be more");
    drop(pieces);
    scene.hear("0\r\n\r\n").await;
    assert!(scene.makes_room(SOON).await, "it has all been said");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_whole_is_sent_whole_to_one_who_reads_slowly() {
    let (mut scene, _pieces) = Scene::new(1024).await;
    scene.say("GET /big HTTP/1.1\r\n\r\n").await;
    scene.hear("\r\n\r\n").await;
    let mut count = 0;
    let mut room = [0; 1024];
    while count < 1024 * 1024 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let read = scene.client.read(&mut room).await.unwrap();
        assert!(read > 0, "cut off after {count} bytes");
        count += read;
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_reads_nothing_or_little_makes_room_at_once() {
    for said in ["GET /big HTTP/1.1\r\n\r\n", "GET /big HTTP/1.1\r\n\r\nGET /big HTTP/1.1\r\n\r\n"] {
        let (mut scene, _pieces) = Scene::new(1024).await;
        scene.say(said).await;
        scene.hear("\r\n\r\n").await;
        for _ in 0..10 {
            tokio::time::sleep(SOON).await;
            scene.client.read_exact(&mut [0; 100]).await.unwrap();
        }
        assert!(scene.makes_room(Duration::from_millis(10)).await);
    }

    let (mut scene, pieces) = Scene::new(1024).await;
    scene.say("GET /stream HTTP/1.1\r\n\r\n").await;
    pieces.send(vec![b'x'; 64 * 1024].into()).await.unwrap();
    tokio::time::sleep(SOON).await;
    assert!(scene.makes_room(Duration::from_millis(10)).await, "also while more of an answer is being made");
}

#[tokio::test(start_paused = true)]
async fn one_that_reads_nothing_is_given_up_and_its_seat_is_free() {
    let (mut scene, _pieces) = Scene::new(1024).await;
    scene.say("GET /big HTTP/1.1\r\n\r\n").await;
    scene.hear("\r\n\r\n").await;
    assert_eq!(ends(scene).await.as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn one_that_sends_half_a_body_makes_room_at_once_and_one_that_sent_all_does_not() {
    for way in ["/body", "/apart"] {
        let (mut scene, _pieces) = Scene::new(1024).await;
        scene.say(&format!("POST {way} HTTP/1.1\r\nContent-Length: 9\r\n\r\n")).await;
        for _ in 0..5 {
            tokio::time::sleep(SOON).await;
            scene.say("x").await;
        }
        assert!(scene.makes_room(Duration::from_millis(10)).await, "{way}");

        let (mut scene, _pieces) = Scene::new(1024).await;
        scene.say(&format!("POST {way}/stream HTTP/1.1\r\nContent-Length: 9\r\n\r\nxxxx")).await;
        tokio::time::sleep(SOON).await;
        scene.say("xxxxx").await;
        tokio::time::sleep(SOON).await;
        assert!(!scene.makes_room(LATE).await, "{way}: an answer is being made");
    }
}

#[tokio::test(start_paused = true)]
async fn a_small_request_that_came_whole_moves_its_seat_twice() {
    let (mut scene, _pieces) = Scene::new(1024).await;
    tokio::task::yield_now().await;
    let before = scene.seats.moves();
    scene.say("POST /body HTTP/1.1\r\nContent-Length: 9\r\n\r\nxxxxxxxxx").await;
    scene.hear("\r\n\r\n9").await;
    tokio::task::yield_now().await;
    assert_eq!(scene.seats.moves() - before, 2, "to nowhere, and to the idle again");
}

#[tokio::test(start_paused = true)]
async fn many_requests_on_one_connection_leave_it_idle_each_time() {
    let (mut scene, _pieces) = Scene::new(4096).await;
    for _ in 0..3 {
        scene.say("GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n").await;
        scene.hear("ok").await;
        scene.hear("ok").await;
    }
    assert!(scene.makes_room(SOON).await);
}

#[tokio::test(start_paused = true)]
async fn a_stop_waits_for_answers_and_not_for_half_requests() {
    let (mut scene, _pieces) = Scene::new(1024).await;
    scene.say("GET / HT").await;
    tokio::task::yield_now().await;
    scene.stop.closing.cancel();
    assert!(ends(scene).await < SOON);

    let (mut scene, _pieces) = Scene::new(1024).await;
    scene.say("GET /big HTTP/1.1\r\n\r\n").await;
    scene.hear("\r\n\r\n").await;
    scene.stop.closing.cancel();
    assert!(ends(scene).await < SOON, "nor for one who does not take the answer");

    let (mut scene, _pieces) = Scene::new(1024).await;
    scene.say("GET /big HTTP/1.1\r\n\r\nGET /big HTTP/1.1\r\n\r\n").await;
    scene.hear("\r\n\r\n").await;
    scene.stop.closing.cancel();
    assert!(ends(scene).await < SOON, "nor if it has asked for more");

    for way in ["/body", "/apart"] {
        let (mut scene, _pieces) = Scene::new(1024).await;
        scene.say(&format!("POST {way} HTTP/1.1\r\nContent-Length: 9\r\n\r\nxxx")).await;
        tokio::time::sleep(SOON).await;
        scene.stop.closing.cancel();
        assert!(ends(scene).await < SOON, "nor for the rest of a body: {way}");
    }

    let (mut scene, pieces) = Scene::new(1024).await;
    scene.say("GET /stream HTTP/1.1\r\n\r\n").await;
    scene.hear("\r\n\r\n").await;
    scene.stop.closing.cancel();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(!scene.ended.is_finished(), "an answer is being made");
    pieces.send(Bytes::from_static(b"last")).await.unwrap();
    drop(pieces);
    scene.hear("0\r\n\r\n").await;
    assert!(ends(scene).await < SOON);
}
