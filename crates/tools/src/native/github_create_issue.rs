//! `github_create_issue`: files one, once.

use std::sync::Arc;

use covenant_gate::arguments::Arguments;
use covenant_gate::tool::Run;
use covenant_gate::{Context, Permit, RawOutput, Tool, Veil};
use covenant_model::tool::{Content, ToolCallResult, ToolSpec};
use serde_json::{Value, json};

use super::{Absent, Parts, named};
use crate::github::{Draft, GitHub, Issue, NAME, OWNER, Repository};

struct CreateIssue {
    github: GitHub,
}

pub(super) fn make(parts: &Parts) -> Result<Arc<dyn Tool>, Absent> {
    let github = GitHub::of(parts).map_err(|reason| Absent { name: "github_create_issue", reason })?;
    Ok(Arc::new(CreateIssue { github }))
}

impl Tool for CreateIssue {
    fn spec(&self) -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "owner": {"type": "string", "maxLength": 100, "pattern": OWNER, "description": "Who owns the repository"},
                "repo": {"type": "string", "maxLength": 100, "pattern": NAME, "description": "The repository's name"},
                "title": {
                    "type": "string", "minLength": 1, "maxLength": 256, "description": "What the issue is about",
                },
                "body": {"type": "string", "maxLength": 65536, "description": "What it says, in Markdown"},
                "labels": {
                    "type": "array",
                    "maxItems": 100,
                    "items": {"type": "string", "minLength": 1, "maxLength": 100},
                    "description": "Labels to put on it",
                },
            },
            "required": ["owner", "repo", "title"],
            "additionalProperties": false,
        });
        let annotations = json!({
            "readOnlyHint": false, "destructiveHint": false, "idempotentHint": false, "openWorldHint": true
        });
        ToolSpec::new(named("github_create_issue"), "Creates an issue in a GitHub repository.", schema)
            .with("annotations", annotations)
    }

    fn run<'a>(&'a self, _: Permit, arguments: Arguments, context: &'a Context) -> Run<'a> {
        Box::pin(async move {
            let created = self.create(&arguments, context.veil()).await;
            RawOutput::from(created.unwrap_or_else(ToolCallResult::error))
        })
    }
}

impl CreateIssue {
    async fn create(&self, arguments: &Arguments, veil: Veil) -> Result<ToolCallResult, String> {
        let text = |property| arguments.text(property).unwrap_or_default();
        let repository = Repository::of(text("owner"), text("repo"))?;
        let labels = arguments.get("labels").and_then(Value::as_array).into_iter().flatten();
        let draft = Draft {
            title: text("title"),
            body: arguments.text("body"),
            labels: labels.filter_map(Value::as_str).collect(),
        };
        if draft.title.trim().is_empty() {
            return Err("`title` is empty: write what the issue is about".to_owned());
        }
        let issue = self.github.veiled(veil).create(repository, &draft).await?;
        Ok(answer(&draft, &issue))
    }
}

fn answer(draft: &Draft<'_>, issue: &Issue) -> ToolCallResult {
    let mut lines = vec![format!("Created issue #{}: {}", issue.number, issue.title), issue.url.clone()];
    // GitHub drops them without a word where the token may not set any.
    let has = |label: &&str| issue.labels.iter().any(|there| there.eq_ignore_ascii_case(label));
    let missing: Vec<&str> = draft.labels.iter().copied().filter(|label| !has(label)).collect();
    if !missing.is_empty() {
        lines.push(format!("GitHub left out the labels {}: the token may not set them", missing.join(", ")));
    }
    ToolCallResult {
        content: vec![Content::Text { text: lines.join("\n") }, Content::Json { value: issue.json() }],
        ..ToolCallResult::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_created_is_told_with_its_address_and_what_was_left_out() {
        let issue = Issue {
            number: 8,
            title: "A bug".to_owned(),
            url: "https://github.com/octo/hello/issues/8".to_owned(),
            state: "open".to_owned(),
            created_at: "2026-01-02T03:04:05Z".to_owned(),
            labels: vec!["Bug".to_owned()],
        };
        for (labels, more) in [
            (vec!["bug"], ""),
            (vec!["bug", "a", "b"], "\nGitHub left out the labels a, b: the token may not set them"),
        ] {
            let draft = Draft { title: "A bug", body: None, labels };
            let result = serde_json::to_value(answer(&draft, &issue)).unwrap();
            let told = format!("Created issue #8: A bug\nhttps://github.com/octo/hello/issues/8{more}");
            assert_eq!(result["content"][0]["text"], told);
            assert_eq!(result["structuredContent"], issue.json());
        }
    }
}
