//! Where requests of tools get to and where they do not, over real sockets.

mod hostile;
mod server;

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use covenant_tools::ports::{Reach, Request, Response, Web as _};
use http::{HeaderValue, Method};
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::Url;

use self::server::{Server, ok, to};
use super::Errands;
use crate::egress::lookup::Resolver;

const HOME: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Errands without proxies, for which names lead where the table says.
fn errands(allowed: &'static [&'static str], names: &[(&str, &[IpAddr])]) -> Errands {
    let names: HashMap<String, Vec<IpAddr>> =
        names.iter().map(|(name, found)| ((*name).to_owned(), found.to_vec())).collect();
    let unknown = || io::Error::other("no such name");
    resolving(allowed, Arc::new(move |name| names.get(name).cloned().ok_or_else(unknown)))
}

fn resolving(allowed: &'static [&'static str], resolver: Resolver) -> Errands {
    let none = || Matcher::builder().build();
    Errands::with(Arc::new(|name| allowed.contains(&name)), resolver, Arc::new(none))
}

/// A GET as `web_fetch` sends it.
fn public(url: &str) -> Request {
    Request { reach: Reach::Public, redirects: 5, ..Request::get(Url::parse(url).unwrap()) }
}

async fn text(errands: &Errands, request: Request) -> String {
    match errands.send(request).await {
        Ok(Response { status, body, cut, .. }) => {
            let text = String::from_utf8_lossy(&body).into_owned();
            format!("{status} {text}{}", if cut { " CUT" } else { "" })
        }
        Err(told) => told,
    }
}

#[tokio::test]
async fn a_listed_name_is_reached_and_its_answer_comes_back() {
    let server = Server::saying(ok("hello")).await;
    let errands = errands(&["localhost"], &[]);
    let answer = errands.send(public(&format!("http://localhost:{}/a?b", server.port()))).await.unwrap();
    assert_eq!((answer.status, &answer.body[..], answer.cut), (200, &b"hello"[..], false));
    assert_eq!(answer.headers["content-type"], "text/plain");
    assert_eq!(answer.url.path(), "/a");
    let head = server.heads().remove(0);
    assert!(head.starts_with("get /a?b http/1.1\r\n"), "{head}");
    assert!(head.contains("accept-encoding: identity\r\n"), "{head}");
    assert!(head.contains(&format!("host: localhost:{}\r\n", server.port())), "{head}");
}

#[tokio::test]
async fn what_was_judged_is_what_is_connected_to() {
    let judged = Server::saying(ok("judged")).await;
    let other = (Ipv4Addr::new(127, 0, 0, 2), judged.port()).into();
    let other = Server::at(other, |_| ok("another")).await;
    let asked = Arc::new(AtomicUsize::new(0));
    let (count, first, then) = (Arc::clone(&asked), judged.ip(), other.ip());
    let resolver: Resolver =
        Arc::new(move |_| Ok(vec![if count.fetch_add(1, Ordering::SeqCst) == 0 { first } else { then }]));
    let errands = resolving(&["fickle.example"], resolver);
    let answer = text(&errands, public(&format!("http://fickle.example:{}/", judged.port()))).await;
    assert_eq!(answer, "200 judged");
    assert_eq!(asked.load(Ordering::SeqCst), 1, "one look-up, and no other whose answer could differ");
    assert!(other.heads().is_empty());
}

#[tokio::test]
async fn a_name_that_leads_inside_after_a_redirect_is_refused_there() {
    let server = Server::new(|_| to("http://fickle.example:1/again")).await;
    let asked = Arc::new(AtomicUsize::new(0));
    let judged = Arc::clone(&asked);
    // The first time it is as good as public, the second time it is not.
    let allows = Arc::new(move |_: &str| judged.fetch_add(1, Ordering::SeqCst) == 0);
    let found = server.ip();
    let errands =
        Errands::with(allows, Arc::new(move |_| Ok(vec![found])), Arc::new(|| Matcher::builder().build()));
    let answer = text(&errands, public(&format!("http://fickle.example:{}/", server.port()))).await;
    assert_eq!(
        answer,
        "fickle.example redirects elsewhere, and that was refused: fickle.example leads to a loopback address, and only the \
         public Internet is reached; to let it through, add \"fickle.example\" to allow_hosts in [web] of config.toml"
    );
    assert_eq!((asked.load(Ordering::SeqCst), server.heads().len()), (2, 1));
}

#[tokio::test]
async fn redirects_are_followed_as_often_as_was_said() {
    let server = Server::new(|head| match head.split(' ').nth(1) {
        Some("/0") => ok("there"),
        Some(path) => {
            let left: u32 = path.trim_start_matches('/').parse().unwrap();
            to(&format!("/{}", left - 1))
        }
        None => Vec::new(),
    });
    let server = server.await;
    let errands = errands(&["localhost"], &[]);
    let at = |path| public(&format!("http://localhost:{}/{path}", server.port()));
    assert_eq!(text(&errands, at(5)).await, "200 there");
    assert_eq!(text(&errands, at(6)).await, "localhost redirects more than 5 times");
    assert_eq!(text(&errands, Request { redirects: 0, ..at(1) }).await, "302 ");
    let post = Request { method: Method::POST, ..at(1) };
    assert_eq!(text(&errands, post).await, "302 ", "only GET and HEAD are repeated elsewhere");
}

#[tokio::test]
async fn what_could_be_a_credential_stays_with_its_origin() {
    let other = Server::saying(ok("other")).await;
    let port = other.port();
    let first = Server::new(move |head| {
        let there = format!("http://other.example:{port}/");
        if head.starts_with("get /same") { to(&there) } else { to("/same") }
    });
    let first = first.await;
    let names: &[(&str, &[IpAddr])] = &[("first.example", &[HOME]), ("other.example", &[HOME])];
    let errands = errands(&["first.example", "other.example"], names);
    let mut request = public(&format!("http://first.example:{}/", first.port()));
    for name in ["authorization", "cookie", "x-api-key", "accept", "host", "proxy-authorization"] {
        request.headers.insert(name, HeaderValue::from_static("hunter2"));
    }
    assert_eq!(text(&errands, request).await, "200 other");
    for head in first.heads() {
        for kept in ["authorization: hunter2\r\n", "cookie: hunter2", "x-api-key: hunter2", "accept: hunter2"]
        {
            assert!(head.contains(kept), "{kept}: {head}");
        }
        assert!(!head.contains("\r\nhost: hunter2") && !head.contains("proxy-authorization"), "{head}");
    }
    let head = other.heads().remove(0);
    assert_eq!(head.matches("hunter2").count(), 1, "{head}");
    assert!(head.contains("accept: hunter2"), "{head}");
}

#[tokio::test]
async fn what_is_configured_goes_anywhere_but_not_from_there_elsewhere() {
    let server = Server::new(|head| match head.split(' ').nth(1) {
        Some("/away") => to("http://127.0.0.2:1/"),
        Some("/near") => to("/ok"),
        _ => ok("here"),
    });
    let server = server.await;
    let errands = errands(&[], &[]);
    let at = |path: &str| Request {
        redirects: 5,
        ..Request::get(Url::parse(&format!("http://ada:pw@{}{path}", server.address)).unwrap())
    };
    assert_eq!(text(&errands, at("/near")).await, "200 here");
    for head in server.heads() {
        assert!(head.contains("authorization: basic yw"), "the user stays the user: {head}");
    }
    assert_eq!(text(&errands, at("/away")).await, "302 ");
}

#[tokio::test]
async fn an_answer_is_cut_where_it_was_said_and_no_more_is_read() {
    let endless = Server::saying([&b"HTTP/1.1 200 OK\r\n\r\n"[..], &[b'x'; 4000], b"HANG"].concat()).await;
    let errands = errands(&["localhost"], &[]);
    let request = public(&format!("http://localhost:{}/", endless.port()));
    let answer = errands.send(Request { most: 3000, ..request.clone() }).await.unwrap();
    assert_eq!((answer.body.len(), answer.cut), (3000, true));
    let whole = Server::saying(ok("12345")).await;
    for (most, told) in [(5, "200 12345"), (4, "200 1234 CUT"), (0, "200  CUT")] {
        let request = public(&format!("http://localhost:{}/", whole.port()));
        assert_eq!(text(&errands, Request { most, ..request }).await, told);
    }
}

#[tokio::test]
async fn failures_are_sentences_that_name_the_host_alone() {
    let hang = Server::saying("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nHANG").await;
    let short = Server::saying("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort").await;
    let zipped =
        Server::saying("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 1\r\n\r\nx").await;
    let nonsense = Server::saying("220 smtp.example ESMTP\r\n").await;
    let nowhere =
        Server::saying("HTTP/1.1 302 Found\r\nlocation: http://[/\r\ncontent-length: 0\r\n\r\n").await;
    let late: Resolver = Arc::new(|_| {
        std::thread::park_timeout(Duration::from_secs(20));
        Ok(Vec::new())
    });
    let errands = errands(&["localhost"], &[("empty.example", &[])]);
    let refused = std::net::TcpStream::connect("127.0.0.1:1").unwrap_err();
    let refused = format!("localhost could not be reached: {refused}");
    let at = |server: &Server| format!("http://localhost:{}/secret?secret", server.port());
    for (url, told) in [
        (at(&hang), "localhost did not answer within 1 seconds"),
        (at(&short), "localhost broke off its answer: end of file before message length reached"),
        (at(&zipped), "localhost sent its answer compressed although it was asked for it as it is"),
        (at(&nonsense), "localhost could not be reached: invalid HTTP version parsed"),
        (at(&nowhere), "localhost redirects to something that is no address"),
        ("http://localhost:1/secret".into(), &refused),
        (
            "http://unknown.example/secret".into(),
            "unknown.example could not be looked up: no such name; check how it is spelt, and this machine's name server",
        ),
        (
            "http://empty.example/secret".into(),
            "empty.example could not be looked up: it has no address; check how it is spelt, and this machine's name server",
        ),
    ] {
        let request = Request { within: Duration::from_secs(1), ..public(&url) };
        assert_eq!(text(&errands, request).await, told, "{url}");
    }
    let request = Request { within: Duration::from_millis(500), ..public("http://late.example/secret") };
    let told = text(&resolving(&[], late), request).await;
    assert_eq!(told, "late.example did not answer within 0.5 seconds");
}
