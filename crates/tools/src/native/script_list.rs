//! `script_list`: which scripts there are, what each does, and whether it may run.

use std::sync::Arc;

use covenant_gate::arguments::Arguments;
use covenant_gate::tool::Run;
use covenant_gate::{Content, Context, Permit, RawOutput, Tool, Veil};
use covenant_model::tool::{ToolCallResult, ToolSpec};
use serde_json::{Value, json};

use super::{Absent, Parts, named};
use crate::script::Workshop;
use crate::script::allowance::status;
use crate::script::header::Header;
use crate::script::shelf::Script;

const NAME: &str = "script_list";

struct ScriptList(Workshop);

pub(super) fn make(parts: &Parts) -> Result<Arc<dyn Tool>, Absent> {
    let workshop = Workshop::of(parts).map_err(|reason| Absent { name: NAME, reason })?;
    Ok(Arc::new(ScriptList(workshop)))
}

impl Tool for ScriptList {
    fn spec(&self) -> ToolSpec {
        let schema = json!({"type": "object", "properties": {}, "additionalProperties": false});
        ToolSpec::new(named(NAME), "List the available Starlark scripts", schema).with(
            "annotations",
            json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false}),
        )
    }

    fn run<'a>(&'a self, _: Permit, _: Arguments, context: &'a Context) -> Run<'a> {
        Box::pin(async move { RawOutput::from(answer(&self.0, context).await) })
    }
}

async fn answer(workshop: &Workshop, context: &Context) -> ToolCallResult {
    let shelf = workshop.shelf().clone();
    let all = match tokio::task::spawn_blocking(move || shelf.all()).await {
        Ok(Ok(all)) => all,
        Ok(Err(reason)) => return ToolCallResult::error(reason),
        Err(_) => return ToolCallResult::error("the daemon is stopping"),
    };
    let mut scripts = Vec::new();
    let mut unusable = Vec::new();
    for script in all {
        match script {
            Ok(script) => match word(workshop, &script, context).await {
                Ok(status) => scripts.push(entry(&script, status, &context.veil())),
                Err(reason) => return ToolCallResult::error(reason),
            },
            Err(reason) => unusable.push(reason.to_string()),
        }
    }
    let mut list = json!({"count": scripts.len(), "scripts": scripts});
    if let (false, Some(members)) = (unusable.is_empty(), list.as_object_mut()) {
        members.insert("unusable".to_owned(), unusable.into());
    }
    ToolCallResult::json(list)
}

async fn word(workshop: &Workshop, script: &Script, context: &Context) -> Result<&'static str, String> {
    if workshop.allowance(script).is_given() {
        return Ok("approved");
    }
    let text = Content { name: &script.file(), text: &script.text };
    let known = context.known_standing(text).await.map_err(|fault| fault.to_string())?;
    Ok(status(known.as_ref()))
}

fn entry(script: &Script, status: &str, veil: &Veil) -> Value {
    // What it says of itself is shortened.
    let header = Header::of(&veil.without_secrets(&script.text));
    json!({
        "name": script.name,
        "description": header.description,
        "metadata": {"author": header.author, "version": header.version},
        "required_secrets": header.secrets,
        "approval_status": status,
        "sha256": script.sha256(),
    })
}

#[cfg(test)]
mod tests {
    use covenant_model::redact::Redactor;

    use super::*;

    #[test]
    fn what_a_script_says_of_itself_is_cut_after_its_secrets_are_gone() {
        let secret = "correct-horse-battery-staple";
        let veil = Veil::of([Arc::new(Redactor::new([("KEY", secret)]))]);
        for before in 470..=500 {
            let text = format!("# @description: {}{secret}\nresult = 1\n", "x".repeat(before));
            let told = entry(&Script { name: "s".to_owned(), text }, "pending", &veil);
            assert!(!told.to_string().contains("corr"), "{told}");
        }
    }
}
