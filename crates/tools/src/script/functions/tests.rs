//! Each function with every sort of argument: what is sent, what is answered, and what is said instead.

use std::sync::{Arc, Mutex};

use covenant_gate::clock::HandClock;
use covenant_model::secret::Secret;
use covenant_model::time::Timestamp;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::ports::{Later, Response};

/// Keeps what was to be sent, and answers always the same.
#[derive(Default)]
struct Sent(Mutex<Vec<Request>>);

impl Web for Sent {
    fn send(&self, request: Request) -> Later<'_, Result<Response, String>> {
        let response = Response {
            url: request.url.clone(),
            status: 201,
            headers: HeaderMap::from_iter([(http::header::ETAG, HeaderValue::from_static("one"))]),
            body: Bytes::from_static(b"made"),
            cut: request.url.path() == "/long",
        };
        self.0.lock().unwrap().push(request);
        Box::pin(async { Ok(response) })
    }
}

/// Calls one with these; the requests that were sent by it.
fn call(function: &str, positional: Value, named: Value) -> (Result<Value, String>, Vec<Request>) {
    let web = Sent::default();
    let secrets: Secrets = Arc::new(|name| (name == "KEY").then(|| Secret::new("value".to_owned())));
    let functions = Functions {
        web: &web,
        clock: &HandClock::at(Timestamp::from_millis(0)),
        secrets: &secrets,
        named: &["KEY".to_owned(), "UNSET".to_owned()],
        context: &Context::new(CancellationToken::new()),
    };
    let (Value::Array(positional), Value::Object(named)) = (positional, named) else {
        panic!("a list and a dict")
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let called = runtime.block_on(functions.call(function, positional, named));
    (called, web.0.into_inner().unwrap())
}

#[test]
fn a_request_says_what_it_was_told_and_goes_to_the_public_alone() {
    let (answer, sent) = call("http.get", json!(["https://a.test/x"]), json!({"headers": {"X-Key": "v"}}));
    assert_eq!(answer.unwrap(), json!({"status": 201, "body": "made", "headers": {"etag": "one"}}));
    let [request] = sent.as_slice() else { panic!("{sent:?}") };
    assert_eq!((request.reach, request.redirects, &request.method), (Reach::Public, 5, &Method::GET));
    assert!(request.headers["x-key"] == "v" && request.headers["x-key"].is_sensitive());
    let (_, sent) = call("http.post", json!(["https://a.test/x", "{}"]), json!({}));
    assert_eq!((&sent[0].method, sent[0].redirects, &sent[0].body[..]), (&Method::POST, 0, &b"{}"[..]));
    assert_eq!(sent[0].headers["content-type"], "application/json");
    let (_, sent) =
        call("http.post", json!(["https://a.test/x"]), json!({"content_type": "text/plain", "body": "a"}));
    assert_eq!(sent[0].headers["content-type"], "text/plain");
}

#[test]
fn what_makes_no_sense_is_said_and_not_sent() {
    for (function, positional, named, reason) in [
        ("http.get", json!([]), json!({}), "http.get: `url` is missing"),
        ("http.get", json!([1]), json!({}), "http.get: `url` must be a string"),
        (
            "http.get",
            json!(["nowhere"]),
            json!({}),
            "http.get: `url` is not a URL: write http:// or https:// and a host",
        ),
        ("http.get", json!(["https://a.test", {}, 3]), json!({}), "http.get: there are too many arguments"),
        ("http.get", json!(["https://a.test"]), json!({"body": ""}), "http.get: there is no argument `body`"),
        ("http.get", json!(["https://a.test"]), json!({"headers": []}), "http.get: `headers` must be a dict"),
        (
            "http.get",
            json!(["https://a.test"]),
            json!({"headers": {"a\nb": ""}}),
            "http.get: the header `a\\nb` cannot be sent",
        ),
        (
            "http.get",
            json!(["https://a.test"]),
            json!({"headers": {"a": "b\r\nc: d"}}),
            "http.get: the header `a` cannot be sent",
        ),
        (
            "http.post",
            json!(["https://a.test"]),
            json!({"content_type": "a\nb"}),
            "http.post: `content_type` cannot be sent",
        ),
        (
            "secrets.get",
            json!(["OTHER"]),
            json!({}),
            "secrets.get: OTHER is not named at the top of the script: write `# @secrets: OTHER` there",
        ),
        (
            "http.get",
            json!(["https://a.test"]),
            json!({"headers": {"a": null}}),
            "http.get: the header `a` must be a string",
        ),
        ("secrets.has", json!([1]), json!({}), "secrets.has: `name` must be a string"),
        ("secrets.list", json!(["KEY"]), json!({}), "secrets.list: there are too many arguments"),
        ("time.now", json!(["utc"]), json!({}), "time.now: there are too many arguments"),
        ("time.sleep", json!(["1"]), json!({}), "time.sleep: `seconds` must be a number"),
        ("time.sleep", json!([-1]), json!({}), "time.sleep: `seconds` must not be negative"),
        ("tools.call", json!(["echo", []]), json!({}), "tools.call: `arguments` must be a dict"),
        ("os.system", json!(["true"]), json!({}), "os.system: there is no such function"),
    ] {
        let (answer, sent) = call(function, positional, named);
        assert_eq!((answer, sent.len()), (Err(reason.to_owned()), 0));
    }
    let (long, cut) = ("x".repeat(65), "x".repeat(64));
    let (answer, _) = call("secrets.get", json!([long]), json!({}));
    let told =
        format!("secrets.get: {cut} is not named at the top of the script: write `# @secrets: {cut}` there");
    assert_eq!(answer, Err(told));
    let (answer, _) = call("http.get", json!(["https://a.test", {&*long: 1}]), json!({}));
    assert_eq!(answer, Err(format!("http.get: the header `{cut}` must be a string")));
    let (answer, _) = call("http.get", json!(["https://a.test/long"]), json!({}));
    assert_eq!(answer, Err("http.get: the answer has more than 10 MiB".to_owned()));
}

#[test]
fn the_time_and_the_named_secrets_are_there() {
    for (function, positional, value) in [
        ("time.now", json!([]), json!("1970-01-01T00:00:00.000Z")),
        ("time.sleep", json!([0]), Value::Null),
        ("secrets.get", json!(["KEY"]), json!("value")),
        ("secrets.get", json!(["UNSET"]), Value::Null),
        ("secrets.has", json!(["KEY"]), json!(true)),
        ("secrets.has", json!(["UNSET"]), json!(false)),
        ("secrets.list", json!([]), json!(["KEY"])),
    ] {
        assert_eq!(call(function, positional, json!({})).0, Ok(value), "{function}");
    }
}

#[test]
fn every_function_is_answered() {
    for function in FUNCTIONS {
        let (answer, _) = call(function, json!([]), json!({"nobody": 1}));
        assert!(answer.is_err_and(|reason| !reason.contains("no such function")), "{function}");
    }
}
