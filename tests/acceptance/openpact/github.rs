//! The GitHub tools, against a local server that holds them to what GitHub documents, as github.com and as Enterprise.

use covenant_testkit::service::Answer;
use covenant_testkit::service::github::{GitHub, fault};
use covenant_testkit::{Home, Service};
use serde_json::{Value, json};

use super::talk::{Talk, configured};

const TOKEN: &str = "ghp_token0of0the0test0111111111111111";

fn github(prefix: &str, entries: u64) -> (Service, Home) {
    let service = Service::start(GitHub::new(TOKEN, prefix, entries));
    let config =
        format!("[github]\ntoken = \"${{secret:GITHUB_TOKEN}}\"\nbase_url = \"{}\"\n", service.url(prefix));
    (service, configured(&config, &[("GITHUB_TOKEN", TOKEN)]))
}

#[expect(clippy::needless_pass_by_value, reason = "reads better where it is called with `json!`")]
fn hello(more: Value) -> Value {
    let mut arguments = json!({"owner": "octo", "repo": "hello"});
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    arguments
}

fn numbers(answer: &Value) -> Vec<u64> {
    let issues =
        answer["result"]["structuredContent"]["issues"].as_array().unwrap_or_else(|| panic!("{answer}"));
    issues.iter().map(|issue| issue["number"].as_u64().unwrap()).collect()
}

/// PACT-35
#[test]
fn the_issues_of_a_repository_are_listed_page_by_page_without_pull_requests() {
    for prefix in ["", "/api/v3"] {
        let (service, home) = github(prefix, 250);
        let mut talk = Talk::begin(&home);
        let expected: Vec<u64> = (1..=250).rev().filter(|n| n % 3 != 0 && n % 5 != 0).collect();
        let (mut seen, mut page) = (Vec::new(), json!(1));
        while !page.is_null() {
            let answer = talk.call("github_list_issues", hello(json!({"page": page, "per_page": 50})));
            let found = numbers(&answer);
            page = answer["result"]["structuredContent"]["next_page"].clone();
            assert!(found.len() == 50 || page.is_null(), "{answer}");
            seen.extend(found);
        }
        assert_eq!(seen, expected);
        let paths: Vec<String> = service.heard().into_iter().map(|request| request.path).collect();
        assert_eq!(paths[0], format!("{prefix}/repos/octo/hello/issues"));
        assert!(paths.contains(&format!("{prefix}/repositories/1/issues")), "{paths:?}");
        let text =
            talk.done("github_list_issues", hello(json!({"labels": ["bug", "help wanted"], "per_page": 2})));
        assert_eq!(
            text,
            "2 open issues in octo/hello:\n#248: Title 248 [bug, help wanted] (open, 2026-01-02)\n  \
             https://github.com/octo/hello/issues/248\n#244: Title 244 [bug, help wanted] (open, 2026-01-02)\n  \
             https://github.com/octo/hello/issues/244\nThere are more: page 2"
        );
        let closed = talk.call("github_list_issues", hello(json!({"state": "closed", "per_page": 3})));
        assert_eq!(numbers(&closed), [250, 245, 235]);
        let old = talk.call("github_list_issues", json!({"owner": "octo", "repo": "old"}));
        assert_eq!(numbers(&old).len(), 30, "a repository that moved is found at its number");
        talk.ends_without(&[TOKEN]);
    }
}

/// PACT-36
#[test]
fn an_issue_is_created_and_stands_in_the_list() {
    let (service, home) = github("", 5);
    let mut talk = Talk::begin(&home);
    let draft = json!({"title": "It fails", "body": "Always.", "labels": ["bug", "secret-label"]});
    let text = talk.done("github_create_issue", hello(draft.clone()));
    assert_eq!(
        text,
        "Created issue #6: It fails\nhttps://github.com/octo/hello/issues/6\nGitHub left out the labels secret-label: the \
         token may not set them"
    );
    let [request] = service.heard().try_into().unwrap();
    assert_eq!(request.json(), draft);
    let bare = talk.call("github_create_issue", hello(json!({"title": "Another"})));
    assert_eq!(bare["result"]["structuredContent"]["number"], 7);
    assert_eq!(service.heard()[0].json(), json!({"title": "Another"}));
    let listed = talk.call("github_list_issues", hello(json!({})));
    assert_eq!(numbers(&listed), [7, 6, 4, 2, 1]);
    talk.ends_without(&[TOKEN]);
}

#[test]
fn whatever_github_answers_is_told_and_no_token_with_it() {
    let (service, home) = github("", 5);
    let mut talk = Talk::begin(&home);
    let unsure = "whether the issue was created is not known: look at octo/hello before it is created again";
    let unaccepted = "GitHub does not accept the token of [github] (Bad credentials): it is wrong, expired or revoked; get a new one and store it with `covenant secrets set NAME`, NAME being the secret that `token` in [github] takes";
    let (list, create) = ("github_list_issues", "github_create_issue");
    let cases: Vec<(&str, Answer, String)> = vec![
        (list, fault("unauthorized"), unaccepted.into()),
        (create, fault("unauthorized"), unaccepted.into()),
        (list, fault("secondary 45"), "GitHub wants fewer requests for now (secondary rate limit): try again in 45 seconds".into()),
        (create, fault("forbidden issues=write"), "the token of [github] may not do that in octo/hello (Resource not accessible by personal access token): it needs the permission `issues=write` (a classic token: the scope `repo`)".into()),
        (list, fault("sso https://github.com/orgs/octo/sso?authorization_request=hidden-request"), "the organization of octo/hello wants single sign-on (Resource protected by organization SAML enforcement.): authorize the token of [github] for it, in GitHub's settings of the token".into()),
        (list, fault("missing"), "GitHub knows no repository octo/hello, or the token of [github] may not see it (Not Found): check the name, or give the token access to it".into()),
        (create, fault("disabled"), "issues are turned off for octo/hello (Issues has been disabled in this repository.): turn them on in its settings".into()),
        (create, fault("invalid title"), "GitHub did not accept what was sent for octo/hello: Validation Failed: `title` missing_field".into()),
        (list, fault("broken"), "GitHub failed (HTTP 502): try again later".into()),
        (create, fault("broken"), format!("no sound answer from GitHub: it failed (HTTP 502); {unsure}")),
        (list, fault("html"), "127.0.0.1 did not answer as the API of GitHub does (HTTP 200, text/html): check the address in [github] (an Enterprise server has its API at https://HOST/api/v3)".into()),
        (create, fault("html"), format!("no sound answer from GitHub: 127.0.0.1 did not answer as the API of GitHub does (HTTP 200, text/html): check the address in [github] (an Enterprise server has its API at https://HOST/api/v3); {unsure}")),
        (list, fault("elsewhere http://127.0.0.2:1/issues?page=2"), "GitHub's list goes on at another address than 127.0.0.1, and the token is not sent there: write the base_url that it names in [github]".into()),
        (list, fault("moved http://127.0.0.2:1/issues"), "octo/hello has moved (HTTP 301): find its new name and use that".into()),
        (list, Answer::json(451, json!({"message": format!("blocked: {TOKEN}")})), "GitHub refused (HTTP 451) for octo/hello: blocked: [REDACTED:GITHUB_TOKEN]".into()),
    ];
    for (tool, answer, sentence) in cases {
        service.will(answer);
        let more = if tool == create { json!({"title": "A bug"}) } else { json!({}) };
        assert_eq!(talk.fails(tool, hello(more)), sentence);
        assert_eq!(service.heard().len(), 1, "{sentence}");
    }
    service.will(fault("limited 4102444800"));
    let limited = talk.fails(list, hello(json!({})));
    assert!(
        limited.starts_with("the requests that GitHub allows this token are used up: try again in "),
        "{limited}"
    );
    assert!(limited.ends_with(" seconds, at 2100-01-01T00:00:00.000Z"), "{limited}");
    service.heard();
    service.will(Answer::hang_up());
    let said = talk.fails(create, hello(json!({"title": "A bug"})));
    assert!(said.starts_with("no sound answer from GitHub: 127.0.0.1") && said.ends_with(unsure), "{said}");
    assert_eq!(service.heard().len(), 1, "it is not created twice");
    talk.ends_without(&[TOKEN, "hidden-request"]);
}

#[test]
fn hostile_arguments_of_the_github_tools_are_answered_one_by_one() {
    let (service, home) = github("", 5);
    let mut talk = Talk::begin(&home);
    let name = "does not match";
    for (owner, repo, place) in [
        ("..", "hello", "/owner"),
        ("octo/x", "hello", "/owner"),
        ("", "hello", "/owner"),
        ("octo", "..", "/repo"),
        ("octo", ".", "/repo"),
        ("octo", "hello/issues/1", "/repo"),
        ("octo", "hello?state=all", "/repo"),
        ("octo", "hello#", "/repo"),
        ("octo", "hello%2f..", "/repo"),
        ("octo", "hello\n", "/repo"),
        ("octo", "h\u{0}", "/repo"),
        ("octo", "h\u{e9}llo", "/repo"),
    ] {
        for tool in ["github_list_issues", "github_create_issue"] {
            let mut arguments = json!({"owner": owner, "repo": repo});
            if tool == "github_create_issue" {
                arguments["title"] = json!("t");
            }
            let said = talk.refused(tool, arguments);
            assert!(said.starts_with(&format!("invalid arguments for `{tool}`: `{place}`: ")), "{said}");
            assert!(said.contains(name), "{said}");
        }
    }
    for (more, reason) in [
        (json!({"state": "merged"}), "`/state`: "),
        (json!({"page": 0}), "`/page`: value is less than the minimum of 1"),
        (json!({"page": 3001}), "`/page`: value is greater than the maximum of 3000"),
        (json!({"page": 1.5}), "`/page`: value is not of type \"integer\""),
        (json!({"per_page": 101}), "`/per_page`: value is greater than the maximum of 100"),
        (json!({"labels": "bug"}), "`/labels`: value is not of type \"array\""),
        (json!({"labels": ["a,b"]}), "`/labels/0`: value does not match"),
        (json!({"labels": [""]}), "`/labels/0`: value is shorter than 1 character"),
    ] {
        let said = talk.refused("github_list_issues", hello(more));
        assert!(said.starts_with(&format!("invalid arguments for `github_list_issues`: {reason}")), "{said}");
    }
    for (more, reason) in [
        (json!({}), "arguments: \"title\" is a required property"),
        (json!({"title": ""}), "`/title`: value is shorter than 1 character"),
        (json!({"title": "x".repeat(257)}), "`/title`: value is longer than 256 characters"),
        (json!({"title": "t", "body": "x".repeat(65_537)}), "`/body`: value is longer than 65536 characters"),
        (json!({"title": "t", "labels": vec!["x"; 101]}), "`/labels`: value has more than 100 items"),
    ] {
        let said = talk.refused("github_create_issue", hello(more));
        assert_eq!(said, format!("invalid arguments for `github_create_issue`: {reason}"));
    }
    let blank = talk.fails("github_create_issue", hello(json!({"title": " \n"})));
    assert_eq!(blank, "`title` is empty: write what the issue is about");
    assert!(service.heard().is_empty(), "nothing of this was sent");
    let old = talk.fails("github_create_issue", json!({"owner": "octo", "repo": "old", "title": "t"}));
    assert_eq!(old, "octo/old has moved (HTTP 307): find its new name and use that");
    talk.ends_without(&[TOKEN]);
}
