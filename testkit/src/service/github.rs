//! GitHub's issues, of the repository `octo/hello`: entries that are pull requests where their number divides by three,
//! pages with links, and what is created.

use serde_json::{Value, json};

use super::{Answer, Protocol, Request};

/// GitHub, or an Enterprise server, for one token.
pub struct GitHub {
    token: String,
    /// What its paths begin with: nothing, or `/api/v3`.
    prefix: String,
    entries: Vec<Value>,
}

/// What it answers where something is wrong.
pub fn fault(word: &str) -> Answer {
    let said = |status: u16, message: &str| {
        Answer::json(status, json!({"message": message, "documentation_url": "https://docs.github.com/rest"}))
    };
    match word.split_once(' ').unwrap_or((word, "")) {
        ("unauthorized", _) => said(401, "Bad credentials"),
        ("limited", reset) => said(403, "API rate limit exceeded for user ID 1.")
            .with("X-RateLimit-Remaining", "0")
            .with("X-RateLimit-Reset", reset),
        ("secondary", seconds) => {
            said(403, "You have exceeded a secondary rate limit.").with("Retry-After", seconds)
        }
        ("forbidden", permissions) => said(403, "Resource not accessible by personal access token")
            .with("X-Accepted-GitHub-Permissions", permissions)
            .with("X-RateLimit-Remaining", "4999"),
        ("sso", url) => said(403, "Resource protected by organization SAML enforcement.")
            .with("X-GitHub-SSO", &format!("required; url={url}")),
        ("missing", _) => said(404, "Not Found"),
        ("disabled", _) => said(410, "Issues has been disabled in this repository."),
        ("invalid", field) => Answer::json(
            422,
            json!({"message": "Validation Failed",
                "errors": [{"resource": "Issue", "field": field, "code": "missing_field"}]}),
        ),
        ("moved", address) => said(301, "Moved Permanently").with("Location", address),
        ("elsewhere", address) => {
            Answer::json(200, json!([])).with("Link", &format!("<{address}>; rel=\"next\""))
        }
        ("html", _) => Answer::html(200, "<html>a page</html>"),
        ("broken", _) => Answer::html(502, "<html>Unicorn</html>"),
        (other, _) => said(400, other),
    }
}

impl GitHub {
    /// One with that many entries, the newest first.
    pub fn new(token: &str, prefix: &str, entries: u64) -> Self {
        let one = |number: u64| {
            let labels = if number.is_multiple_of(2) {
                json!([{"name": "bug"}, {"name": "help wanted"}])
            } else {
                json!([])
            };
            let state = if number.is_multiple_of(5) { "closed" } else { "open" };
            let mut entry = entry(number, &format!("Title {number}"), &labels, state);
            if number.is_multiple_of(3) {
                merge(&mut entry, "pull_request", json!({"url": "https://api.github.com/"}));
            }
            entry
        };
        let entries = (1..=entries).rev().map(one).collect();
        Self { token: token.to_owned(), prefix: prefix.to_owned(), entries }
    }

    fn list(&self, request: &Request) -> Answer {
        let number =
            |name: &str, usual: usize| request.asked(name).and_then(|n| n.parse().ok()).unwrap_or(usual);
        let (page, size) = (number("page", 1), number("per_page", 30).min(100));
        let state = request.asked("state").unwrap_or_else(|| "open".to_owned());
        let labels = request.asked("labels").unwrap_or_default();
        let labels: Vec<&str> = labels.split(',').filter(|label| !label.is_empty()).collect();
        let wanted = |entry: &&Value| {
            let has = |label: &&str| {
                let there = entry.get("labels").and_then(Value::as_array).into_iter().flatten();
                there.filter_map(|there| there.get("name")).any(|name| name == *label)
            };
            (state == "all" || entry.get("state") == Some(&json!(state))) && labels.iter().all(has)
        };
        let all: Vec<&Value> = self.entries.iter().filter(wanted).collect();
        let (from, last) = ((page - 1) * size, all.len().div_ceil(size).max(1));
        let shown: Vec<&Value> = all.iter().skip(from).take(size).copied().collect();
        let rest: Vec<&str> = request.query.split('&').filter(|pair| !pair.starts_with("page=")).collect();
        let rest = rest.join("&");
        let host = request.header("host");
        // The next page lies at the repository's number, as at the real one.
        let link = |page: usize, rel: &str| {
            format!("<http://{host}{}/repositories/1/issues?{rest}&page={page}>; rel=\"{rel}\"", self.prefix)
        };
        let answer = Answer::json(200, json!(shown));
        if page < last {
            return answer.with("Link", &format!("{}, {}", link(page + 1, "next"), link(last, "last")));
        }
        answer
    }

    fn create(&mut self, request: &Request) -> Answer {
        if !request.says_json() {
            return fault("Problems parsing JSON");
        }
        let title = request.text("title");
        if title.is_empty() {
            return fault("invalid title");
        }
        let number = self.entries.len() as u64 + 1;
        let labels = request.json().get("labels").and_then(Value::as_array).cloned().unwrap_or_default();
        // Whoever may not push sets no labels, and is not told.
        let kept = labels.into_iter().filter(|label| label != "secret-label");
        let labels: Vec<Value> = kept.map(|name| json!({ "name": name })).collect();
        let made = entry(number, &title, &json!(labels), "open");
        self.entries.insert(0, made.clone());
        Answer::json(201, made)
    }
}

fn entry(number: u64, title: &str, labels: &Value, state: &str) -> Value {
    json!({"number": number, "title": title, "state": state, "labels": labels,
        "html_url": format!("https://github.com/octo/hello/issues/{number}"),
        "created_at": "2026-01-02T03:04:05Z", "body": "A text that no list needs."})
}

fn merge(entry: &mut Value, member: &str, value: Value) {
    if let Some(entry) = entry.as_object_mut() {
        entry.insert(member.to_owned(), value);
    }
}

impl Protocol for GitHub {
    fn answer(&mut self, request: &Request) -> Answer {
        if request.header("user-agent").is_empty() {
            return fault("Request forbidden by administrative rules: no User-Agent");
        }
        if request.header("authorization") != format!("Bearer {}", self.token) {
            return fault("unauthorized");
        }
        if request.header("accept") != "application/vnd.github+json"
            || request.header("x-github-api-version") != "2022-11-28"
        {
            return fault("that version is not supported");
        }
        let Some(path) = request.path.strip_prefix(&self.prefix) else { return Answer::html(404, "<html>") };
        match (request.method.as_str(), path) {
            ("GET", "/repos/octo/hello/issues" | "/repositories/1/issues") => self.list(request),
            ("GET", "/repos/octo/old/issues") => {
                fault(&format!("moved {}/repositories/1/issues", self.prefix))
            }
            ("POST", "/repos/octo/hello/issues") => self.create(request),
            ("POST", "/repos/octo/old/issues") => Answer::json(307, json!({"message": "Temporary Redirect"}))
                .with("Location", "/repositories/1/issues"),
            (_, "/repos/octo/quiet/issues") => fault("disabled"),
            _ => fault("missing"),
        }
    }
}
