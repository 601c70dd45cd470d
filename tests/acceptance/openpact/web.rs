//! `web_fetch`: pages as Markdown, from the public Internet and from nowhere else unless a name is allowed.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use covenant_testkit::tls::Certificate;
use covenant_testkit::{Daemon, Home, StdioClient};
use serde_json::{Value, json};

use crate::home;

type Answer = dyn Fn(&str) -> String + Send + Sync;

/// A site on this machine.
struct Site {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Site {
    /// One that answers by the target of a request.
    fn new(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let (answer, seen): (Arc<Answer>, _) = (Arc::new(answer), Arc::clone(&heads));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (answer, seen) = (Arc::clone(&answer), Arc::clone(&seen));
                std::thread::spawn(move || serve(stream, &*answer, &seen));
            }
        });
        Self { port, heads }
    }

    fn url(&self, path: &str) -> String {
        format!("http://localhost:{}{path}", self.port)
    }

    /// The heads of the requests that came.
    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, answer: &Answer, seen: &Mutex<Vec<String>>) {
    let (mut head, mut block) = (Vec::new(), [0; 4096]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut block) {
            Ok(count @ 1..) => head.extend(&block[..count]),
            _ => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let target = head.split(' ').nth(1).unwrap_or_default().to_owned();
    seen.lock().unwrap().push(head);
    let _ = stream.write_all(answer(&target).as_bytes());
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n{body}", body.len())
}

fn html(body: &str) -> String {
    answer("200 OK", "content-type: text/html; charset=utf-8\r\n", body)
}

fn to(place: &str) -> String {
    answer("302 Found", &format!("location: {place}\r\n"), "")
}

/// A home that lets those names through.
fn allowing(names: &str) -> Home {
    let home = home();
    home.write("config.toml", &config(names));
    home
}

fn config(names: &str) -> String {
    format!("[rate_limit]\nrate = 0\n[web]\nallow_hosts = [{names}]\n")
}

fn client(home: &Home) -> StdioClient {
    home.run(&["capabilities", "grant", "tool.call.web_fetch"]).ok();
    let mut client = home.mcp();
    client.initialize();
    client
}

/// What is answered: the text, and whether it is an error.
fn fetch(client: &mut StdioClient, arguments: Value) -> (String, bool) {
    let answer = client.call("web_fetch", arguments);
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
    (text.to_owned(), result["isError"] == true)
}

fn fetched(client: &mut StdioClient, url: &str) -> String {
    let (text, failed) = fetch(client, json!({ "url": url }));
    assert!(!failed, "{url}: {text}");
    text
}

fn failure(client: &mut StdioClient, url: &str) -> String {
    let (text, failed) = fetch(client, json!({ "url": url }));
    assert!(failed, "{url}: {text}");
    text
}

/// PACT-37
#[test]
fn a_page_is_fetched_as_markdown() {
    let site = Site::new(|target| match target {
        "/page" => html(
            "<title>A page</title><nav><a href=/>Home</a></nav><main><h1>Hello</h1><p>See <a href=/more>more</a> \
             &amp; <b>that</b>.<ul><li>one<li>two</ul><pre><code class=language-sh>ls</code></pre></main>",
        ),
        "/old" => to("/page"),
        "/json" => answer("200 OK", "content-type: application/json\r\n", "{\"a\": 1}"),
        "/pdf" => answer("200 OK", "content-type: application/pdf\r\n", "%PDF-1.7"),
        "/gzip" => answer("200 OK", "content-type: text/html\r\ncontent-encoding: gzip\r\n", "x"),
        "/latin" => answer("200 OK", "content-type: text/plain; charset=windows-1252\r\n", "plain"),
        _ => answer("404 Not Found", "content-type: text/html\r\n", "<h1>Nothing here</h1>"),
    });
    let home = allowing("\"localhost\"");
    let _daemon = home.up();
    let mut client = client(&home);
    let page = format!(
        "Title: A page\nURL: {}\n\n# Hello\n\nSee [more]({}) & **that**.\n\n- one\n- two\n\n```sh\nls\n```",
        site.url("/page"),
        site.url("/more"),
    );
    assert_eq!(fetched(&mut client, &site.url("/page")), page);
    assert_eq!(fetched(&mut client, &site.url("/old")), page, "where it is in the end");
    let cut = fetch(&mut client, json!({"url": site.url("/page"), "max_length": 7}));
    let expected = format!("Title: A page\nURL: {}\n\n# Hello\n\n[Content truncated]", site.url("/page"));
    assert_eq!(cut, (expected, false));
    let (raw, _) = fetch(&mut client, json!({"url": site.url("/page"), "raw": true}));
    assert!(raw.contains("<nav><a href=/>Home</a></nav>"), "{raw}");
    assert_eq!(
        fetched(&mut client, &site.url("/json")),
        format!("URL: {}\n\n{{\"a\": 1}}", site.url("/json"))
    );
    assert_eq!(fetched(&mut client, &site.url("/latin")), format!("URL: {}\n\nplain", site.url("/latin")));
    for (path, told) in [
        ("/nothing", "Error: localhost answered 404 Not Found"),
        (
            "/pdf",
            "Error: localhost sent application/pdf, which is no text; HTML, plain text, JSON and XML can be read",
        ),
        ("/gzip", "Error: localhost sent its answer compressed although it was asked for it as it is"),
    ] {
        assert_eq!(failure(&mut client, &site.url(path)), told);
    }
    for (arguments, part) in [
        (json!({}), "url"),
        (json!({"url": 5}), "url"),
        (json!({"url": "x".repeat(5000)}), "url"),
        (json!({"url": site.url("/page"), "max_length": 0}), "max_length"),
        (json!({"url": site.url("/page"), "max_length": 1e9}), "max_length"),
        (json!({"url": site.url("/page"), "follow": true}), "follow"),
    ] {
        let refused = client.call("web_fetch", arguments.clone());
        assert_eq!(refused["error"]["code"], -32602, "{arguments}: {refused}");
        assert!(refused["error"]["message"].as_str().unwrap().contains(part), "{refused}");
    }
    let head = site.heads().remove(0);
    assert!(head.contains("user-agent: covenant/"), "{head}");
}

/// How an address inside is refused.
fn address(told: &str) -> String {
    format!(
        "{told}, and only the public Internet is reached; names can be let through by allow_hosts in [web] of config.toml, \
         addresses cannot"
    )
}

/// How a name that leads inside is refused.
fn name(host: &str, what: &str) -> String {
    format!(
        "{host} leads to {what}, and only the public Internet is reached; to let it through, add \"{host}\" to allow_hosts \
         in [web] of config.toml"
    )
}

#[test]
fn no_address_leads_inside_however_it_is_written_or_redirected_to() {
    let place = Arc::new(Mutex::new(String::new()));
    let next = Arc::clone(&place);
    let site = Site::new(move |_| to(&next.lock().unwrap()));
    let home = allowing("\"localhost\"");
    let _daemon = home.up();
    let mut client = client(&home);
    for (url, told) in [
        ("http://127.0.0.1/", address("127.0.0.1 is a loopback address")),
        ("http://127.1/", address("127.0.0.1 is a loopback address")),
        ("http://2130706433/", address("127.0.0.1 is a loopback address")),
        ("http://0x7f000001/", address("127.0.0.1 is a loopback address")),
        ("http://0177.0.0.1/", address("127.0.0.1 is a loopback address")),
        ("http://127.0.0.1./", address("127.0.0.1 is a loopback address")),
        ("http://0/", address("0.0.0.0 is an address of this network")),
        ("http://10.0.0.1/", address("10.0.0.1 is a private address")),
        ("http://192.168.0.1:8080/", address("192.168.0.1 is a private address")),
        ("http://172.31.0.1/", address("172.31.0.1 is a private address")),
        ("http://169.254.169.254/latest/meta-data/", address("169.254.169.254 is a link-local address")),
        ("http://0xa9fea9fe/", address("169.254.169.254 is a link-local address")),
        ("http://[::1]/", address("[::1] is a loopback address")),
        ("http://[::ffff:127.0.0.1]/", address("[::ffff:127.0.0.1] is a loopback address")),
        ("http://[::ffff:a9fe:a9fe]/", address("[::ffff:169.254.169.254] is a link-local address")),
        ("http://[fd00:ec2::254]/", address("[fd00:ec2::254] is a private address")),
        ("http://[fe80::1]/", address("[fe80::1] is a link-local address")),
        ("http://a.localhost/", name("a.localhost", "a loopback address")),
        (
            "http://u:p@localhost/",
            "the address of localhost holds a user name or a password; write it without".to_owned(),
        ),
        (
            "http://localhost@127.0.0.1/",
            "the address of 127.0.0.1 holds a user name or a password; write it without".to_owned(),
        ),
    ] {
        assert_eq!(failure(&mut client, url), format!("Error: {told}"), "{url}");
        url.clone_into(&mut place.lock().unwrap());
        let redirected = failure(&mut client, &site.url("/"));
        assert_eq!(
            redirected,
            format!("Error: localhost redirects elsewhere, and that was refused: {told}"),
            "{url}"
        );
    }
    for url in ["file:///etc/passwd", "ftp://localhost/", "data:,x"] {
        let told = "Error: `url` must begin with http:// or https://, such as \"https://example.org/\"";
        assert_eq!(failure(&mut client, url), told);
        url.clone_into(&mut place.lock().unwrap());
        let redirected = failure(&mut client, &site.url("/"));
        let told = "only addresses that begin with http:// or https:// can be asked for";
        assert_eq!(
            redirected,
            format!("Error: localhost redirects elsewhere, and that was refused: {told}"),
            "{url}"
        );
    }
}

#[test]
fn a_name_is_let_through_from_the_moment_it_is_allowed() {
    let site = Site::new(|_| html("<p>inside"));
    let home = allowing("");
    let _daemon = home.up();
    let mut client = client(&home);
    let refused = format!("Error: {}", name("localhost", "a loopback address"));
    assert_eq!(failure(&mut client, &site.url("/")), refused);
    home.write("config.toml", &config("\"localhost\""));
    home.run(&["reload"]).ok();
    assert_eq!(fetched(&mut client, &site.url("/")), format!("URL: {}\n\ninside", site.url("/")));
    home.write("config.toml", &config(""));
    home.run(&["reload"]).ok();
    assert_eq!(failure(&mut client, &site.url("/")), refused);
    assert_eq!(site.heads().len(), 1, "nobody came while it was not allowed");
}

#[test]
fn certificates_are_checked_against_the_systems_roots() {
    let certificate = Certificate::new();
    let server = certificate.serve(("127.0.0.1", 0), "encrypted").unwrap();
    let home = allowing("\"localhost\"");
    certificate.write(&home);
    let url = format!("https://localhost:{}/", server.port());
    let roots = home.path().join("cert.pem").display().to_string();
    let daemon = Daemon::within(&home, &[], &[("SSL_CERT_FILE", &roots)]);
    let mut trusting = client(&home);
    assert!(fetched(&mut trusting, &url).ends_with("\n\nencrypted"));
    drop(trusting);
    daemon.stop();
    let _daemon = home.up();
    let mut wary = client(&home);
    let told = failure(&mut wary, &url);
    assert!(told.starts_with("Error: localhost could not be reached: invalid peer certificate"), "{told}");
}

#[test]
fn the_systems_proxy_is_asked_and_what_is_inside_is_refused_before() {
    let proxy = Site::new(|target| html(&format!("<p>{target}")));
    let home = allowing("");
    let address = format!("http://127.0.0.1:{}", proxy.port);
    let _daemon = Daemon::within(&home, &[], &[("http_proxy", &address)]);
    let mut client = client(&home);
    let page = fetched(&mut client, "http://page.invalid/a");
    assert_eq!(page, "URL: http://page.invalid/a\n\nhttp://page.invalid/a");
    for url in ["http://10.0.0.1/", "http://localhost/", "http://printer.local/", "http://[::1]/"] {
        let told = failure(&mut client, url);
        assert!(told.contains("only the public Internet is reached"), "{url}: {told}");
    }
    assert_eq!(proxy.heads().len(), 1);
}
