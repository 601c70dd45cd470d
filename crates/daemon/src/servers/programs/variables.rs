//! The environment of a server's program: what every program needs to run, and what its entry names. The daemon's own
//! variables, credentials among them, stay behind.

use std::collections::BTreeMap;
use std::path::Path;

use covenant_model::secret::Secret;
use covenant_model::server::Program;
use covenant_runner::order::Network;

use crate::daemon::Environment;
use crate::runs::program;

/// Variables every program may need.
const PLAIN: &[&str] = &["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "TMPDIR"];

/// How this user writes dates, numbers and everything else.
const LOCALE: &[&str] = &[
    "LC_ALL",
    "LC_ADDRESS",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_IDENTIFICATION",
    "LC_MEASUREMENT",
    "LC_MESSAGES",
    "LC_MONETARY",
    "LC_NAME",
    "LC_NUMERIC",
    "LC_PAPER",
    "LC_TELEPHONE",
    "LC_TIME",
];

/// Which authorities are trusted beside the system's.
const AUTHORITIES: &[&str] =
    &["SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"];

/// The way out of this network.
const PROXY: &[&str] = &[
    "HTTP_PROXY",
    "http_proxy",
    "HTTPS_PROXY",
    "https_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
    "NODE_USE_ENV_PROXY",
];

/// What a sandbox sets, whatever is asked for.
const DECIDED: &[&str] = &["HOME", "TMPDIR"];

/// What a program without a sandbox gets.
pub(super) fn open(program: &Program, environment: &Environment) -> Vec<(String, String)> {
    let all = [PLAIN, LOCALE, AUTHORITIES, PROXY].concat();
    let inherited = inherited(&all, environment);
    together(inherited, &program.env)
}

/// What a program in a sandbox with that network gets; `file` is the program itself.
pub(super) fn confined(
    program: &Program,
    file: &Path,
    network: Network,
    environment: &Environment,
) -> Result<Vec<(String, String)>, String> {
    let is_proxied = network == Network::OutboundHttpsOnly;
    let decided = |name: &str| {
        DECIDED.contains(&name) || name.starts_with("COVENANT_") || (is_proxied && PROXY.contains(&name))
    };
    if let Some(name) = program.env.keys().find(|name| decided(name)) {
        return Err(format!("its entry sets `{name}`, which its sandbox sets itself; leave it out of `env`"));
    }
    let mut names = [PLAIN, LOCALE, AUTHORITIES].concat();
    if network == Network::Full {
        names.extend(PROXY);
    }
    names.retain(|name| !decided(name));
    let mut inherited = inherited(&names, environment);
    inherited.insert("PATH".to_owned(), program::path_beside(file));
    Ok(together(inherited, &program.env))
}

fn inherited(names: &[&str], environment: &Environment) -> BTreeMap<String, String> {
    names.iter().filter_map(|name| Some(((*name).to_owned(), environment(name)?))).collect()
}

/// What is named wins.
fn together(
    mut inherited: BTreeMap<String, String>,
    named: &BTreeMap<String, Secret>,
) -> Vec<(String, String)> {
    inherited.extend(named.iter().map(|(name, value)| (name.clone(), value.reveal().to_owned())));
    inherited.into_iter().collect()
}
