//! What an agent is told where the gate says no, or something broke: what happened, and what to do next.

use covenant_gate::{CallError, Fault, Refusal};
use covenant_model::envelope::{Envelope, sentence};
use covenant_team::input::Invalid;

/// What is told of an error, and the word for it.
pub(super) fn of(error: &CallError) -> (Envelope, &'static str) {
    match error {
        CallError::Refused(refusal) => (refused(refusal), refusal.code()),
        CallError::Fault(broken) => (fault(broken), "fault"),
    }
}

/// What is told of a refusal, here or before a tool was reached.
pub fn refused(refusal: &Refusal) -> Envelope {
    let message = sentence(&refusal.to_string());
    match refusal {
        Refusal::PendingApproval { id, .. } => {
            let action =
                format!("Ask a person to decide with: covenant approvals show {id}; then call again.");
            Envelope::blocked(message, action).with("approval_id", id.as_str()).with("code", refusal.code())
        }
        Refusal::RateLimited { wait } => {
            let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
            Envelope::error(message, format!("Call again in {wait} ms."))
                .with("retry_after_ms", wait)
                .with("code", refusal.code())
        }
        other => Envelope::error(message, action(other)).with("code", other.code()),
    }
}

/// What to do about each of the others.
fn action(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Unauthenticated => {
            "Use a valid developer token; an admin makes one with: covenant tokens create --for HANDLE"
                .to_owned()
        }
        Refusal::NotGranted { action, principal, .. } => {
            format!("Ask the operator for it: covenant capabilities grant {action} --to {principal}")
        }
        Refusal::InvalidArguments { tool, .. } => {
            format!(
                "Correct the arguments as the schema of {tool} says, and call again; people see it with: covenant tools show {tool}"
            )
        }
        Refusal::UnknownTool { .. } => "List the tools to see what there is.".to_owned(),
        Refusal::TimedOut { .. } | Refusal::Cancelled { .. } => {
            "Look at how the work stands before calling again.".to_owned()
        }
        _ => "Ask the operator.".to_owned(),
    }
}

/// What is told of arguments that cannot be used.
pub(super) fn invalid(invalid: &Invalid) -> Envelope {
    let field = &invalid.field;
    let message = format!("Invalid arguments: {invalid}.");
    Envelope::error(message, format!("Correct `{field}` and call again."))
        .with("field", field.as_str())
        .with("code", "invalid_arguments")
}

/// What is told of something that broke.
pub(super) fn fault(fault: &Fault) -> Envelope {
    Envelope::error(
        sentence(&fault.to_string()),
        "Call again; if it stays so, ask the operator to look at the log.",
    )
}
