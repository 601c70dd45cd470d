//! Lists and issues against a scripted web: what is sent, how pages are counted, and what names cannot do.

use std::sync::Arc;

use covenant_model::secret::Secret;
use url::Url;

use super::*;
use crate::native::tests::parts;
use crate::service::tests::{Script, answer};
use crate::settings::{self, Settings};

fn github(script: &Arc<Script>, base: &str) -> GitHub {
    let root = tempfile::tempdir().unwrap();
    let mut parts = parts(root.path());
    let token = Secret::new("ghp_token-of-the-test".to_owned());
    let github = Some(settings::GitHub {
        token,
        base_url: Url::parse(base).unwrap(),
        hidden: settings::Hidden::default(),
    });
    parts.settings = Arc::new(Settings { github, ..Settings::clone(&parts.settings) });
    parts.web = script.clone();
    GitHub::of(&parts).unwrap()
}

fn wanted(page: usize, per_page: usize) -> Wanted<'static> {
    Wanted { state: "open", labels: Vec::new(), page, per_page }
}

/// Entries of GitHub's list, of which the odd ones are pull requests.
fn entries(numbers: std::ops::Range<u64>) -> String {
    let one = |number: u64| {
        let mut entry = json!({"number": number, "title": "t", "html_url": "https://x", "state": "open"});
        if number % 2 == 1 {
            entry["pull_request"] = json!({});
        }
        entry
    };
    numbers.map(one).collect::<Value>().to_string()
}

const HELLO: Repository<'static> = Repository { owner: "octo", name: "hello" };

#[tokio::test]
async fn a_list_is_asked_for_as_github_documents_it() {
    for (base, path) in [
        ("https://api.github.com", "https://api.github.com"),
        ("https://git.example/api/v3/", "https://git.example/api/v3"),
    ] {
        let script = Script::new([answer(200, &[], "[]")]);
        let wanted = Wanted { state: "all", labels: vec!["help wanted", "a&b"], page: 1, per_page: 30 };
        let page = github(&script, base).issues(HELLO, &wanted).await.unwrap();
        assert!(page.issues.is_empty() && page.next().is_none() && !page.cut);
        let [request] = script.sent().try_into().unwrap();
        assert_eq!(
            request.url.as_str(),
            format!("{path}/repos/octo/hello/issues?state=all&per_page=100&labels=help+wanted%2Ca%26b")
        );
        assert_eq!(request.headers["accept"], "application/vnd.github+json");
        assert_eq!(request.headers["x-github-api-version"], "2022-11-28");
        assert_eq!(request.headers["authorization"], "Bearer ghp_token-of-the-test");
    }
}

#[tokio::test]
async fn a_page_is_filled_past_the_pull_requests() {
    let next = "link: <https://api.github.com/repositories/1/issues?page=2>; rel=\"next\"";
    let answers = || [answer(200, &[next], &entries(0..100)), answer(200, &[], &entries(100..150))];
    for (page, size, first, count, after) in [
        (1, 30, 0, 30, Some(2)),
        (2, 30, 60, 30, Some(3)),
        (3, 30, 120, 15, None),
        (1, 75, 0, 75, None),
        (9, 30, 0, 0, None),
    ] {
        let script = Script::new(answers());
        let got = github(&script, "https://api.github.com").issues(HELLO, &wanted(page, size)).await.unwrap();
        let numbers: Vec<u64> = got.issues.iter().map(|issue| issue.number).collect();
        let expected: Vec<u64> = (0..count).map(|n| first + 2 * n).collect();
        assert_eq!((numbers, got.next()), (expected, after), "page {page} of {size}");
    }
}

#[tokio::test]
async fn a_list_without_an_end_is_left_after_a_while() {
    let next = "link: <https://api.github.com/repos/octo/hello/issues?page=2>; rel=\"next\"";
    let script = Script::new((0..100).map(|_| answer(200, &[next], "[]")));
    let page = github(&script, "https://api.github.com").issues(HELLO, &wanted(1, 30)).await.unwrap();
    assert!(page.cut && page.issues.is_empty());
    assert_eq!(script.sent().len(), REQUESTS);
}

#[tokio::test]
async fn what_is_no_list_is_no_list() {
    for body in ["", "<html>", "{}", "null", r#"[{"number":"1"}]"#, r#"[{"number":1}]"#] {
        let script = Script::new([answer(200, &["content-type: text/html"], body)]);
        let said = github(&script, "https://git.example").issues(HELLO, &wanted(1, 30)).await.unwrap_err();
        assert_eq!(
            said,
            "git.example did not answer as the API of GitHub does (HTTP 200, text/html): check the address in [github] (an Enterprise server has its API at https://HOST/api/v3)"
        );
    }
}

#[tokio::test]
async fn an_issue_is_created_once() {
    let created = json!({"number": 8, "title": "A bug", "html_url": "https://github.com/octo/hello/issues/8",
        "labels": [{"name": "bug"}]});
    let script = Script::new([answer(201, &[], &created.to_string())]);
    let draft = Draft { title: "A bug", body: Some("It fails."), labels: vec!["bug"] };
    let issue = github(&script, "https://api.github.com").create(HELLO, &draft).await.unwrap();
    assert_eq!((issue.number, issue.url.as_str()), (8, "https://github.com/octo/hello/issues/8"));
    let [request] = script.sent().try_into().unwrap();
    assert_eq!(
        (request.method.as_str(), request.url.as_str()),
        ("POST", "https://api.github.com/repos/octo/hello/issues")
    );
    let content: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(content, json!({"title": "A bug", "body": "It fails.", "labels": ["bug"]}));
}

#[tokio::test]
async fn an_issue_that_may_be_there_is_not_created_again() {
    for first in [
        Err("api.github.com closed the connection".to_owned()),
        answer(201, &[], "{"),
        answer(200, &[], "<html>"),
        answer(500, &[], ""),
    ] {
        let script = Script::new([first]);
        let draft = Draft { title: "A bug", body: None, labels: Vec::new() };
        let said = github(&script, "https://api.github.com").create(HELLO, &draft).await.unwrap_err();
        assert!(
            said.ends_with(
                "; whether the issue was created is not known: look at octo/hello before it is created again"
            ),
            "{said}"
        );
        assert_eq!(script.sent().len(), 1);
    }
}

#[test]
fn names_lead_nowhere_else() {
    for (owner, name) in [("octo", "hello"), ("o", ".github"), ("a-b_c", "x.y-z_1"), ("o", "..a")] {
        assert!(Repository::of(owner, name).is_ok(), "{owner}/{name}");
    }
    for (owner, name) in [
        ("", "r"),
        ("o", ""),
        ("o", "."),
        ("o", ".."),
        ("..", "r"),
        ("o/x", "r"),
        ("o", "r/issues"),
        ("o", "r?x=1"),
        ("o", "r#x"),
        ("o", "r%2f"),
        ("o", "r\n"),
        ("o", "r x"),
        ("ö", "r"),
        ("o.x", "r"),
        ("o", "r\\x"),
    ] {
        let said = Repository::of(owner, name).unwrap_err();
        assert!(said.starts_with("`owner` and `repo` are names"), "{owner}/{name}");
    }
    let long = "x".repeat(101);
    assert!(Repository::of("o", &long).is_err() && Repository::of(&long, "r").is_err());
}

#[test]
fn without_a_token_it_says_what_to_write() {
    let root = tempfile::tempdir().unwrap();
    let mut parts = parts(root.path());
    parts.settings = Arc::new(Settings { github: None, ..Settings::clone(&parts.settings) });
    let said = GitHub::of(&parts).err().unwrap();
    assert!(said.starts_with("GitHub not configured: token required; write `token = "), "{said}");
}

#[tokio::test]
async fn an_issue_is_put_in_one_line_after_its_secrets_are_gone() {
    let secret = "a-short\tsecret\n2";
    let veil = Veil::of([Arc::new(covenant_model::redact::Redactor::new([("KEY", secret)]))]);
    let entry =
        json!({"number": 2, "title": secret, "html_url": "https://x", "labels": [{"name": secret}, secret]});
    let script =
        Script::new([answer(200, &[], &json!([entry]).to_string()), answer(201, &[], &entry.to_string())]);
    let github = github(&script, "https://api.github.com").veiled(veil);
    let page = github.issues(HELLO, &wanted(1, 30)).await.unwrap();
    let draft = Draft { title: "t", body: None, labels: Vec::new() };
    for issue in [&page.issues[0], &github.create(HELLO, &draft).await.unwrap()] {
        assert_eq!((issue.title.as_str(), issue.labels.len()), ("[REDACTED:KEY]", 2));
        assert!(issue.labels.iter().all(|label| label == "[REDACTED:KEY]"), "{issue:?}");
    }
}
