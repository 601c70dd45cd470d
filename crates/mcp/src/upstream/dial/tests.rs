//! Which places, transports and eras are tried. The servers are functions; `daemon` has the real ones.

#[cfg(target_os = "linux")]
mod programs;

use covenant_model::server::{Isolation, Prefix, Start, Web, WebTransport};

use super::*;
use crate::upstream::ports::{Later, Method};
use crate::upstream::scrub::known;
use crate::upstream::stage::{Came, LIMIT, Leading, Said, Stage, result, web};

/// Starts nothing.
struct Unable;

impl Programs for Unable {
    fn start<'a>(
        &'a self,
        _: &'a str,
        _: &'a Program,
        _: LogLine,
    ) -> Later<'a, Result<Box<dyn RunningProgram>, String>> {
        Box::pin(async { Err("there is no `nothing` on PATH".to_owned()) })
    }
}

fn plan(reach: Reach) -> Plan {
    Plan {
        name: "some server".to_owned(),
        prefix: Prefix::None,
        reach,
        era: EraChoice::Auto,
        include: Vec::new(),
        exclude: Vec::new(),
        start: Start::Eager,
        isolation: Isolation::Shared,
        idle_stop: None,
        start_timeout: Duration::from_secs(20),
        list_timeout: Duration::from_secs(10),
        call_timeout: Duration::from_secs(10),
        call_total: Duration::from_secs(10),
        max_in_flight: 1,
    }
}

/// Dials, and says which phases passed.
async fn dialed(plan: &Plan, stage: &Arc<Stage>) -> (Result<Link, NotDialed>, Vec<&'static str>) {
    let couriers = Leading(Arc::clone(stage));
    let log: LogLine = Arc::new(|_| {});
    let (era, scrub) = (plan.era, known::scrub().clone());
    let what = Dial { plan, era, programs: &Unable, couriers: &couriers, log, limit: LIMIT, scrub };
    let mut phases = Vec::new();
    let link = dial(what, &mut |phase, _| phases.push(phase)).await;
    (link, phases)
}

async fn reach(web: Web, server: impl Fn(&Came) -> Result<Said, String> + Send + Sync + 'static) -> Outcome {
    let stage = Stage::new(server);
    let (link, phases) = dialed(&plan(Reach::Web(web)), &stage).await;
    Outcome { link, phases, stage }
}

struct Outcome {
    link: Result<Link, NotDialed>,
    phases: Vec<&'static str>,
    stage: Arc<Stage>,
}

impl Outcome {
    fn failed(&self) -> (&'static str, &str) {
        let not = self.link.as_ref().err().expect("it cannot be reached");
        (not.phase, &not.reason)
    }
}

fn http(url: &str) -> Web {
    web(url, WebTransport::Http)
}

const INITIALIZED: &str =
    r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}"#;

/// A server of the handshake's era at that path.
fn legacy(path: &'static str) -> impl Fn(&Came) -> Result<Said, String> {
    move |came| {
        Ok(match came.method {
            _ if !came.url.ends_with(path) => Said::whole(404, "text/html", &["<p>"]),
            Method::Get | Method::Delete => Said::whole(405, "", &[]),
            Method::Post if came.body.contains("\"initialize\"") => {
                Said::json(&result(came.id(), INITIALIZED))
            }
            Method::Post if came.body.contains("\"id\"") => Said::whole(400, "", &[]),
            Method::Post => Said::whole(202, "", &[]),
        })
    }
}

#[tokio::test]
async fn a_server_is_reached_where_its_url_says() {
    let outcome = reach(http("http://a:1/x/mcp"), legacy("/x/mcp")).await;
    let link = outcome.link.unwrap();
    assert_eq!((link.era(), link.transport()), (EraChoice::Legacy, "http"));
    assert_eq!(outcome.phases, [START, HANDSHAKE]);
}

#[tokio::test]
async fn a_modern_server_is_found_by_its_own_question() {
    let discovered =
        r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#;
    let outcome = reach(http("http://a:1/mcp"), |came| Ok(Said::json(&result(came.id(), discovered)))).await;
    assert_eq!(outcome.link.unwrap().era(), EraChoice::Modern);
    assert_eq!(outcome.stage.came().len(), 1);
}

#[tokio::test]
async fn a_url_without_a_path_is_tried_as_it_is_and_then_with_mcp() {
    let outcome = reach(http("http://a:1"), legacy("a:1/mcp")).await;
    assert_eq!(outcome.link.unwrap().transport(), "http");
    let outcome = reach(http("http://a:1/"), legacy("a:1/")).await;
    assert!(outcome.link.is_ok());
    assert!(outcome.stage.came().iter().all(|came| came.url == "http://a:1/"));
}

#[tokio::test]
async fn a_server_that_refuses_posts_is_asked_for_the_older_transport() {
    for transport in [WebTransport::Http, WebTransport::Sse] {
        let (answers, answered) = (Arc::new(parking_lot::Mutex::new(None)), INITIALIZED);
        let server = move |came: &Came| {
            Ok(match (came.method, came.url.as_str()) {
                (Method::Get, "http://a:1/sse") => {
                    let mut said =
                        Said::open(200, "text/event-stream", &["event: endpoint\ndata: /m?s=1\n\n"]);
                    *answers.lock() = said.more.take();
                    said
                }
                (Method::Post, "http://a:1/m?s=1") => {
                    if came.body.contains("\"id\"") {
                        let event = format!("data: {}\n\n", result(came.id(), answered));
                        answers.lock().as_ref().unwrap().send(Ok(event.into_bytes())).unwrap();
                    }
                    Said::whole(202, "", &[])
                }
                _ => Said::whole(405, "", &[]),
            })
        };
        let outcome = reach(web("http://a:1/sse", transport), server).await;
        let link = outcome.link.unwrap();
        assert_eq!((link.era(), link.transport()), (EraChoice::Legacy, "sse"));
        assert_eq!(outcome.phases, [START, HANDSHAKE]);
        let posted =
            outcome.stage.came().iter().any(|came| came.url.ends_with("/sse") && came.method == Method::Post);
        assert_eq!(posted, transport == WebTransport::Http, "whose transport is named is asked for no other");
        link.close().await;
    }
}

#[tokio::test]
async fn what_is_told_of_a_failure_is_what_the_entry_is_about() {
    let told = async |url, server: fn(&Came) -> Result<Said, String>| {
        let outcome = reach(http(url), server).await;
        let (phase, reason) = outcome.failed();
        (phase, reason.to_owned(), outcome.stage.came())
    };
    let (phase, reason, came) = told("http://a:1", |_| Err("could not be reached: refused".to_owned())).await;
    assert_eq!((phase, reason.as_str()), (START, "could not be reached: refused"));
    assert!(came.iter().all(|came| came.url == "http://a:1"), "nothing else is tried where nobody is");

    let (_, reason, came) = told("http://a:1/mcp", |_| Ok(Said::whole(401, "", &[]))).await;
    assert!(reason.contains("answered 401 to initialize: check `headers`"), "{reason}");
    assert!(came.iter().all(|came| came.method == Method::Post), "who may not speak need not try otherwise");

    let (_, reason, _) = told("http://a:1", |came| {
        Ok(Said::whole(if came.url.ends_with("/mcp") { 404 } else { 403 }, "", &[]))
    })
    .await;
    assert!(reason.contains("answered 403 to initialize"), "{reason}");

    let (phase, reason, came) = told("http://a:1/mcp", |_| Ok(Said::whole(404, "", &[]))).await;
    assert_eq!((phase, reason.as_str()), (HANDSHAKE, "answered 404 to initialize"));
    assert!(came.iter().any(|came| came.method == Method::Get), "the older transport was tried");

    let (_, reason, _) = told("http://a:1/mcp", |_| Ok(Said::whole(200, "text/html", &["<p>"]))).await;
    assert!(reason.contains("text/html"), "{reason}");
}

#[tokio::test]
async fn a_server_counts_as_reached_only_once_somebody_answered() {
    let outcome = reach(http("http://a:1/mcp"), |_| Err("could not be reached: refused".to_owned())).await;
    assert_eq!((outcome.failed().0, outcome.phases), (START, Vec::new()));
    let outcome = reach(http("http://a:1/mcp"), |_| Ok(Said::whole(401, "", &[]))).await;
    assert_eq!((outcome.failed().0, outcome.phases), (HANDSHAKE, vec![START]));
    // It went away between the first question and the second.
    let outcome = reach(http("http://a:1/mcp"), |came| {
        let first = came.body.contains("server/discover");
        let refused = || "could not be reached: refused".to_owned();
        first.then(|| Said::whole(400, "", &[])).ok_or_else(refused)
    })
    .await;
    assert_eq!((outcome.failed().0, outcome.phases), (HANDSHAKE, vec![START]));
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up_in_time() {
    let mut plan = plan(Reach::Web(web("http://a:1/sse", WebTransport::Sse)));
    plan.start_timeout = Duration::from_millis(50);
    for reach in [http("http://a:1/mcp"), web("http://a:1/sse", WebTransport::Sse)] {
        plan.reach = Reach::Web(reach);
        let stage = Stage::new(|_| Ok(Said::open(200, "text/event-stream", &[])));
        let (link, _) = dialed(&plan, &stage).await;
        let why = link.err().unwrap().reason;
        assert!(why.ends_with("within 0.05 s (`start_timeout_secs`)"), "{why}");
        assert!(stage.open_bodies().iter().all(tokio::sync::mpsc::UnboundedSender::is_closed));
    }
}
