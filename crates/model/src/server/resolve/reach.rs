//! Where the server of an entry is: a program or a URL, never both, and nothing that belongs to the other.

use std::collections::BTreeMap;

use super::{BadEntry, filled_in, one_of, whole, within};
use crate::secret::Secret;
use crate::server::entry::{Entry, SandboxEntry, Transport};
use crate::server::expand::{Lookup, Sight, expand_url};
use crate::server::headers;
use crate::server::plan::{Program, Reach, Web, WebTransport};

/// The most arguments or variables of one entry, and the most paths of its sandbox.
const MOST: usize = 1024;
const MOST_PATHS: usize = 128;

/// The longest URL.
const LONGEST_URL: usize = 8 * 1024;

/// The most memory of a sandbox, in MiB.
const TEBIBYTE: u64 = 1024 * 1024;

/// Where it is.
pub(super) fn of(entry: &Entry, lookup: &dyn Lookup) -> Result<Reach, BadEntry> {
    let wrong = |key: &str, reason: &str| Err(BadEntry::new(key, reason));
    match (is_set(&entry.command), is_set(&entry.url), entry.transport) {
        (false, false, Some(Transport::Http | Transport::Sse)) => {
            wrong("url", "is missing: say where the server is")
        }
        (false, false, _) => wrong(
            "command",
            "is missing: say which program to start, or give the `url` of a server that runs",
        ),
        (true, true, _) => {
            wrong("url", "stands beside `command`, and a server has only one of them: remove one")
        }
        (true, false, None | Some(Transport::Stdio)) => program(entry, lookup).map(Reach::Program),
        (true, false, Some(Transport::Http | Transport::Sse)) => {
            wrong("transport", "is for a server with a `url`, and this one has a `command`: remove the line")
        }
        (false, true, Some(Transport::Stdio)) => wrong(
            "transport",
            "is \"stdio\", for a server with a `command`, and this one has a `url`: remove the line",
        ),
        (false, true, None | Some(Transport::Http)) => web(entry, WebTransport::Http, lookup),
        (false, true, Some(Transport::Sse)) => web(entry, WebTransport::Sse, lookup),
    }
}

fn is_set(text: &str) -> bool {
    !text.trim().is_empty()
}

fn program(entry: &Entry, lookup: &dyn Lookup) -> Result<Program, BadEntry> {
    if !entry.headers.is_empty() {
        let reason = "is for a server with a `url`, and this one has a `command`: use `env`";
        return Err(BadEntry::new("headers", reason));
    }
    if entry.args.len() > MOST {
        return Err(BadEntry::new("args", format!("holds more than {MOST} arguments")));
    }
    let command = filled_in("command", &entry.command, Sight::Open, lookup)?;
    if !is_set(&command) {
        return Err(BadEntry::new("command", "is empty once its variables are filled in"));
    }
    if command.contains('/') && !command.starts_with('/') {
        let reason = "is a path that depends on where it is read from: begin it with `/`, `~/` or a variable";
        return Err(BadEntry::new("command", reason));
    }
    let args = entry.args.iter().map(|arg| filled_in("args", arg, Sight::Open, lookup));
    Ok(Program {
        command,
        args: args.collect::<Result<_, _>>()?,
        env: environment(&entry.env, lookup)?,
        cwd: is_set(&entry.cwd).then(|| path("cwd", &entry.cwd, lookup)).transpose()?,
        sandbox: entry.sandbox.as_ref().map(|sandbox| sandboxed(sandbox, lookup)).transpose()?,
    })
}

fn environment(
    env: &BTreeMap<String, String>,
    lookup: &dyn Lookup,
) -> Result<BTreeMap<String, Secret>, BadEntry> {
    if env.len() > MOST {
        return Err(BadEntry::new("env", format!("holds more than {MOST} variables")));
    }
    let mut filled = BTreeMap::new();
    for (name, value) in env {
        let key = format!("env.{name}");
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(BadEntry::new(key, "cannot name a variable: use letters, digits and `_`"));
        }
        let value = filled_in(&key, value, Sight::Private, lookup)?;
        filled.insert(name.clone(), Secret::new(value));
    }
    Ok(filled)
}

fn sandboxed(sandbox: &SandboxEntry, lookup: &dyn Lookup) -> Result<SandboxEntry, BadEntry> {
    one_of("sandbox.network", &sandbox.network, &["off", "outbound-https-only", "full"])?;
    within("sandbox.memory_mb", sandbox.memory_mb, 16, TEBIBYTE)?;
    let paths = |key: &str, paths: &[String]| -> Result<Vec<String>, BadEntry> {
        if paths.len() > MOST_PATHS {
            return Err(BadEntry::new(key, format!("holds more than {MOST_PATHS} paths")));
        }
        paths.iter().map(|text| path(key, text, lookup)).collect()
    };
    Ok(SandboxEntry {
        read: paths("sandbox.read", &sandbox.read)?,
        write: paths("sandbox.write", &sandbox.write)?,
        ..sandbox.clone()
    })
}

/// A path, which must be absolute: the daemon's own directory means nothing to whoever wrote it.
fn path(key: &str, text: &str, lookup: &dyn Lookup) -> Result<String, BadEntry> {
    let path = filled_in(key, text, Sight::Open, lookup)?;
    if path.starts_with('/') {
        return Ok(path);
    }
    Err(BadEntry::new(key, "holds a path that is not absolute: begin it with `/`, `~/` or a variable"))
}

fn web(entry: &Entry, transport: WebTransport, lookup: &dyn Lookup) -> Result<Reach, BadEntry> {
    let foreign = [
        ("args", !entry.args.is_empty()),
        ("env", !entry.env.is_empty()),
        ("cwd", is_set(&entry.cwd)),
        ("sandbox", entry.sandbox.is_some()),
    ];
    if let Some((key, _)) = foreign.into_iter().find(|(_, set)| *set) {
        let reason = "is for a server with a `command`, and this one has a `url`: remove it";
        return Err(BadEntry::new(key, reason));
    }
    let url = whole("url", expand_url(entry.url.trim(), lookup))?;
    check_url(&url)?;
    Ok(Reach::Web(Web {
        url: Secret::new(url),
        headers: headers::resolve(&entry.headers, lookup)?,
        transport,
    }))
}

/// The least that every URL has; whoever connects reads the rest.
fn check_url(url: &str) -> Result<(), BadEntry> {
    let wrong = |reason: &str| Err(BadEntry::new("url", reason));
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return wrong("must begin with http:// or https://");
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    if host.is_empty() || host.starts_with(':') {
        return wrong("names no host: write one, such as \"https://HOST/mcp\"");
    }
    if url.chars().any(|c| c.is_whitespace() || c.is_control()) {
        return wrong("holds a space or a control character: write it as %20 and the like");
    }
    if rest.contains('#') {
        return wrong("holds a `#`, and what follows it is not sent: remove it");
    }
    if url.len() > LONGEST_URL {
        return wrong("is longer than 8 KiB");
    }
    Ok(())
}
