//! A try of a server: a connection of its own, asked for its tools and let go, with what each phase found.

use std::sync::Arc;
use std::time::Duration;

use covenant_model::server::{Phase, Plan, Reach, ServerTest};
use serde::Deserialize;
use tokio::time::{Instant, timeout};

use super::line::Line;
use super::open::Open;
use super::ring::Ring;
use super::server::{Shared, settle};
use super::told::{self, era_word};
use crate::upstream::dial::{HANDSHAKE, START, STARTED};
use crate::upstream::link::LinkError;

/// How much later than its deadlines a try is given up.
const GRACE: Duration = Duration::from_secs(1);

#[derive(Deserialize)]
struct Named {
    name: String,
}

/// Tries a plan.
pub(super) async fn trial(shared: &Shared, plan: &Plan) -> ServerTest {
    let ring = Arc::new(Ring::default());
    let mut test = ServerTest {
        name: plan.name.clone(),
        ok: false,
        phases: Vec::new(),
        tools: Vec::new(),
        era: None,
        log: Vec::new(),
    };
    let line = connect(shared, plan, &ring, &mut test).await;
    if let Some(line) = line {
        let listed = list(plan, &line, &mut test).await;
        let began = Instant::now();
        line.close().await;
        if listed {
            add(&mut test, "stop", true, began.elapsed(), "it was let go".to_owned());
        }
        test.ok = listed;
    } else {
        settle().await;
    }
    test.log = ring.lines();
    // That it was started is told by its phase.
    if test.log.iter().all(|line| line == STARTED) {
        test.log.clear();
    }
    let redactor = shared.gate.redactor();
    for phase in &mut test.phases {
        phase.detail = redactor.shown(&phase.detail, 4000);
    }
    for tool in &mut test.tools {
        *tool = redactor.shown(tool, 200);
    }
    test
}

async fn connect(shared: &Shared, plan: &Plan, ring: &Arc<Ring>, test: &mut ServerTest) -> Option<Arc<Line>> {
    let (log, tail) = ring.begin();
    let began = Instant::now();
    let mut passed: Vec<(&'static str, Duration)> = Vec::new();
    let mut pass = |phase, took| passed.push((phase, took));
    let dialed = timeout(plan.start_timeout + GRACE, shared.dials.dial(plan, plan.era, log, &mut pass)).await;
    let known: Duration = passed.iter().map(|(_, took)| *took).sum();
    for (phase, took) in &passed {
        let detail = match &plan.reach {
            _ if *phase != START => "it speaks the protocol",
            Reach::Program(_) => "it was started",
            Reach::Web(_) => "it was reached",
        };
        add(test, phase, true, *took, detail.to_owned());
    }
    let rest = began.elapsed().saturating_sub(known);
    match dialed {
        Ok(Ok(peer)) => {
            test.era = era_word(peer.era()).map(str::to_owned);
            Some(Line::new(peer, tail, Open::new(Some(&shared.open)).one()))
        }
        Ok(Err(not)) => {
            add(test, not.phase, false, rest, format!("it {}", not.reason));
            None
        }
        Err(_) => {
            let phase = if passed.is_empty() { START } else { HANDSHAKE };
            let within = plan.start_timeout.as_secs_f64();
            add(
                test,
                phase,
                false,
                rest,
                format!("it did not answer within {within} s (`start_timeout_secs`)"),
            );
            None
        }
    }
}

async fn list(plan: &Plan, line: &Line, test: &mut ServerTest) -> bool {
    let began = Instant::now();
    let listed = timeout(plan.list_timeout + GRACE, line.peer.tools(plan.list_timeout)).await;
    let took = began.elapsed();
    match listed {
        Ok(Ok(tools)) => {
            let named = tools.iter().filter_map(|tool| serde_json::from_str::<Named>(tool.get()).ok());
            test.tools = named.map(|tool| tool.name).collect();
            add(test, "list", true, took, format!("it has {}", told::tools(tools.len())));
            true
        }
        Err(_) | Ok(Err(LinkError::Total(_))) => {
            let within = plan.list_timeout.as_secs_f64();
            let detail = format!("it did not list its tools within {within} s (`list_timeout_secs`)");
            add(test, "list", false, took, detail);
            false
        }
        Ok(Err(error)) => {
            settle().await;
            add(test, "list", false, took, format!("it {error}{}", line.tail.told()));
            false
        }
    }
}

fn add(test: &mut ServerTest, phase: &str, ok: bool, took: Duration, detail: String) {
    let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    test.phases.push(Phase { phase: phase.to_owned(), ok, ms, detail });
}
