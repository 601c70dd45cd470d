//! The tools that are part of the daemon. Adding one is a file in `native/`, its `mod`, and its line in [`NATIVE`].

#![expect(
    clippy::unnecessary_wraps,
    reason = "every tool is made the same way, also those that are always there"
)]

use std::sync::Arc;

use covenant_gate::{Clock, Tool};
use covenant_model::tool::ToolName;
use serde::Serialize;
use serde_json::Value;

use crate::ports::{Programs, Secrets, Web};
use crate::script::Slots;
use crate::settings::Settings;
use crate::vault::Vault;

mod calendar_read;
mod chat_send;
mod clock;
mod echo;
mod github_create_issue;
mod github_list_issues;
mod memory_read;
mod memory_write;
mod script_exec;
mod script_list;
mod script_reload;
mod script_run;
pub(crate) mod vault_list;
pub(crate) mod vault_read;
pub(crate) mod vault_search;
pub(crate) mod vault_write;
mod web_fetch;
mod workspace_list;
mod workspace_read;
mod workspace_write;

/// What native tools are made from: each takes the parts it needs and nothing else.
pub struct Parts {
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// What the configuration says.
    pub settings: Arc<Settings>,
    /// What sends requests.
    pub web: Arc<dyn Web>,
    /// What starts programs.
    pub programs: Arc<dyn Programs>,
    /// The secrets in effect.
    pub secrets: Secrets,
    /// The vault, or why there is none: a sentence.
    pub vault: Result<Arc<Vault>, String>,
    /// Room for scripts.
    pub slots: Arc<Slots>,
}

/// A tool that is not there, and what to write so that it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Absent {
    /// What it would be called by.
    pub name: &'static str,
    /// Why it is not there: a sentence.
    pub reason: String,
}

/// How one native tool is made.
pub type Make = fn(&Parts) -> Result<Arc<dyn Tool>, Absent>;

/// Every native tool, by name.
pub const NATIVE: &[Make] = &[
    calendar_read::make,
    chat_send::make,
    clock::make,
    echo::make,
    github_create_issue::make,
    github_list_issues::make,
    memory_read::make,
    memory_write::make,
    script_exec::make,
    script_list::make,
    script_reload::make,
    script_run::make,
    vault_list::make,
    vault_read::make,
    vault_search::make,
    vault_write::make,
    web_fetch::make,
    workspace_list::make,
    workspace_read::make,
    workspace_write::make,
];

/// The native tools, ready for the registry, and those that are not there.
pub fn native(parts: &Parts) -> (Vec<Arc<dyn Tool>>, Vec<Absent>) {
    let (mut there, mut absent) = (Vec::new(), Vec::new());
    for made in NATIVE.iter().map(|make| make(parts)) {
        match made {
            Ok(tool) => there.push(tool),
            Err(why) => absent.push(why),
        }
    }
    (there, absent)
}

/// The tools that are made from a clock alone, for whoever needs a tool and no daemon around it.
pub fn plain(clock: &Arc<dyn Clock>) -> Vec<Arc<dyn Tool>> {
    vec![clock::of(clock), echo::new()]
}

/// A name written in this crate.
#[expect(clippy::expect_used, reason = "the names are literals, and a test makes every tool of the table")]
fn named(name: &'static str) -> ToolName {
    name.parse().expect("a native tool has a sound name")
}

/// A whole number, also where it is written `2.0`, as schemas allow.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| format!("{:.0}", value.as_f64()?).parse().ok())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::time::Duration;

    use covenant_gate::clock::HandClock;
    use covenant_model::secret::Secret;
    use covenant_model::time::Timestamp;
    use covenant_model::tool::ToolSpec;
    use covenant_runner::child::Child;
    use covenant_runner::order::Order;
    use serde_json::json;

    use super::*;
    use crate::ports::{Later, Request, Response};
    use crate::settings::{
        Calendar, CalendarSource, Chat, GitHub, Hidden, LeftOut, Outside, Provider, Scripts,
    };

    struct Nowhere;

    impl Web for Nowhere {
        fn send(&self, _: Request) -> Later<'_, Result<Response, String>> {
            Box::pin(async { Err("nothing is sent here".to_owned()) })
        }
    }

    impl Programs for Nowhere {
        fn start(&self, _: Order) -> Later<'_, Result<Child, String>> {
            Box::pin(async { Err("nothing is started here".to_owned()) })
        }
    }

    pub(crate) fn vault(root: &Path, git_sync: bool) -> Arc<Vault> {
        let ground = crate::vault::Ground {
            indexes: Arc::new(|_, _| Err("nothing is indexed here".to_owned())),
            programs: Arc::new(Nowhere),
            environment: Arc::new(|_| None),
            clock: Arc::new(HandClock::at(Timestamp::from_millis(1))),
        };
        Vault::new(&crate::settings::Vault { path: root.join("vault"), git_sync }, ground)
    }

    /// Parts of which every tool can be made, in that directory.
    pub(crate) fn parts(root: &Path) -> Parts {
        let token = || Secret::new("token-of-the-tests".to_owned());
        let base_url = "https://api.github.com".parse().unwrap();
        let github = GitHub { token: token(), base_url, hidden: Hidden::default() };
        let chat =
            Chat { provider: Provider::Slack, token: Some(token()), url: None, hidden: Hidden::default() };
        let settings = Settings {
            workspace: Ok(root.join("workspace")),
            memory: root.join("memory"),
            vault: Err(crate::settings::NO_VAULT.to_owned()),
            calendars: vec![Calendar {
                name: "team".to_owned(),
                source: CalendarSource::File(root.join("team.ics")),
            }],
            github: Some(github),
            chat: BTreeMap::from([("team".to_owned(), chat)]),
            scripts: Scripts {
                path: root.join("scripts"),
                within: Duration::from_secs(30),
                memory_mb: 128,
                allowlist: BTreeMap::new(),
            },
            left_out: Vec::new(),
        };
        Parts {
            clock: Arc::new(HandClock::at(Timestamp::from_millis(1))),
            settings: Arc::new(settings),
            web: Arc::new(Nowhere),
            programs: Arc::new(Nowhere),
            secrets: Arc::new(|_| None),
            vault: Ok(vault(root, false)),
            slots: Arc::default(),
        }
    }

    fn tools() -> Vec<Arc<dyn Tool>> {
        let root = tempfile::tempdir().unwrap();
        native(&parts(root.path())).0
    }

    fn specs() -> Vec<ToolSpec> {
        tools().iter().map(|tool| tool.spec()).collect()
    }

    #[test]
    fn the_bundled_tools_are_listed_once_and_by_name() {
        let names: Vec<_> = specs().iter().map(|spec| spec.name.to_string()).collect();
        assert_eq!(names, covenant_model::server::BUILT_IN);
    }

    #[test]
    fn numbers_may_be_written_as_schemas_allow() {
        for (written, number) in
            [(json!(2), Some(2)), (json!(2.0), Some(2)), (json!(1e3), Some(1000)), (json!("2"), None)]
        {
            assert_eq!(whole(&written), number, "{written}");
        }
    }

    #[test]
    fn a_tool_whose_section_cannot_be_used_is_absent_for_that_reason() {
        let root = tempfile::tempdir().unwrap();
        let mut parts = parts(root.path());
        let mut settings = (*parts.settings).clone();
        settings.calendars.clear();
        settings.chat.clear();
        settings.github = None;
        let reasons = |settings: &Settings, parts: &mut Parts| -> BTreeMap<&str, String> {
            parts.settings = Arc::new(settings.clone());
            native(parts).1.into_iter().map(|absent| (absent.name, absent.reason)).collect()
        };
        let tools = [
            ("calendar_read", Outside::Calendars),
            ("chat_send", Outside::Chat),
            ("github_create_issue", Outside::GitHub),
            ("github_list_issues", Outside::GitHub),
        ];
        let unwritten = reasons(&settings, &mut parts);
        for (tool, _) in tools {
            assert!(unwritten[tool].contains("not configured") || unwritten[tool].contains("is configured"));
        }
        let left_out = |service| LeftOut { service, reason: format!("{service:?} is not used: why") };
        settings.left_out = [Outside::Calendars, Outside::GitHub, Outside::Chat].map(left_out).to_vec();
        let unusable = reasons(&settings, &mut parts);
        for (tool, service) in tools {
            assert_eq!(unusable[tool], format!("{service:?} is not used: why"));
        }
    }

    #[test]
    fn every_tool_has_a_description_and_an_object_schema() {
        for ToolSpec { name, description, input_schema, .. } in specs() {
            assert!(
                description.is_some_and(|text| text.starts_with(char::is_uppercase)),
                "{name}: a sentence"
            );
            assert_eq!(input_schema["type"], "object", "{name}");
            let properties = input_schema["properties"].as_object().expect("properties");
            for required in input_schema["required"].as_array().into_iter().flatten() {
                assert!(properties.contains_key(required.as_str().expect("a name")), "{name}: {required}");
            }
        }
    }

    /// PACT-17; `echo` keeps the schema its document gives, which has no description.
    #[test]
    fn every_property_has_a_type_and_a_description() {
        for ToolSpec { name, input_schema, .. } in specs() {
            for (property, schema) in input_schema["properties"].as_object().expect("properties") {
                assert!(schema["type"].is_string(), "{name}.{property}");
                assert!(schema["description"].is_string() || name.as_str() == "echo", "{name}.{property}");
            }
        }
    }

    #[test]
    fn every_tool_says_whether_it_changes_anything() {
        for ToolSpec { name, extra, .. } in specs() {
            for hint in ["readOnlyHint", "openWorldHint"] {
                assert!(extra["annotations"][hint].is_boolean(), "{name}: {hint}");
            }
        }
    }

    #[test]
    fn echo_is_described_as_documented() {
        let echo = specs().into_iter().find(|spec| spec.name.as_str() == "echo").expect("echo");
        assert_eq!(echo.description.as_deref(), Some("Returns the provided text argument verbatim."));
        let documented: Value = json!({
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
            "additionalProperties": false
        });
        assert_eq!(echo.input_schema, documented);
    }

    #[test]
    fn a_call_needs_the_capability_named_after_the_tool() {
        for tool in tools() {
            let name = tool.spec().name;
            assert_eq!(tool.required(), [format!("tool.call.{name}")]);
            assert_eq!(tool.agent_id(), format!("tool:{name}"));
        }
    }
}
