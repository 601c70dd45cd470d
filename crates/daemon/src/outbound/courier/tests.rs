//! Real connections to servers that behave, and to servers that do not.

mod server;
mod wires;

use covenant_mcp::upstream::ports::{Method as Deed, Reply, Sent};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use self::server::{Said, Server, answer, until};
use super::*;

fn direct(url: &str) -> Direct {
    Direct::new(Url::parse(url).unwrap()).unwrap()
}

fn sent(url: &str) -> Sent<'_> {
    let headers = &[("x-key", "hunter2"), ("accept", "*/*")];
    Sent { method: Deed::Post, url, headers, body: b"hello".to_vec(), repeatable: false }
}

/// All of a body, or why it broke off.
async fn all(mut reply: Reply) -> Result<String, String> {
    let mut text = Vec::new();
    while let Some(piece) = reply.body.next().await {
        text.extend(piece?);
    }
    Ok(String::from_utf8(text).unwrap())
}

async fn exchange(courier: &dyn Courier, url: &str) -> Result<String, String> {
    all(courier.send(sent(url)).await?).await
}

#[tokio::test]
async fn a_request_arrives_as_it_was_written_and_the_answer_comes_back() {
    let server = Server::saying("418 Teapot", "X-Note: one\r\n", "short and stout").await;
    let courier = direct(&server.url);
    let other = server.url.replace("/mcp", "/other?a=b%20c#top");
    for url in [&server.url, &other] {
        let reply = courier.send(sent(url)).await.unwrap();
        assert_eq!((reply.status, reply.header("x-note")), (418, Some("one")));
        assert_eq!(all(reply).await.unwrap(), "short and stout");
    }
    let [first, second] = &server.came()[..] else { panic!() };
    let host = server.url.trim_start_matches("http://").trim_end_matches("/mcp");
    let agent = format!("user-agent: {}", super::AGENT);
    for line in [
        "post /mcp http/1.1",
        &format!("host: {host}"),
        "x-key: hunter2",
        "accept: */*",
        &agent,
        "content-length: 5",
    ] {
        assert!(first.head.lines().any(|found| found == line), "{line}: {}", first.head);
    }
    assert_eq!(first.body, "hello");
    assert!(second.head.starts_with("post /other?a=b%20c http/1.1"), "{}", second.head);
}

#[tokio::test]
async fn a_connection_is_used_again_and_again() {
    let server = Server::saying("200 OK", "", "x").await;
    let courier = direct(&server.url);
    for _ in 0..20 {
        exchange(&courier, &server.url).await.unwrap();
    }
    assert_eq!(server.came().last().unwrap().connection, 1);
    let at_once = futures_util::future::join_all((0..8).map(|_| exchange(&courier, &server.url))).await;
    assert!(at_once.iter().all(Result::is_ok));
    let before = server.came().iter().map(|came| came.connection).max();
    futures_util::future::join_all((0..8).map(|_| exchange(&courier, &server.url))).await;
    assert_eq!(
        server.came().iter().map(|came| came.connection).max(),
        before,
        "no more than were needed at once"
    );
    drop(courier);
    until("all are closed", || server.closed() == before.unwrap()).await;
}

#[tokio::test]
async fn no_more_connections_are_kept_than_may_be() {
    let server = Server::saying("200 OK", "", "x").await;
    let courier = direct(&server.url);
    let replies = (0..100).map(|_| courier.send(sent(&server.url)));
    let replies = futures_util::future::join_all(replies).await;
    for reply in replies {
        all(reply.unwrap()).await.unwrap();
    }
    assert_eq!(courier.pool.count(), 64);
    until("the others are closed", || server.closed() == 36).await;
}

#[tokio::test]
async fn a_connection_that_the_server_closed_meanwhile_is_not_used() {
    let server = Server::new(|came| match came.turn {
        1 => Said::Answer(answer("200 OK", "", "one")),
        _ => Said::Last(answer("200 OK", "", "two")),
    })
    .await;
    let courier = direct(&server.url);
    for expected in ["one", "two", "one", "two", "one"] {
        assert_eq!(exchange(&courier, &server.url).await.unwrap(), expected);
        if expected == "two" {
            // Only the kernel knows of the end of the connection so far.
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(server.came().len(), 5, "nothing was sent twice");
}

#[tokio::test]
async fn what_may_have_been_done_is_sent_again_only_where_twice_does_no_harm() {
    let closes = |came: &server::Came| match (came.connection, came.turn) {
        (1, 2) => Said::Last(String::new()),
        _ => Said::Answer(answer("200 OK", "", "x")),
    };
    let server = Server::new(closes).await;
    let courier = direct(&server.url);
    exchange(&courier, &server.url).await.unwrap();
    let why = exchange(&courier, &server.url).await.unwrap_err();
    assert_eq!(why, "closed the connection before it answered");
    assert_eq!(server.came().len(), 2, "it came once");

    let server = Server::new(closes).await;
    let courier = direct(&server.url);
    exchange(&courier, &server.url).await.unwrap();
    let reply = courier.send(Sent { repeatable: true, ..sent(&server.url) }).await.unwrap();
    assert_eq!(all(reply).await.unwrap(), "x");
    assert_eq!(server.came().last().unwrap().connection, 2);
}

#[tokio::test]
async fn a_new_connection_that_closes_is_not_tried_again() {
    let server = Server::new(|_| Said::Last(String::new())).await;
    let courier = direct(&server.url);
    let why = courier.send(Sent { repeatable: true, ..sent(&server.url) }).await.err().unwrap();
    assert_eq!(why, "closed the connection before it answered");
    assert_eq!(server.came().len(), 1);
}

#[tokio::test]
async fn a_connection_is_not_kept_where_the_server_says_so() {
    for headers in ["connection: close\r\n", "keep-alive: timeout=1\r\n"] {
        let server = Server::saying("200 OK", headers, "x").await;
        let courier = direct(&server.url);
        for connection in 1..=2 {
            exchange(&courier, &server.url).await.unwrap();
            assert_eq!(server.came().last().unwrap().connection, connection, "{headers}");
            assert_eq!(courier.pool.count(), 0);
        }
    }
}

#[tokio::test]
async fn pieces_come_as_they_are_sent_and_to_let_go_closes_the_connection() {
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n";
    let server = Server::new(|_| Said::Hang(head.to_owned())).await;
    let courier = direct(&server.url);
    let mut reply = courier.send(sent(&server.url)).await.unwrap();
    assert_eq!(reply.body.next().await.unwrap().unwrap(), b"one");
    tokio::select! {
        piece = reply.body.next() => panic!("{piece:?}"),
        () = tokio::task::yield_now() => {}
    }
    drop(reply);
    until("the server hears of it", || server.closed() == 1).await;
    let server = Server::new(|_| Said::Hang(String::new())).await;
    let courier = direct(&server.url);
    tokio::select! {
        _ = courier.send(sent(&server.url)) => panic!("there is no answer"),
        () = until("it came", || server.came().len() == 1) => {}
    }
    until("the server hears of it", || server.closed() == 1).await;
}

#[tokio::test]
async fn what_is_not_http_is_told_and_bounded() {
    let told = async |said: fn() -> Said| {
        let server = Server::new(move |_| said()).await;
        let why = exchange(&direct(&server.url), &server.url).await.unwrap_err();
        (why, server)
    };
    let (why, _) = told(|| Said::Last("SSH-2.0-OpenSSH_9\r\n".to_owned())).await;
    assert!(why.starts_with("answered with something that is not HTTP"), "{why}");
    let endless =
        || Said::Endless("HTTP/1.1 200 OK\r\n".to_owned(), format!("x-y: {}\r\n", "z".repeat(1000)));
    let (why, server) = told(endless).await;
    assert!(why.starts_with("answered with something that is not HTTP"), "{why}");
    until("and nothing more is read", || server.closed() == 1).await;
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    for garbage in ["zz\r\nhello", "5\r\nhel", "ffffffffffffffffff\r\nx", "5\r\nhelloX\r\n"] {
        let text = format!("{chunked}{garbage}");
        let server = Server::new(move |_| Said::Last(text.clone())).await;
        let courier = direct(&server.url);
        let why = exchange(&courier, &server.url).await.unwrap_err();
        assert!(why.starts_with("broke off its answer"), "{garbage}: {why}");
        assert_eq!(courier.pool.count(), 0);
    }
    let (why, _) = told(|| Said::Last("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort".to_owned())).await;
    assert!(why.starts_with("broke off its answer"), "{why}");
}

#[tokio::test]
async fn an_answer_that_nobody_asked_for_ends_the_connection() {
    let twice = answer("200 OK", "", "one") + &answer("200 OK", "", "two");
    let server = Server::new(move |_| Said::Answer(twice.clone())).await;
    let courier = direct(&server.url);
    for connection in 1..=3 {
        assert_eq!(exchange(&courier, &server.url).await.unwrap(), "one");
        assert_eq!(server.came().last().unwrap().connection, connection);
    }
}

#[tokio::test]
async fn nothing_is_sent_anywhere_else() {
    let server = Server::saying("200 OK", "", "x").await;
    let other = Server::saying("200 OK", "", "x").await;
    let https = server.url.replace("http:", "https:");
    let named = server.url.replace("http://", "http://ada:pw@");
    let couriers: [Arc<dyn Courier>; 2] = [Arc::new(direct(&server.url)), open(&named).await.unwrap()];
    for courier in couriers {
        for url in [other.url.as_str(), &https, "http://localhost/", "file:///etc/passwd", "nonsense"] {
            let why = courier.send(sent(url)).await.err().unwrap();
            assert!(why.contains("another place"), "{url}: {why}");
        }
    }
    assert!(server.came().is_empty() && other.came().is_empty());
}

#[tokio::test]
async fn a_header_that_is_none_is_named_without_its_value() {
    let courier = direct("http://127.0.0.1:1/");
    for header in [("bad name", "hunter2"), ("x", "hunter2\r\nevil: 1"), ("x", "hunter2\0")] {
        let headers = &[header];
        let why = courier.send(Sent { headers, ..sent("http://127.0.0.1:1/") }).await.err().unwrap();
        assert!(why.contains(header.0) && !why.contains("hunter2"), "{why}");
    }
}

#[tokio::test]
async fn who_is_not_there_is_told() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    for url in [
        format!("http://{gone}/mcp"),
        format!("http://ada:hunter2@{gone}/mcp"),
        format!("https://{gone}/mcp"),
    ] {
        let courier = open(&url).await.unwrap();
        let why = courier.send(sent(&url)).await.err().unwrap();
        assert!(why.starts_with("could not be reached: ") && why.contains("refused"), "{why}");
        assert!(!why.contains("hunter2"), "{why}");
    }
}

#[tokio::test]
async fn who_speaks_no_tls_and_a_host_that_is_none_are_told_in_a_clause() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        // Until the other side has had enough.
        let _ = stream.read_to_end(&mut Vec::new()).await;
    });
    let why = open(&url).await.unwrap().send(sent(&url)).await.err().unwrap();
    assert_eq!(why, "could not be reached: what answers there does not speak TLS; is it `http://`?");
    let url = "http://no-such-host.invalid/mcp";
    let why = direct(url).send(sent(url)).await.err().unwrap();
    assert!(why.starts_with("could not be reached: its host was not found ("), "{why}");
    assert_eq!(why.matches(':').count(), 1, "{why}");
}

#[tokio::test]
async fn only_http_and_https_are_opened() {
    for bad in ["ftp://a/", "file:///etc/passwd", "unix:/run/x", "ws://a/", "a.example", "", "http://"] {
        let why = open(bad).await.err().unwrap();
        assert!(why.starts_with("has a `url` that"), "{bad}: {why}");
    }
    for good in [
        "http://a.example/mcp",
        "http://10.0.0.1",
        "http://[::1]:9/x",
        "https://localhost:1/",
        "http://ü.example/",
    ] {
        assert!(open(good).await.is_ok(), "{good}");
    }
}

#[test]
fn a_proxy_is_used_where_one_applies_and_never_for_this_machine() {
    let directly = |url: &str, matcher: &Matcher| goes_directly(&Url::parse(url).unwrap(), matcher);
    let none = Matcher::builder().build();
    let some = Matcher::builder().all("http://proxy.example:3128").no("intranet.example").build();
    for (url, without, with) in [
        ("http://a.example/mcp", true, false),
        ("http://intranet.example/mcp", true, true),
        ("http://localhost:1/mcp", true, true),
        ("http://127.0.0.1:1/mcp", true, true),
        ("http://[::1]:1/mcp", true, true),
        ("http://ada:pw@localhost:1/mcp", false, false),
        ("https://localhost:1/mcp", false, false),
        ("https://a.example/mcp", false, false),
    ] {
        assert_eq!((directly(url, &none), directly(url, &some)), (without, with), "{url}");
    }
}

#[tokio::test]
async fn a_user_in_the_url_is_told_to_the_server() {
    let server = Server::saying("200 OK", "", "x").await;
    let url = server.url.replace("http://", "http://ada:p%40ss@");
    let courier = open(&url).await.unwrap();
    for _ in 0..3 {
        assert_eq!(exchange(courier.as_ref(), &url).await.unwrap(), "x");
    }
    let came = server.came();
    assert!(came[0].head.contains("authorization: basic ywrhonbac3m="), "{}", came[0].head);
    assert_eq!(came[2].connection, 1, "connections are kept here too");
}

#[tokio::test]
async fn redirects_are_answers() {
    let elsewhere = Server::saying("200 OK", "", "x").await;
    let location = format!("location: {}\r\n", elsewhere.url);
    let server = Server::saying("307 Temporary Redirect", &location, "").await;
    let named = server.url.replace("http://", "http://ada:pw@");
    for url in [&server.url, &named] {
        let reply = open(url).await.unwrap().send(sent(url)).await.unwrap();
        assert_eq!((reply.status, reply.header("location")), (307, Some(elsewhere.url.as_str())));
    }
    assert!(elsewhere.came().is_empty());
}
