//! One of each service that a tool can reach, and every way it could answer with a secret in its words.

use std::collections::BTreeMap;

use covenant_testkit::Service;
use covenant_testkit::service::github::GitHub;
use covenant_testkit::service::ical::Calendars;
use covenant_testkit::service::{Answer, Protocol, Request, discord, matrix, slack, telegram, webhook};
use serde_json::{Value, json};

use super::forms::Known;

const GITHUB: &str = "ghp_token0of0the0leak0test01111111111";
const SLACK: &str = "xoxb-2222-slack-token-of-the-leak-test";
const DISCORD: &str = "MTA-discord-token-of-the-leak-test";
const TELEGRAM: &str = "123456:AA-telegram-token-of-the-leak-test";
const MATRIX: &str = "syt_matrix_token_of_the_leak_test";
const HOOK: &str = "hook-token-of-the-leak-test";
const CALENDAR: &str = "private-calendar-of-the-leak-test";

/// A site that says its own address.
struct Site;

impl Protocol for Site {
    fn answer(&mut self, request: &Request) -> Answer {
        Answer::html(200, &format!("<title>{}</title><p>{}", request.path, request.whole()))
    }
}

/// All of them.
pub(super) struct Services {
    github: Service,
    calendar: Service,
    site: Service,
    chats: Vec<(&'static str, &'static str, Service)>,
}

impl Services {
    pub(super) fn start() -> Self {
        let hook = webhook::Webhook { address: "/hook".to_owned(), token: Some(HOOK.to_owned()) };
        let chats = vec![
            ("slack", "C1", Service::start(slack::Slack { token: SLACK.to_owned() })),
            ("discord", "42", Service::start(discord::Discord { token: DISCORD.to_owned() })),
            ("telegram", "42", Service::start(telegram::Telegram { token: TELEGRAM.to_owned() })),
            ("matrix", matrix::ROOM, Service::start(matrix::Matrix::new(MATRIX))),
            ("webhook", "ops", Service::start(hook)),
        ];
        Self {
            github: Service::start(GitHub::new(GITHUB, "", 5)),
            calendar: Service::start(Calendars { published: BTreeMap::new() }),
            site: Service::start(Site),
            chats,
        }
    }

    /// What they know us by.
    pub(super) fn secrets() -> Vec<Known> {
        let all = [
            ("GITHUB", GITHUB),
            ("SLACK", SLACK),
            ("DISCORD", DISCORD),
            ("TELEGRAM", TELEGRAM),
            ("MATRIX", MATRIX),
            ("WEBHOOK", HOOK),
            ("CALENDAR", CALENDAR),
        ];
        all.map(|(name, value)| Known { name: name.to_owned(), value: value.to_owned() }).to_vec()
    }

    /// The sections of the configuration that name them.
    pub(super) fn config(&self) -> String {
        let chat = |(name, _, service): &(&str, &str, Service)| {
            let (key, path) = match *name {
                "webhook" => ("url", "/hook"),
                "slack" => ("base_url", "/api"),
                _ => ("base_url", ""),
            };
            let secret = name.to_uppercase();
            format!(
                "[chat.{name}]\nprovider = \"{name}\"\ntoken = \"${{secret:{secret}}}\"\n{key} = \"{}\"\n",
                service.url(path)
            )
        };
        let chats: String = self.chats.iter().map(chat).collect();
        format!(
            "[[calendars]]\nname = \"Team\"\nurl = \"{}\"\n[github]\ntoken = \"${{secret:GITHUB}}\"\nbase_url = \"{}\"\n{chats}",
            self.calendar.url("/${secret:CALENDAR}.ics"),
            self.github.url("")
        )
    }

    /// The port of the site.
    pub(super) fn port(&self) -> String {
        self.site.url("").rsplit(':').next().unwrap().to_owned()
    }

    /// The address of a page of the site, by a name that is allowed.
    pub(super) fn page(&self, path: &str) -> String {
        self.site.url(path).replace("127.0.0.1", "localhost")
    }

    /// The site answers the next request with that.
    pub(super) fn site_will(&self, answer: Answer) {
        self.site.will(answer);
    }

    /// Every call that asks a service, and the service.
    pub(super) fn calls(&self) -> Vec<(&'static str, Value, &Service)> {
        let mut calls: Vec<(&str, Value, &Service)> = self
            .chats
            .iter()
            .map(|(name, target, service)| {
                ("chat_send", json!({"provider": name, "target": target, "message": "hi"}), service)
            })
            .collect();
        let repository = json!({"owner": "octo", "repo": "hello"});
        let draft = json!({"owner": "octo", "repo": "hello", "title": "It fails", "labels": ["bug"]});
        calls.push(("github_list_issues", repository, &self.github));
        calls.push(("github_create_issue", draft, &self.github));
        calls.push(("calendar_read", json!({"calendar": "Team"}), &self.calendar));
        calls.push(("web_fetch", json!({"url": self.page("/")}), &self.site));
        calls.push(("web_fetch", json!({"url": self.page("/"), "raw": true}), &self.site));
        calls
    }
}

/// Every way to answer with that in the words, the headers and the address to go to.
pub(super) fn answers(form: &str) -> Vec<Answer> {
    let words = json!({
        "ok": false, "error": form, "errcode": form, "description": form, "message": form, "code": 50013,
        "error_code": 400, "parameters": {form: form}, "documentation_url": form,
        "errors": [{"resource": form, "field": form, "code": form, "message": form}],
    });
    let issue = json!({
        "number": 1, "title": form, "html_url": form, "state": form, "labels": [{"name": form}], "created_at": form,
        "user": {"login": form},
    });
    let mut answers: Vec<Answer> =
        [200, 400, 401, 403, 404, 422, 500].map(|status| Answer::json(status, words.clone())).to_vec();
    answers.extend([
        Answer::json(201, issue.clone()),
        Answer::json(200, json!([issue])),
        Answer::json(429, words.clone()).with("Retry-After", form),
        Answer::json(403, words).with("X-GitHub-SSO", &format!("required; url={form}")),
        Answer::html(
            200,
            &format!("<title>{form}</title><h1>{form}</h1><p>{form} <a href=\"/{form}\">x</a>"),
        ),
        Answer::html(404, form),
        Answer::html(503, form),
        Answer::text(200, &format!("text/{form}"), form),
        Answer::text(200, "text/plain", form),
        Answer::empty(302).with("Location", form),
        Answer::empty(302).with("Location", &format!("http://elsewhere.invalid/{form}")),
        Answer::empty(301).with("Location", &format!("http://{form}.invalid/")),
    ]);
    answers
}
