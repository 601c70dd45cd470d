//! The servers that plugins bring: `plugin.toml` with `[[mcp_servers]]` (or `[[mcp.servers]]`), `plugin.json` with `mcpServers`. A plugin that is
//! malformed, or that others may change, brings none and says so; the rest is not touched by it.

use std::fs;
use std::path::{Path, PathBuf};

use covenant_model::server::{Plan, Reach};
use serde_json::{Map, Value};

use super::known::{Known, PLUGIN_ROOT};
use super::read::Gathering;
use super::written::{self, Written};
use crate::config::{self, Config};
use crate::trust::{self, Distrust, Kind};

/// How many plugins one directory may hold.
const MOST: usize = 1000;

/// How many files a plugin that runs programs may hold, with all that it brings along.
const MOST_FILES: usize = 100_000;

/// The most bytes that placeholders may put into one text.
const LONGEST: usize = 1024 * 1024;

/// The keys in whose values a plugin may name places.
const PLACES: &[&str] = &["command", "args", "env", "cwd", "sandbox"];

/// Reads every plugin.
pub(super) fn read(config: &Config, known: &Known<'_>, gathering: &mut Gathering<'_>) {
    let workspace = config.workspace.place(gathering.home, known.environment);
    for directory in config.plugins.places(gathering.home, known.environment) {
        match trust::directory(&directory) {
            Ok(true) => {}
            // The one of the home is made by whoever has a plugin.
            Ok(false) if directory == gathering.home.plugins() => continue,
            Ok(false) => {
                let warning = format!("{} is named in `plugins.dirs` and is not there", directory.display());
                gathering.found.warnings.push(warning);
                continue;
            }
            Err(distrust) => {
                gathering.found.warnings.push(format!("{distrust}; its plugins are not used"));
                continue;
            }
        }
        match plugins(&directory) {
            Ok(plugins) => plugins.iter().for_each(|plugin| one(plugin, &workspace, known, gathering)),
            Err(reason) => {
                let warning = format!("{}: {reason}; its plugins are not used", directory.display());
                gathering.found.warnings.push(warning);
            }
        }
    }
}

/// The directories in there, in the order of their names; hidden ones are none of ours.
pub(super) fn plugins(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).map_err(|error| error.to_string())? {
        let entry = entry.map_err(|error| error.to_string())?;
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if hidden || !entry.path().is_dir() {
            continue;
        }
        if found.len() >= MOST {
            return Err(format!("it holds more than {MOST} directories"));
        }
        found.push(entry.path());
    }
    found.sort();
    Ok(found)
}

/// The files of a plugin that may bring servers.
pub(super) fn files(plugin: &Path) -> [PathBuf; 2] {
    ["plugin.toml", "plugin.json"].map(|name| plugin.join(name))
}

fn one(plugin: &Path, workspace: &Path, known: &Known<'_>, gathering: &mut Gathering<'_>) {
    match servers(plugin) {
        Ok(Brought { root, entries, warnings }) => {
            gathering.found.warnings.extend(warnings);
            let known = Known { plugin: Some(&root), ..*known };
            for (path, mut written) in entries {
                if let Some(keys) = &mut written.keys {
                    fill(keys, &root, &workspace.to_string_lossy());
                }
                gathering.take(&path, &written, &known);
            }
        }
        Err(sentence) => gathering.found.warnings.push(format!("{sentence}; the plugin is not used")),
    }
}

/// What a plugin brings.
#[derive(Default)]
struct Brought {
    /// Its directory.
    root: String,
    /// Its entries, each with its file.
    entries: Vec<(PathBuf, Written)>,
    /// What a person should know of it.
    warnings: Vec<String>,
}

/// What the plugin brings; otherwise a sentence that says why that is nothing.
fn servers(plugin: &Path) -> Result<Brought, String> {
    let parent = plugin.parent().unwrap_or(plugin);
    let trusted = trust::directory(plugin).and_then(|_| trust::place(plugin, parent));
    trusted.map_err(|distrust| distrust.to_string())?;
    let root = plugin.to_str().ok_or_else(|| format!("{}: its name is not UTF-8", plugin.display()))?;
    let [toml, json] = files(plugin);
    let mut brought = Brought { root: root.to_owned(), ..Brought::default() };
    if let Some((path, text)) = text(toml)? {
        let (entries, warnings) = written::plugin_toml(&path, &text).map_err(|error| error.to_string())?;
        brought.entries.extend(entries.into_iter().map(|written| (path.clone(), written)));
        brought.warnings = warnings;
    }
    if let Some((path, text)) = text(json)? {
        let entries =
            written::plugin_json(&text).map_err(|reason| format!("{}, {reason}", path.display()))?;
        for mut written in entries {
            written.keys.iter_mut().for_each(tell_root);
            brought.entries.push((path.clone(), written));
        }
    }
    let runs = |(_, written): &(PathBuf, Written)| {
        written.keys.as_ref().is_some_and(|keys| keys.contains_key("command"))
    };
    if brought.entries.iter().any(runs) {
        trust::tree(plugin, MOST_FILES).map_err(|distrust| distrust.to_string())?;
    }
    Ok(brought)
}

fn text(path: PathBuf) -> Result<Option<(PathBuf, String)>, String> {
    let Some(content) = trust::read(&path, Kind::Program).map_err(|distrust| distrust.to_string())? else {
        return Ok(None);
    };
    let text = config::utf8(&path, content.bytes).map_err(|error| error.to_string())?;
    Ok(Some((path, text)))
}

/// What of a plugin is run must be what its owner put there. Whatever lies in its directory was judged before; this is of
/// what its command and its arguments name from there on, which may lie elsewhere.
pub(super) fn judge(plan: &Plan, root: &str) -> Result<(), Distrust> {
    let Reach::Program(program) = &plan.reach else { return Ok(()) };
    let root = Path::new(root);
    let cwd = program.cwd.as_deref().map_or(Path::new(""), Path::new);
    let command = Path::new(&program.command);
    // An argument that is a path is one from where the program runs; most are none, and lead nowhere.
    let arguments = program.args.iter().map(|argument| cwd.join(argument));
    let arguments = arguments.filter(|place| place.starts_with(root) && place.exists());
    let command = Some(command.to_owned()).filter(|command| command.starts_with(root));
    command.into_iter().chain(arguments).try_for_each(|place| trust::place(&place, root))
}

/// Programs of such plugins find their directory in their environment.
fn tell_root(keys: &mut Map<String, Value>) {
    if !keys.contains_key("command") {
        return;
    }
    let env = keys.entry("env").or_insert_with(|| Value::Object(Map::new()));
    if let Some(env) = env.as_object_mut() {
        env.entry(PLUGIN_ROOT).or_insert_with(|| Value::String(format!("${{{PLUGIN_ROOT}}}")));
    }
}

/// Puts the plugin's directory and the workspace in their places; paths that are relative are the plugin's own.
fn fill(keys: &mut Map<String, Value>, root: &str, workspace: &str) {
    // A dollar sign in these paths is one, whatever follows it.
    let (root, workspace) = (root.replace('$', "$$"), workspace.replace('$', "$$"));
    for key in PLACES {
        if let Some(value) = keys.get_mut(*key) {
            fill_value(value, &root, &workspace);
        }
    }
    if let Some(Value::String(command)) = keys.get_mut("command")
        && (command.starts_with("./") || command.starts_with("../"))
    {
        *command = format!("{root}/{command}");
    }
    if let Some(Value::String(cwd)) = keys.get_mut("cwd")
        && !cwd.is_empty()
        && !cwd.starts_with(['/', '~', '$'])
    {
        *cwd = format!("{root}/{cwd}");
    }
}

fn fill_value(value: &mut Value, root: &str, workspace: &str) {
    match value {
        Value::String(text) => {
            let grown = text.matches("{workspace}").count().saturating_mul(workspace.len());
            let grown = text.matches("{plugin}").count().saturating_mul(root.len()).saturating_add(grown);
            // No one means that many; as long as they are, such texts are refused later.
            if grown > LONGEST {
                return;
            }
            // In one pass over the text: a path that holds a placeholder stays as it is.
            let parts = text.split("{workspace}").map(|part| part.replace("{plugin}", root));
            *text = parts.collect::<Vec<String>>().join(workspace);
        }
        Value::Array(values) => values.iter_mut().for_each(|value| fill_value(value, root, workspace)),
        Value::Object(values) => values.values_mut().for_each(|value| fill_value(value, root, workspace)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
