//! Tools that say something on their way: log messages and progress.

use std::time::Duration;

use covenant_gate::Context;
use covenant_gate::arguments::Arguments;
use covenant_gate::context::{Level, LogMessage, Progress};
use covenant_gate::tool::Run;
use covenant_model::tool::ToolCallResult;
use serde_json::json;

use super::Fixture;

/// The pause between two messages: the suite wants to see them arrive one by one.
const PAUSE: Duration = Duration::from_millis(50);

pub(super) fn tools() -> Vec<Fixture> {
    vec![
        Fixture::does("test_tool_with_logging", "Logs three messages.", log),
        Fixture::does("test_logging_tool", "Logs for callers that ask for it.", log),
        Fixture::does("test_tool_with_progress", "Reports its progress three times.", progress),
    ]
}

fn log(_: Arguments, context: &Context) -> Run<'_> {
    Box::pin(async move {
        say(context, "Tool execution started");
        tokio::time::sleep(PAUSE).await;
        say(context, "Tool processing data");
        tokio::time::sleep(PAUSE).await;
        say(context, "Tool execution completed");
        ToolCallResult::text("Logged three messages.").into()
    })
}

fn say(context: &Context, text: &str) {
    context.log(LogMessage { level: Level::Info, logger: Some("fixture".to_owned()), data: json!(text) });
}

fn progress(_: Arguments, context: &Context) -> Run<'_> {
    Box::pin(async move {
        for (step, done) in [0.0, 50.0, 100.0].into_iter().enumerate() {
            if step > 0 {
                tokio::time::sleep(PAUSE).await;
            }
            let message = Some(format!("step {step}"));
            context.progress(Progress { progress: done, total: Some(100.0), message });
        }
        ToolCallResult::text("Reported three times.").into()
    })
}
