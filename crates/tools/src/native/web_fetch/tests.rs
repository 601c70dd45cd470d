//! What is asked for, and what is told of each answer.

use std::sync::Mutex;

use bytes::Bytes;
use covenant_model::redact::Redactor;
use http::{HeaderMap, Method};

use super::*;
use crate::ports::Later;

/// A server that answers one thing, and remembers what it was asked.
struct Says {
    answer: Result<Response, String>,
    asked: Mutex<Vec<Request>>,
}

impl Web for Says {
    fn send(&self, request: Request) -> Later<'_, Result<Response, String>> {
        self.asked.lock().unwrap().push(request);
        Box::pin(std::future::ready(self.answer.clone()))
    }
}

fn says(status: u16, content_type: &str, body: impl Into<Bytes>) -> Says {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, content_type.parse().unwrap());
    let url = Url::parse("https://example.org/final").unwrap();
    let answer = Response { url, status, headers, body: body.into(), cut: false };
    Says { answer: Ok(answer), asked: Mutex::default() }
}

const SECRET: &str = "correct-horse-battery-staple";

fn veil() -> Veil {
    Veil::of([Arc::new(Redactor::new([("KEY", SECRET)]))])
}

async fn ask(web: &Says, arguments: Value) -> Result<String, String> {
    let Value::Object(arguments): Value = arguments else { panic!("arguments are an object") };
    fetch(web, &arguments, veil(), CancellationToken::new()).await
}

async fn page(web: &Says) -> Result<String, String> {
    ask(web, json!({"url": "https://example.org/"})).await
}

#[tokio::test]
async fn a_page_comes_below_its_title_and_where_it_is_from() {
    let web = says(200, "text/html", "<title>A &amp; B</title><h1>Hello</h1><p>World");
    let told = page(&web).await.unwrap();
    assert_eq!(told, "Title: A & B\nURL: https://example.org/final\n\n# Hello\n\nWorld");
    let asked = web.asked.lock().unwrap().remove(0);
    assert_eq!((asked.method, asked.url.as_str()), (Method::GET, "https://example.org/"));
    assert_eq!((asked.reach, asked.redirects, asked.within), (Reach::Public, 5, Duration::from_secs(30)));
    assert_eq!(asked.most, page::MOST_BYTES);
}

#[tokio::test]
async fn a_text_is_cut_after_so_many_characters_and_says_so() {
    let web = says(200, "text/plain; charset=utf-8", "äöü€");
    for (most, text) in
        [(1, "ä\n\n[Content truncated]"), (3, "äöü\n\n[Content truncated]"), (4, "äöü€"), (1_000_000, "äöü€")]
    {
        let told = ask(&web, json!({"url": "https://example.org/", "max_length": most})).await.unwrap();
        assert_eq!(told, format!("URL: https://example.org/final\n\n{text}"));
    }
    let long = says(200, "text/html", format!("<p>{}", "word ".repeat(20_000)));
    let told = page(&long).await.unwrap();
    let (_, text) = told.split_once("\n\n").unwrap();
    assert_eq!(text.chars().count(), USUAL + "\n\n[Content truncated]".len());
}

#[tokio::test]
async fn what_was_not_read_to_its_end_says_so() {
    let mut web = says(200, "text/plain", "the beginning");
    if let Ok(answer) = &mut web.answer {
        answer.cut = true;
    }
    assert!(page(&web).await.unwrap().ends_with("the beginning\n\n[Content truncated]"));
}

#[tokio::test]
async fn the_source_is_shown_when_asked_for() {
    let web = says(200, "text/html", "<title>x</title><p>y");
    let told = ask(&web, json!({"url": "https://example.org/", "raw": true})).await.unwrap();
    assert_eq!(told, "URL: https://example.org/final\n\n<title>x</title><p>y");
}

#[tokio::test]
async fn every_failure_is_a_sentence() {
    for (web, told) in [
        (says(404, "text/html", "<h1>Not here</h1>"), "example.org answered 404 Not Found"),
        (says(500, "text/html", ""), "example.org answered 500 Internal Server Error"),
        (says(204, "text/html", ""), "example.org answered 204 No Content"),
        (says(302, "text/html", ""), "example.org answered 302 Found"),
        (says(799, "text/html", ""), "example.org answered 799"),
        (
            says(200, "application/pdf", "%PDF"),
            "example.org sent application/pdf, which is no text; HTML, plain text, JSON and XML can be read",
        ),
        (
            says(200, "image/png", "x"),
            "example.org sent image/png, which is no text; HTML, plain text, JSON and XML can be read",
        ),
        (Says { answer: Err("as it was told".to_owned()), asked: Mutex::default() }, "as it was told"),
    ] {
        assert_eq!(page(&web).await, Err(told.to_owned()));
    }
}

#[tokio::test]
async fn what_is_no_address_of_the_web_is_never_asked_for() {
    let scheme = "`url` must begin with http:// or https://, such as \"https://example.org/\"";
    for (url, told) in [
        ("", scheme),
        ("example.org", scheme),
        ("//example.org", scheme),
        ("/etc/passwd", scheme),
        ("ftp://example.org/", scheme),
        ("file:///etc/passwd", scheme),
        ("javascript:alert(1)", scheme),
        ("data:text/html,<p>x", scheme),
        ("gopher://example.org:70/", scheme),
        ("unix:/run/docker.sock", scheme),
        ("view-source:https://example.org", scheme),
        ("http://", "`url` is no address: empty host"),
        ("http://a b/", "`url` is no address: invalid international domain name"),
        ("http://[::1", "`url` is no address: invalid IPv6 address"),
        ("http://[fe80::1%25eth0]/", "`url` is no address: invalid IPv6 address"),
        ("http://1.2.3.4.5/", "`url` is no address: invalid IPv4 address"),
        ("http://256.0.0.1/", "`url` is no address: invalid IPv4 address"),
        ("http://example.org:99999/", "`url` is no address: invalid port number"),
        ("http://a\0b/", "`url` is no address: invalid international domain name"),
    ] {
        let web = says(200, "text/plain", "never");
        assert_eq!(ask(&web, json!({ "url": url })).await, Err(told.to_owned()), "{url:?}");
        assert!(web.asked.lock().unwrap().is_empty(), "{url:?}");
    }
}

#[tokio::test]
async fn json_and_a_page_without_text_are_told_as_they_are() {
    let json = says(200, "application/json", r#"{"a": "<b>"}"#);
    assert_eq!(page(&json).await.unwrap(), "URL: https://example.org/final\n\n{\"a\": \"<b>\"}");
    let empty = says(200, "text/html", "<title>App</title><div id=root></div><script src=app.js></script>");
    assert_eq!(
        page(&empty).await.unwrap(),
        "Title: App\nURL: https://example.org/final\nNote: The page has no text of its own: perhaps it is made by scripts, \
         which are not run here.\n\n"
    );
}

#[tokio::test]
async fn no_length_cuts_a_secret_apart() {
    for (content_type, raw) in [("text/html", false), ("text/html", true), ("text/plain", false)] {
        let web = says(200, content_type, format!("12345 {SECRET} 67890"));
        for most in 1..50 {
            let arguments = json!({"url": "https://example.org/", "max_length": most, "raw": raw});
            let told = ask(&web, arguments).await.unwrap();
            assert!(!told.contains("corr"), "{most}: {told}");
        }
    }
}

#[tokio::test]
async fn a_length_may_be_written_with_a_point() {
    let web = says(200, "text/plain", "abcdef");
    let told = ask(&web, json!({"url": "https://example.org/", "max_length": 2.0})).await.unwrap();
    assert!(told.ends_with("\n\nab\n\n[Content truncated]"), "{told}");
}
