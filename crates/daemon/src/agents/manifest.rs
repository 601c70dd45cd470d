//! From the text of an `agent.toml` to a manifest: what must be there, what each key may say, and the place of everything
//! that is wrong.

mod actions;
mod document;
mod sheet;
mod words;

use std::path::Path;
use std::{fmt, io, thread};

use covenant_model::intent::Priority;
use covenant_model::manifest::{Manifest, Network, Resources, Runtime, Settlement};
use covenant_model::spelling::nearest;
use serde::Serialize;

use self::sheet::{Part, Sheet};
use crate::config::place;

/// The most bytes a manifest may have.
pub const LIMIT: usize = 256 * 1024;

/// Room for the deepest thing that can be written in so many bytes, several times over.
const STACK: usize = 64 * 1024 * 1024;

/// The most problems that are told of one manifest.
const MOST: usize = 50;

/// The sections and their keys.
const SECTIONS: [(&str, &[&str]); 5] = [
    ("agent", &["id", "name", "version", "description", "runtime", "entry"]),
    ("capabilities", &["required", "optional"]),
    ("resources", &["cpu_ms_per_task", "memory_mb", "disk_mb", "network", "pids"]),
    ("settlement", &["budget_credits_per_hour", "priority"]),
    ("sandbox", &["required"]),
];

/// Something about a manifest, and where in the file it stands; lines and columns are counted from one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
    /// A sentence: what it is, and what to write.
    pub reason: String,
}

impl Problem {
    fn at(text: &str, offset: usize, reason: impl Into<String>) -> Self {
        let (line, column) = place::of(text, offset);
        Self { line, column, reason: reason.into() }
    }

    /// The sentence with the file before it.
    pub fn of(&self, file: &Path) -> String {
        format!("{}, {self}", file.display())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.reason)
    }
}

/// A manifest, and what a person should know about its file.
#[derive(Debug)]
pub struct Reading {
    /// The manifest.
    pub manifest: Manifest,
    /// Keys that have no effect.
    pub warnings: Vec<Problem>,
}

/// Reads these bytes as the manifest in that file. The error is everything that is wrong with it, in the order of the file.
pub fn read(file: &Path, bytes: &[u8]) -> Result<Reading, Vec<Problem>> {
    if bytes.len() > LIMIT {
        let reason = format!("the file has more than {} KiB, and a manifest may not", LIMIT >> 10);
        return Err(vec![Problem { line: 1, column: 1, reason }]);
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let sound = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let before = String::from_utf8_lossy(sound);
        vec![Problem::at(&before, before.len(), "this byte is not UTF-8; save the file as UTF-8")]
    })?;
    on_a_deep_stack(|| parse(file, text)).unwrap_or_else(|error| {
        let reason = format!("the file cannot be looked at: {error}; try again");
        Err(vec![Problem { line: 1, column: 1, reason }])
    })
}

/// Runs that on a stack of its own. Whoever reads TOML bounds how deep brackets are in one another, and how many dots a key
/// has, but not both together, and visits what it has read level by level.
fn on_a_deep_stack<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    let deep = thread::Builder::new().name("manifest".to_owned()).stack_size(STACK);
    thread::scope(|scope| {
        let worker = deep.spawn_scoped(scope, work)?;
        worker.join().map_err(|_| io::Error::other("its reader gave up"))
    })
}

fn parse(file: &Path, text: &str) -> Result<Reading, Vec<Problem>> {
    let parsed = toml_edit::Document::parse(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        vec![Problem::at(text, start, format!("this is not TOML: {}", error.message().trim()))]
    })?;
    let mut sheet = Sheet::new(text, parsed.as_table());
    let manifest = whole(file, &mut sheet);
    unknown(&mut sheet);
    match (manifest, sheet.wrong.is_empty()) {
        (Some(manifest), true) => Ok(Reading { manifest, warnings: told(sheet.warnings) }),
        _ => Err(told(sheet.wrong)),
    }
}

/// Everything the manifest says, unless something of it that must be there is not. Whatever is wrong is noted in the sheet.
fn whole(file: &Path, sheet: &mut Sheet<'_>) -> Option<Manifest> {
    let agent = sheet.section("agent");
    if sheet.wrong.is_empty() && !agent.is_there() {
        let reason = "there is no [agent]; write that section, with id, name, version, runtime and entry";
        sheet.wrong(0, reason);
    }
    let id = words::id(sheet, agent);
    let name = words::name(sheet, agent);
    let version = words::version(sheet, agent);
    let description = words::description(sheet, agent);
    let runtime = sheet.choice(agent, "runtime", &Runtime::ALL.map(|runtime| (runtime.as_str(), runtime)));
    if runtime.is_none() {
        sheet.missing(agent, "runtime", "`runtime = \"python3\"`, or \"rust-bin\", or \"node\"");
    }
    let entry = words::entry(sheet, agent);
    let capabilities = sheet.section("capabilities");
    let required = actions::list(sheet, capabilities, "required");
    let optional = actions::list(sheet, capabilities, "optional");
    let resources = resources(sheet);
    let settlement = settlement(sheet);
    let sandbox = sheet.section("sandbox");
    let sandbox_required = sheet.flag(sandbox, "required").unwrap_or_default();
    let written = document::written(sheet);
    let entry = entry?;
    let program = file.parent().unwrap_or(Path::new("")).join(&entry);
    let mut manifest = Manifest {
        id: id?,
        name: name?,
        version: version?,
        description: description.unwrap_or_default(),
        runtime: runtime?,
        entry,
        required,
        optional,
        resources,
        settlement,
        sandbox_required,
        document: written?,
        file: file.to_owned(),
        program,
    };
    document::fill_in(&mut manifest);
    Some(manifest)
}

fn resources(sheet: &mut Sheet<'_>) -> Resources {
    const DAY: u64 = 24 * 60 * 60 * 1000;
    const TEBIBYTE: u64 = 1024 * 1024;
    let networks =
        [("off", Network::Off), ("outbound-https-only", Network::OutboundHttpsOnly), ("full", Network::Full)];
    let (section, usual) = (sheet.section("resources"), Resources::default());
    let pids = sheet.number(section, "pids", 1..=65_536).and_then(|pids| u32::try_from(pids).ok());
    Resources {
        cpu_ms_per_task: sheet.number(section, "cpu_ms_per_task", 1..=DAY).unwrap_or(usual.cpu_ms_per_task),
        memory_mb: sheet.number(section, "memory_mb", 1..=TEBIBYTE).unwrap_or(usual.memory_mb),
        disk_mb: sheet.number(section, "disk_mb", 1..=TEBIBYTE).unwrap_or(usual.disk_mb),
        network: sheet.choice(section, "network", &networks).unwrap_or(usual.network),
        pids: pids.unwrap_or(usual.pids),
    }
}

fn settlement(sheet: &mut Sheet<'_>) -> Settlement {
    let priorities = [Priority::Low, Priority::Normal, Priority::High].map(|one| (one.as_str(), one));
    let section = sheet.section("settlement");
    let most = u64::try_from(i64::MAX).unwrap_or(u64::MAX);
    Settlement {
        budget_credits_per_hour: sheet
            .number(section, "budget_credits_per_hour", 0..=most)
            .unwrap_or_default(),
        priority: sheet.choice(section, "priority", &priorities).unwrap_or_default(),
    }
}

/// Warns of what has no effect: keys of our sections that are none, and names that were meant to be one of them.
fn unknown(sheet: &mut Sheet<'_>) {
    for (name, item) in sheet.root {
        let at = sheet.key(sheet.root, name);
        let Some((section, keys)) = SECTIONS.iter().find(|(section, _)| *section == name) else {
            let meant = nearest(name, SECTIONS.iter().map(|(section, _)| *section));
            if !item.is_table_like() && !item.is_array_of_tables() {
                let reason = "stands before any section, and has no effect; put it into one";
                sheet.warn(at, format!("`{}` {reason}", sheet::short(name)));
            } else if let Some(meant) = meant {
                let name = sheet::short(name);
                sheet.warn(at, format!("[{name}] has no effect; did you mean [{meant}]?"));
            }
            continue;
        };
        let Part { table: Some(table), .. } = sheet.quietly(section) else { continue };
        for (key, _) in table.iter().filter(|(key, _)| !keys.contains(key)) {
            let (at, key, known) = (sheet.key(table, key), sheet::short(key), keys.join(", "));
            sheet.warn(at, format!("`{section}.{key}` has no effect; [{section}] has {known}"));
        }
    }
}

/// What is told of many problems: in the order of the file, each once, and not all of very many.
fn told(mut problems: Vec<Problem>) -> Vec<Problem> {
    problems.sort_by_key(|problem| (problem.line, problem.column));
    let more = problems.len().saturating_sub(MOST);
    if more > 0 {
        problems.truncate(MOST);
        if let Some(last) = problems.last_mut() {
            last.reason = format!("{} (and {more} more problems after this one)", last.reason);
        }
    }
    problems
}

#[cfg(test)]
mod tests;
