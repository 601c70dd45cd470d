//! What is let out and what is not, over real sockets and with real TLS.

mod limits;
mod world;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use covenant_model::token;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use self::world::{Echo, Proxy, listen, own_address, read, request, token};

const PRIVATE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

/// Whether an answer is of that status, says that, and has a sound form.
fn assert_refused(answer: &str, status: u16, part: &str) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
    assert!(head.starts_with(&format!("HTTP/1.1 {status} covenant: ")), "{answer}");
    assert!(body.contains(part) && body.starts_with("covenant: ") && body.ends_with('\n'), "{answer}");
    assert!(head.contains(&format!("content-length: {}\r\n", body.len())), "{answer}");
    assert!(head.contains("connection: close"), "{answer}");
}

#[tokio::test]
async fn a_listed_name_is_reached_by_tls_even_on_this_machine() {
    let Some(listener) = listen(Ipv4Addr::LOCALHOST).await else { return };
    let server = Echo::new(listener, "localhost");
    let proxy = Proxy::new(&["localhost"]).await;
    assert_eq!(server.by(&proxy, "localhost", "hello").await, "hello");
    let large = "x".repeat(1024 * 1024);
    assert_eq!(server.by(&proxy, "localhost", &large).await, large);
    let closed = Proxy::new(&["other.example"]).await;
    assert_refused(&closed.ask("localhost:443").await, 403, "localhost leads to a loopback address");
}

#[tokio::test]
async fn a_name_is_known_in_any_spelling_and_an_address_in_none() {
    let address = own_address();
    let Some(listener) = listen(address).await else { return };
    let server = Echo::new(listener, "git.corp.example");
    let names = [("git.corp.example", &[IpAddr::V4(address)][..]), ("alias.example", &[IpAddr::V4(address)])];
    let proxy = Proxy::knowing(&["git.corp.example"], &names).await;
    for name in ["git.corp.example", "GIT.Corp.Example", "git.corp.example."] {
        let stream = proxy.tunnel(&format!("{name}:443")).await;
        server.shake(stream, "git.corp.example").await;
    }
    assert_refused(&proxy.ask("alias.example:443").await, 403, "alias.example leads to a loopback address");
    let literal = proxy.ask(&format!("{address}:443")).await;
    assert_refused(&literal, 403, "is a loopback address");
    assert!(literal.contains("addresses cannot"), "{literal}");
}

#[tokio::test]
async fn everything_else_is_refused_with_a_sentence_and_the_next_one_is_served() {
    let address = own_address();
    let Some(listener) = listen(address).await else { return };
    let server = Echo::new(listener, "good.example");
    let mapped = Ipv4Addr::LOCALHOST.to_ipv6_mapped();
    let proxy = Proxy::knowing(
        &["good.example", "dead.example"],
        &[
            ("good.example", &[IpAddr::V4(address)]),
            ("dead.example", &[IpAddr::V4(own_address())]),
            ("home.example", &[IpAddr::V6(Ipv6Addr::LOCALHOST), IpAddr::V4(Ipv4Addr::LOCALHOST)]),
            ("mapped.example", &[IpAddr::V6(mapped)]),
            ("metadata.example", &["169.254.169.254".parse().unwrap()]),
            ("private.example", &[PRIVATE]),
            ("nowhere.example", &[]),
        ],
    )
    .await;
    for (target, status, part) in [
        ("127.0.0.1:443", 403, "127.0.0.1 is a loopback address"),
        ("[::1]:443", 403, "[::1] is a loopback address"),
        ("[::ffff:127.0.0.1]:443", 403, "is a loopback address"),
        ("[64:ff9b::7f00:1]:443", 403, "is a loopback address"),
        ("169.254.169.254:443", 403, "is a link-local address"),
        ("[fd00:ec2::254]:443", 403, "is a private address"),
        ("0.0.0.0:443", 403, "this network"),
        ("home.example:443", 403, "home.example leads to a loopback address"),
        ("mapped.example:443", 403, "leads to a loopback address"),
        ("metadata.example:443", 403, "leads to a link-local address"),
        ("private.example:443", 403, "allow_hosts in [web]"),
        (
            "good.example:80",
            403,
            "port 80 of good.example is not let out of this sandbox, only TLS on port 443",
        ),
        ("good.example:8443", 403, "port 8443"),
        ("127.0.0.1:22", 403, "port 22"),
        ("nowhere.example:443", 502, "it has no address"),
        ("unknown.example:443", 502, "could not be looked up: no such name"),
        ("dead.example:443", 502, "could not be reached on port 443: Connection refused"),
        ("good.example", 400, "such as example.org:443"),
        ("good.example:", 400, "a port"),
        ("good.example:https", 400, "a port"),
        ("good.example:65979", 400, "a port"),
        (":443", 400, "host name"),
        ("2130706433:443", 400, "usual form"),
        ("0x7f.1:443", 400, "usual form"),
        ("127.1:443", 400, "usual form"),
        ("0177.0.0.1:443", 400, "usual form"),
        ("::1:443", 400, "usual form"),
        ("[fe80::1%25lo]:443", 400, "usual form"),
        ("run@good.example:443", 400, "usual form"),
        ("https://good.example:443", 400, "usual form"),
    ] {
        assert_refused(&proxy.ask(target).await, status, part);
    }
    assert_eq!(server.by(&proxy, "good.example", "still here").await, "still here");
}

#[tokio::test]
async fn what_is_no_request_is_told_so_and_the_next_one_is_served() {
    let address = own_address();
    let Some(listener) = listen(address).await else { return };
    let server = Echo::new(listener, "good.example");
    let proxy = Proxy::knowing(&["good.example"], &[("good.example", &[IpAddr::V4(address)])]).await;
    let plain = proxy.answer("GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\n\r\n").await;
    assert_refused(&plain, 405, "plain HTTP is not let out of this sandbox");
    assert!(plain.contains("\r\nallow: CONNECT\r\n"), "{plain}");
    assert_refused(
        &proxy.answer("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc").await,
        405,
        "use https://",
    );
    for garbage in
        [&b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..], b"\0", b"\xff\xfe\r\n\r\n", b"HELO\r\n\r\n"]
    {
        assert_refused(&proxy.answer(garbage).await, 400, "no HTTP/1.1 request");
    }
    let huge = format!("CONNECT good.example:443 HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(1024 * 1024));
    let mut stream = proxy.connect().await;
    // It is not read to its end: who sends it may see the connection reset before it reads why.
    let _ = stream.write_all(huge.as_bytes()).await;
    let answer = read(&mut stream).await;
    assert!(!answer.contains(" 200 "), "{answer}");
    let large = format!("CONNECT good.example:443 HTTP/1.1\r\nX: {}", "x".repeat(9 * 1024));
    assert_refused(&proxy.answer(large).await, 431, "more than 8 KiB");
    let many = format!("CONNECT good.example:443 HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(65));
    assert_refused(&proxy.answer(many).await, 431, "64 headers");
    drop(proxy.connect().await);
    assert_eq!(server.by(&proxy, "good.example", "still here").await, "still here");
}

#[tokio::test]
async fn only_the_token_of_the_run_opens_it() {
    let address = own_address();
    let Some(listener) = listen(address).await else { return };
    let server = Echo::new(listener, "good.example");
    let proxy = Proxy::knowing(&["good.example"], &[("good.example", &[IpAddr::V4(address)])]).await;
    let shown = |header: &str| format!("CONNECT good.example:443 HTTP/1.1\r\n{header}\r\n");
    let other = token::from_random([8; 32]);
    for request in [
        shown(""),
        shown("Proxy-Authorization: Basic cnVuOg==\r\n"),
        shown("Proxy-Authorization: Bearer \r\n"),
        shown(&format!("Authorization: Bearer {}\r\n", token().reveal())),
        shown(&format!("Proxy-Authorization: Bearer {}x\r\n", token().reveal())),
        request("good.example:443", &other),
        request("127.0.0.1:443", &other),
    ] {
        let answer = proxy.answer(&request).await;
        assert_refused(&answer, 407, "HTTPS_PROXY as the environment has it");
        assert!(answer.contains("\r\nproxy-authenticate: Basic realm=\"covenant\"\r\n"), "{answer}");
        assert!(!answer.contains("cv_"), "{answer}");
    }
    let mut stream = proxy.connect().await;
    let bearer = shown(&format!("proxy-authorization: bearer {}\r\n", token().reveal()));
    stream.write_all(bearer.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    assert_eq!(server.by(&proxy, "good.example", "hello").await, "hello");
}

#[tokio::test]
async fn what_is_not_tls_reaches_nobody() {
    let address = own_address();
    let Some(listener) = listen(address).await else { return };
    let proxy = Proxy::knowing(&["good.example"], &[("good.example", &[IpAddr::V4(address)])]).await;
    for said in [
        &b"GET / HTTP/1.1\r\nHost: good.example\r\n\r\n"[..],
        b"SSH-2.0-x\r\n",
        b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x03\x03",
    ] {
        let mut stream = proxy.tunnel("good.example:443").await;
        let (mut server, _) = listener.accept().await.unwrap();
        stream.write_all(said).await.unwrap();
        assert_eq!(read(&mut stream).await, "", "the program is told nothing more");
        assert_eq!(read(&mut server).await, "", "and nothing has left");
    }
    let eager = [request("good.example:443", &token()).as_bytes(), b"GET / HTTP/1.1\r\n\r\n"].concat();
    assert!(proxy.answer(eager).await.starts_with("HTTP/1.1 200 "));
    let (mut server, _) = listener.accept().await.unwrap();
    assert_eq!(read(&mut server).await, "", "nor where it did not wait for the answer");
}

#[tokio::test]
async fn a_hello_that_comes_with_the_request_or_in_pieces_is_passed_on_whole() {
    let address = own_address();
    let Some(listener) = listen(address).await else { return };
    let proxy = Proxy::knowing(&["good.example"], &[("good.example", &[IpAddr::V4(address)])]).await;
    let hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03and the rest";
    let mut stream = proxy.connect().await;
    let eager = [request("good.example:443", &token()).as_bytes(), hello].concat();
    stream.write_all(&eager).await.unwrap();
    let (mut server, _) = listener.accept().await.unwrap();
    let mut told = vec![0; hello.len()];
    server.read_exact(&mut told).await.unwrap();
    assert_eq!(told, hello);
    let mut stream = proxy.tunnel("good.example:443").await;
    let (mut server, _) = listener.accept().await.unwrap();
    for byte in hello {
        stream.write_all(&[*byte]).await.unwrap();
    }
    server.read_exact(&mut told).await.unwrap();
    assert_eq!(told, hello);
    stream.shutdown().await.unwrap();
    assert_eq!(server.read(&mut told).await.unwrap(), 0, "the end of one way is passed on");
    server.write_all(b"goodbye").await.unwrap();
    drop(server);
    assert_eq!(read(&mut stream).await, "goodbye", "and the other goes on");
}
