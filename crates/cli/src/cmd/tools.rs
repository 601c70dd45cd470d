//! `covenant tools`: what tools there are, and calling one.

mod operations;

use std::io::{IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use covenant_model::api::CallBody;
use covenant_model::envelope::Envelope;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::args::{JSON_LIMIT, object, tool};
use crate::client::{decode, segment};
use crate::exit::{Exit, Failure};
use crate::print::{self, Table, escape_block};
use crate::setting::Setting;

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  covenant tools list
  covenant tools show echo
  covenant tools call echo --args '{\"text\":\"hi\"}'";
const LIST: &str = "\
Examples:
  covenant tools list
  covenant tools list --all           # also what is not there, and why
  covenant tools list --json          # exactly an MCP tools/list result";
const SHOW: &str = "\
Examples:
  covenant tools show echo            # what it does, what arguments it takes
  covenant tools show echo --json     # with the whole schemas";
const SEARCH: &str = "\
Examples:
  covenant tools search read file     # every word in the name or description";
const CALL: &str = "\
Examples:
  covenant tools call clock
  covenant tools call echo --args '{\"text\":\"hi\"}'
  covenant tools call echo --args-file arguments.json
  echo '{\"text\":\"hi\"}' | covenant tools call echo --args-file -

A call needs a grant: covenant capabilities grant tool.call.NAME
Exit codes: 1 the tool failed, 2 bad arguments or no such tool, 3 refused.";

/// See what tools there are, and call one.
#[derive(Debug, Subcommand)]
pub(crate) enum Tools {
    List(List),
    Show(Show),
    Search(Search),
    Call(Call),
}

/// List the tools.
#[derive(Debug, Args)]
#[command(after_help = LIST)]
pub(crate) struct List {
    /// Also the built-in tools that are not there, each with the reason.
    #[arg(long)]
    all: bool,
}

/// Show one tool: what it does, what it takes.
#[derive(Debug, Args)]
#[command(after_help = SHOW)]
pub(crate) struct Show {
    /// Its name.
    #[arg(value_parser = tool)]
    name: String,
}

/// Find tools by words in their names and descriptions.
#[derive(Debug, Args)]
#[command(after_help = SEARCH)]
pub(crate) struct Search {
    /// Words that must all occur.
    #[arg(required = true)]
    words: Vec<String>,
}

/// Call a tool and print what it answers.
#[derive(Debug, Args)]
#[command(after_help = CALL)]
pub(crate) struct Call {
    /// Its name.
    #[arg(value_parser = tool)]
    name: String,
    /// The arguments, as one JSON object.
    #[arg(long, value_name = "JSON", value_parser = object)]
    args: Option<Map<String, Value>>,
    /// A file that holds them; `-` is standard input.
    #[arg(long, value_name = "FILE", conflicts_with = "args")]
    args_file: Option<PathBuf>,
}

impl Tools {
    pub(crate) fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        match self {
            Self::List(list) => list.run(setting),
            Self::Show(show) => show.run(setting),
            Self::Search(search) => search.run(setting),
            Self::Call(call) => call.run(setting),
        }
    }
}

/// A `tools/list` result, each tool as the daemon wrote it.
#[derive(Default, Serialize, Deserialize)]
struct Catalogue {
    tools: Vec<Box<RawValue>>,
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Meta>,
}

/// What there is to know beside the list.
#[derive(Serialize, Deserialize)]
struct Meta {
    #[serde(default)]
    absent: Vec<Absent>,
}

/// A tool that is not there.
#[derive(Serialize, Deserialize)]
struct Absent {
    name: String,
    reason: String,
}

impl Catalogue {
    fn ask(setting: &Setting, query: &str) -> Result<Self, Failure> {
        let mut whole = Self::default();
        setting.client()?.parts(&format!("/api/v1/tools{query}"), |part| {
            let part: Self = decode(part)?;
            whole.tools.extend(part.tools);
            whole.meta = part.meta.or(whole.meta.take());
            Ok(())
        })?;
        Ok(whole)
    }

    fn show(&self, setting: &Setting) -> Result<(), Failure> {
        if setting.json() {
            return print::json_text(&serde_json::to_vec(self).unwrap_or_default());
        }
        let mut table = Table::new(&["NAME", "DESCRIPTION"]);
        for tool in &self.tools {
            let tool: Value = decode(tool.get().as_bytes())?;
            table.row([member(&tool, "name").into(), summary(member(&tool, "description")).into()]);
        }
        table.print()?;
        let absent = self.meta.as_ref().map(|meta| meta.absent.as_slice()).unwrap_or_default();
        if !absent.is_empty() {
            print::line("")?;
            let mut table = Table::new(&["NOT THERE", "WHY"]);
            for Absent { name, reason } in absent {
                table.row([name.into(), reason.into()]);
            }
            table.print()?;
        }
        Ok(())
    }
}

/// The first sentence of a description: a list is read by its lines, and `tools show` has the rest.
fn summary(description: &str) -> &str {
    let line = description.lines().next().unwrap_or_default();
    let ends = |(at, end): (usize, &str)| {
        let (sentence, rest) = line.split_at_checked(at + end.trim_end().len())?;
        rest.trim_start().starts_with(char::is_uppercase).then_some(sentence)
    };
    line.match_indices(". ").find_map(ends).unwrap_or(line)
}

impl List {
    fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        Catalogue::ask(setting, if self.all { "?all=true" } else { "" })?.show(setting)?;
        Ok(Exit::Done)
    }
}

impl Search {
    fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let found = Catalogue::ask(setting, &format!("?q={}", segment(&self.words.join(" "))))?;
        if found.tools.is_empty() && !setting.json() {
            print::note("no tool has all of these words");
        } else {
            found.show(setting)?;
        }
        Ok(Exit::Done)
    }
}

impl Show {
    fn run(&self, setting: &Setting) -> Result<Exit, Failure> {
        let document = setting.client()?.get_raw(&format!("/api/v1/tools/{}", segment(&self.name)))?;
        if setting.json() {
            print::json_text(&document)?;
            return Ok(Exit::Done);
        }
        let tool: Value = decode(&document)?;
        print::facts(&[("name", member(&tool, "name").to_owned()), ("grant", grant_command(&tool))])?;
        let description = member(&tool, "description");
        if !description.is_empty() {
            print::line(&format!("\n{}", escape_block(description)))?;
        }
        if let Some(operations) = tool.get("inputSchema").and_then(operations::Operations::of) {
            print::line(&format!("\n{}\n", escape_block(operations.about())))?;
            operations.show()?;
            print::note(&format!(
                "the schemas of arguments and result: covenant tools show {} --json",
                self.name
            ));
            return Ok(Exit::Done);
        }
        for (heading, schema) in [("arguments", "inputSchema"), ("result", "outputSchema")] {
            if let Some(schema) = tool.get(schema) {
                let text = serde_json::to_string_pretty(schema).unwrap_or_default();
                print::line(&format!("\n{heading}:\n{}", print::escape_json(&text)))?;
            }
        }
        Ok(Exit::Done)
    }
}

impl Call {
    fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        let arguments = match (self.args, &self.args_file) {
            (Some(arguments), _) => arguments,
            (None, Some(file)) => read_arguments(file)?,
            (None, None) => Map::new(),
        };
        let path = format!("/api/v1/tools/{}/call", segment(&self.name));
        let answer = setting.client()?.call(&path, &CallBody { arguments })?;
        let result: Answered<'_> = decode(&answer)?;
        if setting.json() {
            print::json_text(&answer)?;
        } else {
            result.blocks().into_iter().try_for_each(Block::show)?;
        }
        match result.is_error {
            Some(true) => result.refusal(&self.name).map_or(Ok(Exit::Failed), Err),
            _ => Ok(Exit::Done),
        }
    }
}

fn read_arguments(file: &Path) -> Result<Map<String, Value>, Failure> {
    let unreadable = |error: std::io::Error| {
        Failure::usage(
            format!("{} cannot be read: {error}", file.display()),
            "name a file that holds one JSON object",
        )
    };
    let limit = u64::try_from(JSON_LIMIT).unwrap_or(u64::MAX) + 1;
    let mut text = String::new();
    if file == Path::new("-") {
        if std::io::stdin().is_terminal() {
            print::note("reading the arguments from this terminal: one JSON object, Ctrl-D ends it");
        }
        std::io::stdin().take(limit).read_to_string(&mut text).map_err(unreadable)?;
    } else {
        let opened = std::fs::File::open(file).map_err(unreadable)?;
        opened.take(limit).read_to_string(&mut text).map_err(unreadable)?;
    }
    object(&text)
        .map_err(|error| Failure::told(Exit::Usage, &format!("the arguments in {}: {error}", file.display())))
}

fn member<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn grant_command(tool: &Value) -> String {
    format!("covenant capabilities grant tool.call.{}", member(tool, "name"))
}

/// A result as far as it must be read. The rest is the server's, and may be JSON that no text of ours can hold.
#[derive(Deserialize)]
struct Answered<'a> {
    #[serde(default, rename = "isError")]
    is_error: Option<bool>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "structuredContent")]
    structured: Option<&'a RawValue>,
}

/// What is shown of a block: its text, or why there is none.
#[derive(Debug, PartialEq, Eq)]
enum Block {
    Text(String),
    Note(String),
}

impl Answered<'_> {
    /// The blocks of a result: text as it is, the rest by name.
    fn blocks(&self) -> Vec<Block> {
        let Some(content) = self.content else { return Vec::new() };
        let blocks = serde_json::from_str::<Vec<&RawValue>>(content.get()).unwrap_or_default();
        blocks.into_iter().map(Block::of).collect()
    }

    /// The refusal that a tool of a team tells of in its own words. What a server says under such a name is its own.
    fn refusal(&self, tool: &str) -> Option<Failure> {
        if !tool.starts_with("covibe_") || tool.contains("__") {
            return None;
        }
        let told: Envelope = serde_json::from_str(self.structured?.get()).ok()?;
        let code = told.data.get("code")?.as_str()?.to_owned();
        let message = told.message.trim_end_matches('.').to_owned();
        Some(Failure::refusal(code, message, told.feedback.required_action.unwrap_or_default()))
    }
}

impl Block {
    fn of(raw: &RawValue) -> Self {
        let block: Value = match serde_json::from_str(raw.get()) {
            Ok(block) => block,
            Err(error) => {
                return Self::Note(format!("(a block cannot be read: {error}; see it with --json)"));
            }
        };
        let resource = block.get("resource").unwrap_or(&Value::Null);
        match (member(&block, "type"), resource.get("text").and_then(Value::as_str)) {
            ("text", _) => Self::Text(member(&block, "text").to_owned()),
            ("resource", Some(text)) => Self::Text(text.to_owned()),
            ("resource_link", _) => Self::Text(member(&block, "uri").to_owned()),
            (kind, _) => Self::Note(format!("(a block of kind `{kind}` is not shown; see it with --json)")),
        }
    }

    fn show(self) -> Result<(), Failure> {
        match self {
            Self::Text(text) => show_text(&text),
            Self::Note(note) => {
                print::note(&note);
                Ok(())
            }
        }
    }
}

/// A file or a program gets a tool's text as it is; a terminal gets it without what would move the cursor.
fn show_text(text: &str) -> Result<(), Failure> {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    if std::io::stdout().is_terminal() {
        print::raw(format!("{}{end}", escape_block(text)).as_bytes())
    } else {
        print::raw(format!("{text}{end}").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_text_of_ours_can_hold_is_told_and_hides_nothing_else() {
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        let answer = format!(
            r#"{{"content":[{{"type":"text","text":"good"}},{{"type":"text","text":"a\ud800b"}}],"isError":null,
            "structuredContent":{{"deep":{deep},"far":1e400,"half":"\ud800"}}}}"#
        );
        let result: Answered<'_> = decode(answer.as_bytes()).unwrap();
        assert_eq!(result.is_error, None);
        let blocks = result.blocks();
        assert_eq!(blocks[0], Block::Text("good".to_owned()));
        assert!(matches!(&blocks[1], Block::Note(note) if note.contains("cannot be read")), "{blocks:?}");
        let failed: Answered<'_> = decode(br#"{"isError":true,"content":7}"#).unwrap();
        assert_eq!((failed.is_error, failed.blocks()), (Some(true), Vec::new()));
    }

    #[test]
    fn a_refusal_in_a_tools_own_words_ends_as_any_other_does() {
        let ends = |tool: &str, status: &str, data: &str| {
            let answer = format!(
                r#"{{"isError":true,"content":[],"structuredContent":{{"status":"{status}","message":"No.",
                "feedback":{{"type":"error","required_action":"Do that."}},"data":{data}}}}}"#
            );
            let result: Answered<'_> = decode(answer.as_bytes()).unwrap();
            result.refusal(tool).map(|failure| (failure.exit(), failure.sentence()))
        };
        let told = |exit| Some((exit, "No; Do that.".to_owned()));
        let invalid = r#"{"code":"invalid_arguments","field":"title"}"#;
        assert_eq!(ends("covibe_task", "error", invalid), told(Exit::Usage));
        assert_eq!(ends("covibe_task", "error", r#"{"code":"not_granted"}"#), told(Exit::Refused));
        assert_eq!(ends("covibe_task", "blocked", r#"{"code":"pending_approval"}"#), told(Exit::Refused));
        assert_eq!(ends("covibe_task", "error", r#"{"code":"new"}"#), told(Exit::Failed));
        assert_eq!(ends("covibe_task", "blocked", "{}"), None);
        assert_eq!(ends("covibe_x__task", "error", r#"{"code":"not_granted"}"#), None);
        assert_eq!(ends("echo", "error", r#"{"code":"not_granted"}"#), None);
    }

    #[test]
    fn a_list_has_the_first_sentence_of_a_description() {
        for (description, first) in [
            ("", ""),
            ("Reads a file", "Reads a file"),
            ("Reads a file. Only within its directory.", "Reads a file."),
            ("Reads a file, e.g. notes.md or others. Only there.", "Reads a file, e.g. notes.md or others."),
            ("Reads.\nUse it. Often.", "Reads."),
            ("Liest. Äußerst schnell.", "Liest."),
        ] {
            assert_eq!(summary(description), first);
        }
    }
}
