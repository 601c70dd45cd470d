//! `github_list_issues`: what is open in a repository, or was.

use std::sync::Arc;

use covenant_gate::arguments::Arguments;
use covenant_gate::tool::Run;
use covenant_gate::{Context, Permit, RawOutput, Tool, Veil};
use covenant_model::tool::{Content, ToolCallResult, ToolSpec};
use serde_json::{Value, json};

use super::{Absent, Parts, named, whole};
use crate::github::{GitHub, Issue, NAME, OWNER, Page, Repository, Wanted};

struct ListIssues {
    github: GitHub,
}

pub(super) fn make(parts: &Parts) -> Result<Arc<dyn Tool>, Absent> {
    let github = GitHub::of(parts).map_err(|reason| Absent { name: "github_list_issues", reason })?;
    Ok(Arc::new(ListIssues { github }))
}

impl Tool for ListIssues {
    fn spec(&self) -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "owner": {"type": "string", "maxLength": 100, "pattern": OWNER, "description": "Who owns the repository"},
                "repo": {"type": "string", "maxLength": 100, "pattern": NAME, "description": "The repository's name"},
                "state": {
                    "type": "string",
                    "enum": ["open", "closed", "all"],
                    "default": "open",
                    "description": "Which issues",
                },
                "labels": {
                    "type": "array",
                    "maxItems": 20,
                    "items": {"type": "string", "minLength": 1, "maxLength": 100, "pattern": "^[^,]+$"},
                    "description": "Only issues that have all of these labels",
                },
                "page": {
                    "type": "integer", "minimum": 1, "maximum": 3000, "default": 1, "description": "Which page",
                },
                "per_page": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 100,
                    "default": 30,
                    "description": "How many issues on each page",
                },
            },
            "required": ["owner", "repo"],
            "additionalProperties": false,
        });
        let annotations = json!({
            "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": true
        });
        let description = "Lists the issues of a GitHub repository, newest first, without pull requests.";
        ToolSpec::new(named("github_list_issues"), description, schema)
            .with("outputSchema", output())
            .with("annotations", annotations)
    }

    fn run<'a>(&'a self, _: Permit, arguments: Arguments, context: &'a Context) -> Run<'a> {
        Box::pin(async move {
            let listed = self.list(&arguments, context.veil()).await;
            RawOutput::from(listed.unwrap_or_else(ToolCallResult::error))
        })
    }
}

impl ListIssues {
    async fn list(&self, arguments: &Arguments, veil: Veil) -> Result<ToolCallResult, String> {
        let text = |property| arguments.text(property).unwrap_or_default();
        let repository = Repository::of(text("owner"), text("repo"))?;
        let number = |property, usual| {
            arguments.get(property).and_then(whole).and_then(|n| n.try_into().ok()).unwrap_or(usual)
        };
        let labels = arguments.get("labels").and_then(Value::as_array).into_iter().flatten();
        let wanted = Wanted {
            state: arguments.text("state").unwrap_or("open"),
            labels: labels.filter_map(Value::as_str).collect(),
            page: number("page", 1),
            per_page: number("per_page", 30),
        };
        let page = self.github.veiled(veil).issues(repository, &wanted).await?;
        Ok(answer(repository, &wanted, &page))
    }
}

fn output() -> Value {
    let text = json!({"type": "string"});
    json!({
        "type": "object",
        "properties": {
            "issues": {"type": "array", "items": {
                "type": "object",
                "properties": {
                    "number": {"type": "integer"},
                    "title": text,
                    "state": text,
                    "labels": {"type": "array", "items": text},
                    "url": text,
                    "created_at": text,
                },
                "required": ["number", "title", "state", "labels", "url", "created_at"],
            }},
            "next_page": {"type": ["integer", "null"]},
        },
        "required": ["issues", "next_page"],
    })
}

fn answer(repository: Repository<'_>, wanted: &Wanted<'_>, page: &Page) -> ToolCallResult {
    let state = if wanted.state == "all" { String::new() } else { format!("{} ", wanted.state) };
    let mut lines: Vec<String> = page.issues.iter().map(Issue::told).collect();
    lines.insert(
        0,
        match (page.issues.len(), wanted.page) {
            (0, 1) => format!("No {state}issues in {repository}"),
            (0, number) => format!("No {state}issues on page {number} of {repository}"),
            (1, _) => format!("1 {state}issue in {repository}:"),
            (count, _) => format!("{count} {state}issues in {repository}:"),
        },
    );
    lines.extend(page.next().map(|next| format!("There are more: page {next}")));
    if page.cut {
        lines.push(
            "GitHub's list is longer than was looked through: ask for fewer by `labels` or `state`"
                .to_owned(),
        );
    }
    let issues: Vec<Value> = page.issues.iter().map(Issue::json).collect();
    let value = json!({"issues": issues, "next_page": page.next()});
    ToolCallResult {
        content: vec![Content::Text { text: lines.join("\n") }, Content::Json { value }],
        ..ToolCallResult::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issue(number: u64, labels: &[&str]) -> Issue {
        Issue {
            number,
            title: format!("Title {number}"),
            url: format!("https://github.com/octo/hello/issues/{number}"),
            state: "open".to_owned(),
            created_at: "2026-01-02T03:04:05Z".to_owned(),
            labels: labels.iter().map(|&label| label.to_owned()).collect(),
        }
    }

    fn told(state: &str, number: usize, page: &Page) -> Value {
        let wanted = Wanted { state, labels: Vec::new(), page: number, per_page: 30 };
        serde_json::to_value(answer(Repository::of("octo", "hello").unwrap(), &wanted, page)).unwrap()
    }

    #[test]
    fn issues_are_told_with_number_title_labels_date_and_address() {
        let mut page = Page::new(1, 30);
        page.issues = vec![issue(12, &["bug", "help wanted"]), issue(11, &[])];
        let result = told("open", 1, &page);
        assert_eq!(
            result["content"][0]["text"],
            "2 open issues in octo/hello:\n#12: Title 12 [bug, help wanted] (open, 2026-01-02)\n  \
             https://github.com/octo/hello/issues/12\n#11: Title 11 (open, 2026-01-02)\n  \
             https://github.com/octo/hello/issues/11"
        );
        assert_eq!(
            result["structuredContent"]["issues"][0],
            json!({"number": 12, "title": "Title 12", "state": "open", "labels": ["bug", "help wanted"],
                "url": "https://github.com/octo/hello/issues/12", "created_at": "2026-01-02T03:04:05Z"})
        );
        assert_eq!(result["structuredContent"]["next_page"], Value::Null);
    }

    #[test]
    fn a_page_without_issues_says_of_what() {
        for (state, number, cut, text) in [
            ("open", 1, false, "No open issues in octo/hello"),
            ("all", 1, false, "No issues in octo/hello"),
            ("closed", 7, false, "No closed issues on page 7 of octo/hello"),
            (
                "open",
                1,
                true,
                "No open issues in octo/hello\nGitHub's list is longer than was looked through: ask for fewer by \
                 `labels` or `state`",
            ),
        ] {
            let mut page = Page::new(number, 30);
            page.cut = cut;
            assert_eq!(told(state, number, &page)["content"][0]["text"], text);
        }
    }
}
