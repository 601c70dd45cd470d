//! The person before a client: asked only where the client may approve, told of a page where it can be, and heard only about
//! what they were shown.

use std::sync::Arc;
use std::time::Duration;

use covenant_gate::config::Config;
use covenant_gate::inquiry::{Asking, Client, Inquiry, Kinds, Round};
use covenant_gate::{CallError, CallRequest, Context, Credential, Redacted, Refusal};
use covenant_model::api::NewClient;
use covenant_model::id::ApprovalId;
use covenant_model::redact::Redactor;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{Fixture, refusal};

pub(crate) const FORM: Kinds = Kinds { form: true, url: false, sampling: false, roots: false };
const URL: Kinds = Kinds { form: false, url: true, sampling: false, roots: false };
const BOTH: Kinds = Kinds { form: true, url: true, sampling: false, roots: false };

/// A client that answers everything with one thing, and remembers what it was asked.
pub(crate) struct Person {
    kinds: Kinds,
    answer: Option<Value>,
    asked: Mutex<Vec<Value>>,
}

impl Person {
    pub(crate) fn new(kinds: Kinds, answer: Value) -> Arc<Self> {
        Arc::new(Self { kinds, answer: Some(answer), asked: Mutex::default() })
    }

    /// One that never answers.
    fn silent(kinds: Kinds) -> Arc<Self> {
        Arc::new(Self { kinds, answer: None, asked: Mutex::default() })
    }

    pub(crate) fn asked(&self) -> Vec<Value> {
        self.asked.lock().clone()
    }
}

impl Client for Person {
    fn kinds(&self) -> Kinds {
        self.kinds
    }

    fn ask<'a>(&'a self, inquiry: &'a Inquiry) -> Asking<'a> {
        Box::pin(async move {
            self.asked.lock().push(inquiry.params().clone());
            match &self.answer {
                Some(answer) => Ok(answer.clone()),
                None => std::future::pending().await,
            }
        })
    }

    fn tell(&self, inquiry: &Inquiry) {
        self.asked.lock().push(inquiry.params().clone());
    }
}

pub(crate) fn yes() -> Value {
    json!({"action": "accept", "content": {"verdict": "approve"}})
}

/// Two clients whose calls of `echo` are asked about: `desk` may approve, `eve` may not.
struct Scene {
    fixture: Fixture,
    desk: Credential,
    eve: Credential,
}

impl Scene {
    async fn new() -> Self {
        Self::with(Config::default()).await
    }

    async fn with(config: Config) -> Self {
        let page = Some("http://localhost:1/approvals/".to_owned());
        let config = Config { rate: 0.0, approvals_page: page, ..config };
        let fixture = Fixture::with(config, Redactor::new([("KEY", "s3cret-one")])).await;
        fixture.grant(json!({"subject": "any", "action": "tool.call.echo", "approval": "ask"})).await;
        fixture.grant(json!({"subject": "any", "action": "tool.call.relay"})).await;
        let (desk, eve) = (add(&fixture, "desk", true).await, add(&fixture, "eve", false).await);
        Self { fixture, desk, eve }
    }

    async fn call(
        &self,
        who: &Credential,
        name: &str,
        arguments: &Value,
        context: Context,
    ) -> Result<Redacted, CallError> {
        let gate = &self.fixture.gate;
        let admitted = gate.admit(&gate.authenticate(who).unwrap()).unwrap();
        let request =
            CallRequest { name: name.to_owned(), arguments: arguments.as_object().unwrap().clone() };
        gate.call(admitted, request, context).await
    }

    async fn echo(&self, who: &Credential, context: Context) -> Result<Redacted, CallError> {
        self.call(who, "echo", &json!({"text": "of s3cret-one \u{202e}"}), context).await
    }

    async fn pending(&self) -> Vec<ApprovalId> {
        self.fixture.waiting().await
    }
}

pub(crate) async fn add(fixture: &Fixture, name: &str, may_approve: bool) -> Credential {
    let new = NewClient { name: name.to_owned(), preset: None, grants: Vec::new(), may_approve };
    Credential::bearer(&fixture.gate.add_client(&fixture.operator(), new).await.unwrap().token)
}

pub(crate) fn live(person: &Arc<Person>) -> Context {
    Context::new(CancellationToken::new()).answered_by(person.clone())
}

fn round(kinds: Kinds, answer: Option<&Value>, state: Option<&str>) -> Context {
    let responses = answer.map(|answer| ("covenant.approval".to_owned(), answer.clone()));
    let round = Round { kinds, responses: responses.into_iter().collect(), state: state.map(str::to_owned) };
    Context::new(CancellationToken::new()).repeated(round)
}

fn json(result: &Redacted) -> Value {
    serde_json::from_str(result.json().get()).unwrap()
}

/// What a round asks, and the state to bring back.
#[track_caller]
fn asks(result: Result<Redacted, CallError>) -> (Value, String) {
    let result = json(&result.unwrap());
    let at = |place: &str| result.pointer(place).unwrap_or_else(|| panic!("{place}: {result}")).clone();
    assert_eq!(at("/resultType"), "input_required");
    assert_eq!(at("/inputRequests").as_object().unwrap().len(), 1, "{result}");
    assert_eq!(at("/inputRequests/covenant.approval/method"), "elicitation/create");
    let state = at("/requestState").as_str().unwrap().to_owned();
    (at("/inputRequests/covenant.approval/params"), state)
}

#[track_caller]
fn waits(result: Result<Redacted, CallError>) -> Option<String> {
    match refusal(result) {
        Refusal::PendingApproval { page, .. } => page,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn who_sits_at_a_client_that_may_approve_is_shown_all_of_it_and_decides() {
    let scene = Scene::new().await;
    let person = Person::new(FORM, yes());
    let result = json(&scene.echo(&scene.desk, live(&person)).await.unwrap());
    assert_eq!(result["content"][0]["text"], "of [REDACTED:KEY] \u{202e}");
    let asked = person.asked();
    let message = asked[0]["message"].as_str().unwrap();
    assert!(message.starts_with("client:desk wants to make this call."), "{message}");
    assert!(message.contains("\"text\": \"of [REDACTED:KEY] \\u{202e}\"") && !message.contains("s3cret-one"));
    assert_eq!(asked[0]["requestedSchema"]["properties"]["verdict"]["enum"], json!(["approve", "reject"]));
    assert_eq!(asked[0]["requestedSchema"]["properties"]["verdict"].get("default"), None);

    let rows = scene.fixture.rows();
    let row = rows.iter().find(|row| row["kind"] == "ApprovalDecided").unwrap();
    assert_eq!(row["principal"], "client:desk", "{row}");
    let decided = scene.fixture.gate.approvals(&scene.fixture.operator(), true).await.unwrap();
    assert_eq!(decided[0].decided_by.as_deref(), Some("client:desk"));

    assert!(scene.echo(&scene.desk, live(&person)).await.is_ok());
    assert_eq!(person.asked().len(), 2, "each call is asked about");
}

#[tokio::test]
async fn whatever_anyone_else_answers_decides_nothing() {
    let scene = Scene::new().await;
    let operator = Credential::peer(1000);
    for kinds in [FORM, URL, BOTH] {
        for who in [&scene.eve, &operator] {
            let person = Person::new(kinds, yes());
            let page = waits(scene.echo(who, live(&person)).await);
            assert_eq!(page.is_some(), kinds.url);
            assert_eq!(person.asked(), [json!(null); 0], "nothing is asked that would not count");
            if kinds.url {
                let (asked, state) = asks(scene.echo(who, round(kinds, None, None)).await);
                assert_eq!(asked["mode"], "url");
                waits(scene.echo(who, round(kinds, Some(&yes()), Some(&state))).await);
            } else {
                waits(scene.echo(who, round(kinds, None, None)).await);
                waits(scene.echo(who, round(kinds, Some(&yes()), None)).await);
            }
        }
    }
    assert_eq!(scene.pending().await.len(), 2);
    assert!(!scene.fixture.rows().iter().any(|row| row["kind"] == "ApprovalDecided"));
}

#[tokio::test]
async fn to_decline_rejects_and_to_close_the_dialogue_does_nothing() {
    let scene = Scene::new().await;
    for answer in [json!({"action": "cancel"}), json!({"action": "accept"}), json!({}), json!({"action": 7})]
    {
        assert_eq!(waits(scene.echo(&scene.desk, live(&Person::new(FORM, answer))).await), None);
    }
    assert_eq!(scene.pending().await.len(), 1);
    for (answer, text) in [
        (json!({"action": "decline"}), "a"),
        (json!({"action": "accept", "content": {"verdict": "reject"}}), "b"),
    ] {
        let person = Person::new(BOTH, answer);
        let refused = refusal(scene.call(&scene.desk, "echo", &json!({"text": text}), live(&person)).await);
        let Refusal::ApprovalRejected { reason, .. } = refused else { panic!("{refused}") };
        assert_eq!(reason, ": declined at client:desk");
    }
}

#[tokio::test]
async fn a_client_that_repeats_its_calls_brings_the_word_and_it_counts_once() {
    let scene = Scene::new().await;
    let (asked, state) = asks(scene.echo(&scene.desk, round(BOTH, None, None)).await);
    assert!(asked["message"].as_str().unwrap().contains("[REDACTED:KEY]"), "{asked}");
    let said = yes();
    let again = || scene.echo(&scene.desk, round(BOTH, Some(&said), Some(&state)));
    assert_eq!(json(&again().await.unwrap())["content"][0]["text"], "of [REDACTED:KEY] \u{202e}");
    let (_, second) = asks(again().await);
    assert_eq!(scene.pending().await.len(), 1, "what was said of one call is not said of the next");

    let answer = Some(yes());
    for (arguments, who, state) in [
        (json!({"text": "other"}), &scene.desk, Some(second.as_str())),
        (json!({"text": "of s3cret-one \u{202e}"}), &scene.eve, Some(second.as_str())),
    ] {
        let refused = refusal(scene.call(who, "echo", &arguments, round(BOTH, answer.as_ref(), state)).await);
        assert!(matches!(refused, Refusal::InvalidArguments { .. }), "{refused}");
    }
    asks(scene.echo(&scene.desk, round(BOTH, answer.as_ref(), None)).await);
    assert_eq!(scene.pending().await.len(), 1, "an answer to nothing decides nothing");

    let cancelled = json!({"action": "cancel"});
    assert_eq!(waits(scene.echo(&scene.desk, round(BOTH, Some(&cancelled), Some(&second))).await), None);
    let declined = json!({"action": "decline"});
    let refused = refusal(scene.echo(&scene.desk, round(BOTH, Some(&declined), Some(&second))).await);
    assert!(matches!(refused, Refusal::ApprovalRejected { .. }), "{refused}");
    let kinds = scene.fixture.kinds();
    let requested = ("ApprovalRequested".to_owned(), "refused".to_owned());
    assert!(kinds.contains(&requested), "{kinds:?}");
}

#[tokio::test]
async fn who_was_told_of_a_page_has_been_shown_nothing() {
    let scene = Scene::new().await;
    let (asked, state) = asks(scene.echo(&scene.desk, round(URL, None, None)).await);
    let id = scene.pending().await.remove(0);
    assert_eq!(asked["url"], format!("http://localhost:1/approvals/{id}"));
    assert_eq!(asked.get("elicitationId"), None, "this era has none");
    for kinds in [URL, BOTH] {
        waits(scene.echo(&scene.desk, round(kinds, Some(&yes()), Some(&state))).await);
    }
    scene.fixture.decide(&id, true).await.unwrap();
    let accepted = json!({"action": "accept"});
    assert!(scene.echo(&scene.desk, round(URL, Some(&accepted), Some(&state))).await.is_ok());
}

#[tokio::test]
async fn a_word_that_comes_after_its_client_was_revoked_does_not_count() {
    struct Revoked(Arc<covenant_gate::Gate>);
    impl Client for Revoked {
        fn kinds(&self) -> Kinds {
            FORM
        }
        fn ask<'a>(&'a self, _: &'a Inquiry) -> Asking<'a> {
            let gate = Arc::clone(&self.0);
            let revoke = tokio::spawn(async move {
                let caller = gate.authenticate(&Credential::peer(1000)).unwrap();
                let operator = gate.operator(&caller, covenant_gate::Peer::default()).unwrap();
                gate.revoke_client(&operator, "desk").await.unwrap();
            });
            Box::pin(async move {
                revoke.await.unwrap();
                Ok(yes())
            })
        }
        fn tell(&self, _: &Inquiry) {}
    }
    let scene = Scene::new().await;
    let context = Context::new(CancellationToken::new())
        .answered_by(Arc::new(Revoked(Arc::clone(&scene.fixture.gate))));
    waits(scene.echo(&scene.desk, context).await);
    assert_eq!(scene.pending().await.len(), 1);
}

#[tokio::test]
async fn a_person_elsewhere_may_be_quicker_than_the_one_who_is_asked() {
    let scene = Scene::with(Config { approvals_wait: Duration::from_mins(10), ..Config::default() }).await;
    for (who, kinds) in [(&scene.desk, FORM), (&scene.eve, URL)] {
        let person = Person::silent(kinds);
        let decide = async {
            let mut news = scene.fixture.gate.approvals_changed();
            while person.asked().is_empty() {
                news.changed().await.unwrap();
                tokio::task::yield_now().await;
            }
            let id = scene.pending().await.remove(0);
            scene.fixture.decide(&id, true).await.unwrap();
            id
        };
        let (called, id) = tokio::join!(scene.echo(who, live(&person)), decide);
        called.unwrap();
        if kinds.url {
            assert_eq!(person.asked()[0]["elicitationId"], id.as_str());
        }
    }
}

#[tokio::test]
async fn what_is_too_long_to_be_shown_is_read_elsewhere() {
    let scene = Scene::new().await;
    let long = json!({"text": "x".repeat(40 << 10)});
    let person = Person::new(BOTH, yes());
    let page = waits(scene.call(&scene.desk, "echo", &long, live(&person)).await);
    assert!(page.is_some() && person.asked().is_empty());
}

#[tokio::test]
async fn a_text_is_shown_and_decided_in_the_same_ways() {
    let scene = Scene::new().await;
    let run = json!({"name": "a.star", "text": "x = 1 # s3cret-one", "ask": true});
    let said = |result: Result<Redacted, CallError>| json(&result.unwrap())["content"][0]["text"].clone();
    let person = Person::new(FORM, yes());
    let told = said(scene.call(&scene.eve, "relay", &run, live(&person)).await);
    assert!(told.as_str().unwrap().starts_with("Pending(") && person.asked().is_empty(), "{told}");
    let reached = Person::new(URL, yes());
    let told = said(scene.call(&scene.eve, "relay", &run, live(&reached)).await);
    assert!(told.as_str().unwrap().starts_with("Pending("), "what it answers is a result: {told}");
    let page = reached.asked()[0]["url"].as_str().unwrap().to_owned();
    assert!(page.starts_with("http://localhost:1/approvals/appr_"), "{page}");
    assert_eq!(said(scene.call(&scene.desk, "relay", &run, live(&person)).await), "Approved");
    let message = person.asked()[0]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("'a.star'") && message.contains("x = 1 # [REDACTED:KEY]"), "{message}");

    let run = json!({"name": "a.star", "text": "x = 2", "ask": true});
    let (asked, state) = asks(scene.call(&scene.desk, "relay", &run, round(FORM, None, None)).await);
    assert!(asked["message"].as_str().unwrap().contains("Another text of that name was approved"), "{asked}");
    let context = round(FORM, Some(&yes()), Some(&state));
    assert_eq!(said(scene.call(&scene.desk, "relay", &run, context).await), "Approved");
}

#[tokio::test]
async fn the_time_in_which_a_person_decides_is_not_the_tools() {
    struct Slow(Mutex<bool>);
    impl Client for Slow {
        fn kinds(&self) -> Kinds {
            FORM
        }
        fn ask<'a>(&'a self, _: &'a Inquiry) -> Asking<'a> {
            Box::pin(async move {
                tokio::time::sleep(Duration::from_millis(200)).await;
                *self.0.lock() = true;
                Ok(yes())
            })
        }
        fn tell(&self, _: &Inquiry) {}
    }
    let scene = Scene::new().await;
    let slow = Arc::new(Slow(Mutex::new(false)));
    let context =
        Context::new(CancellationToken::new()).answered_by(slow.clone()).within(Duration::from_millis(100));
    let run = json!({"name": "a.star", "text": "x = 1", "ask": true});
    let result = json(&scene.call(&scene.desk, "relay", &run, context).await.unwrap());
    assert_eq!((&result["content"][0]["text"], *slow.0.lock()), (&json!("Approved"), true));
}
