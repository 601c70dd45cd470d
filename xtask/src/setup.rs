//! What the tests need beside Rust: a database server's programs, a browser, MCP clients and servers in Node and Python, and
//! the MCP suite, all pinned.
//!
//! Everything goes under `.tools/`, except Debian packages, which are installed by name when we may. Where `CI` is
//! set a missing part fails; elsewhere it is one loud line, and the tests that need it say that they were skipped.

mod node;

use std::fs;
use std::path::{Path, PathBuf};

use crate::child::{command, find, output, run};
use crate::tree;

/// What the tests are told about the setup.
#[derive(Debug, Default)]
pub(crate) struct Ready {
    /// Environment variables.
    pub(crate) variables: Vec<(&'static str, PathBuf)>,
}

/// Finds or installs every part.
pub(crate) fn everything() -> Result<Ready, String> {
    let mut ready = Ready::default();
    let tools = tree::root().join(".tools");
    excused("PostgreSQL", postgres())?;
    excused("Chromium", chromium())?;
    let place = tools.join("clients");
    let node = excused("Node clients", node::clients(&place))?;
    let python = excused("Python client", python_packages(&place, "tests/clients"))?;
    if node.is_some() && python.is_some() {
        ready.variables.push(("COVENANT_TEST_CLIENTS", place));
    }
    let place = tools.join("servers");
    let node = excused("Node servers", node::servers(&place))?;
    let python =
        excused("Python servers", git().and_then(|()| python_packages(&place, "tests/clients/servers")))?;
    if node.is_some() && python.is_some() {
        ready.variables.push(("COVENANT_TEST_SERVERS", place));
    }
    let place = tools.join("suite");
    if let Some(node) = excused("MCP suite", node::suite(&place))? {
        ready.variables.extend([("COVENANT_TEST_SUITE", place), ("COVENANT_TEST_NODE", node)]);
    }
    Ok(ready)
}

fn excused<T>(part: &str, result: Result<T, String>) -> Result<Option<T>, String> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(reason) if std::env::var_os("CI").is_some() => Err(format!("{part}: {reason}")),
        Err(reason) => {
            eprintln!("xtask: *** {part} MISSING, its tests are skipped: {reason}");
            Ok(None)
        }
    }
}

/// `initdb`, which Debian keeps off the PATH; the tests look in the same places.
fn postgres() -> Result<(), String> {
    let there = || {
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        find("initdb").is_some()
            || versions.into_iter().any(|version| version.path().join("bin/initdb").is_file())
    };
    if there() {
        return Ok(());
    }
    debian(&["postgresql"])?;
    if there() { Ok(()) } else { Err("initdb is still not there after installing postgresql".to_owned()) }
}

/// A browser, and what drives it.
fn chromium() -> Result<(), String> {
    let missing = || ["chromium", "chromedriver"].into_iter().find(|program| find(program).is_none());
    if missing().is_none() {
        return Ok(());
    }
    debian(&["chromium", "chromium-driver"])?;
    match missing() {
        Some(program) => {
            Err(format!("{program} is still not there after installing chromium and chromium-driver"))
        }
        None => Ok(()),
    }
}

/// `git`, which the server of that name runs.
fn git() -> Result<(), String> {
    if find("git").is_some() { Ok(()) } else { debian(&["git"]) }
}

/// The packages of that folder's `requirements.txt`, in an environment of their own.
fn python_packages(place: &Path, from: &str) -> Result<(), String> {
    let venv_works = || run(command("python3").args(["-c", "import ensurepip, venv"])).is_ok();
    if find("python3").is_none() || !venv_works() {
        debian(&["python3", "python3-venv"])?;
    }
    let requirements = format!("{from}/requirements.txt");
    let pinned = tree::read(&requirements)?;
    fresh(place, "python", &pinned, || {
        let venv = place.join("venv");
        run(command("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
        run(command(venv.join("bin/python")).args(pip).arg(tree::root().join(requirements)))
    })
}

/// Installs unless the same was installed before. The mark is written last, so a broken attempt leaves none.
fn fresh(
    place: &Path,
    part: &str,
    wanted: &str,
    install: impl FnOnce() -> Result<(), String>,
) -> Result<(), String> {
    let mark = place.join(format!("{part}.installed"));
    if fs::read_to_string(&mark).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    fs::create_dir_all(place).map_err(|error| format!("{} cannot be made: {error}", place.display()))?;
    println!("xtask: installing the {part} packages into {}", place.display());
    install()?;
    write(&mark, wanted)
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{} cannot be written: {error}", path.display()))
}

/// Installs Debian packages by name, as root or with a sudo that does not ask.
fn debian(packages: &[&str]) -> Result<(), String> {
    let names = packages.join(" ");
    if find("apt-get").is_none() {
        return Err(format!("please install {names}"));
    }
    let root = output(command("id").arg("-u"))?.trim() == "0";
    let sudo = !root && find("sudo").is_some() && output(command("sudo").args(["-n", "true"])).is_ok();
    if !root && !sudo {
        return Err(format!("please run: sudo apt-get install {names}"));
    }
    println!("xtask: installing the Debian packages {names}");
    let apt = |words: &[&str]| {
        let mut apt = if root { command("apt-get") } else { command("sudo") };
        if sudo {
            apt.args(["-n", "apt-get"]);
        }
        apt.args(words).env("DEBIAN_FRONTEND", "noninteractive");
        run(&mut apt)
    };
    let install = [&["install", "--quiet", "--yes", "--no-install-recommends"], packages].concat();
    // The lists may be old or absent: a second attempt after renewing them.
    apt(&install).or_else(|_| apt(&["update", "--quiet"]).and_then(|()| apt(&install)))
}
