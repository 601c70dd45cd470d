//! From what was typed to an order: what the program may see, and which variables it gets.

use std::path::{Path, PathBuf};

use covenant_daemon::home::Home;
use covenant_daemon::runs::program::joined;
use covenant_runner::order::{Network, Order, Sandbox};

use super::program;
use super::run::{Run, Variable};
use crate::exit::Failure;

/// Where programs lie on every system; what else is on our PATH is out of sight.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Variables that the sandbox sets, whatever is asked for.
const DECIDED: [&str; 2] = ["HOME", "TMPDIR"];

/// Variables that lead to the proxy, where there is one.
const PROXY: [&str; 7] =
    ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy", "NODE_USE_ENV_PROXY"];

/// The order for what was typed, in the sandbox that programs of this home have.
pub(super) fn order(run: &Run, home: &Home, mut sandbox: Sandbox) -> Result<Order, Failure> {
    let (typed, arguments) =
        run.program.split_first().ok_or_else(|| Failure::usage("no program was named", ""))?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    sandbox.network = run.network.into();
    sandbox.read = seen(&run.read, home)?;
    sandbox.write = seen(&run.write, home)?;
    let found = program::find(typed, &path, &sandbox.read, &sandbox.write)?;
    sandbox.read = joined(sandbox.read, &sandbox.write, found.read);
    sandbox.memory_mb = run.memory_mb;
    sandbox.disk_mb = run.disk_mb;
    sandbox.pids = run.pids;
    sandbox.required |= run.required;
    Ok(Order {
        name: name(typed),
        environment: environment(&run.env, &found.program, sandbox.network)?,
        program: found.program,
        arguments: arguments.to_vec(),
        directory: PathBuf::from("/"),
        sandbox: Some(sandbox),
    })
}

/// What people call it.
pub(super) fn name(typed: &str) -> String {
    Path::new(typed).file_name().map_or_else(|| typed.to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Paths that were named, made absolute. Of the home, only what is meant for programs can be shown.
fn seen(paths: &[PathBuf], home: &Home) -> Result<Vec<PathBuf>, Failure> {
    let mut seen = Vec::new();
    for path in paths {
        let path = absolute(path)?;
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        if home.is_private(&real) {
            return Err(Failure::usage(
                format!("{} belongs to the daemon, and no program is shown it", path.display()),
                "copy what the program needs to another place, and name that",
            ));
        }
        seen.push(path);
    }
    Ok(seen)
}

/// The path from `/`, as it was typed: a link in it stays, so that the runner can refuse it.
pub(super) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    let absolute = std::path::absolute(path).map_err(|error| {
        Failure::usage(format!("`{}` is no path: {error}", path.display()), "name a file or a directory")
    })?;
    if absolute.to_str().is_none() {
        return Err(Failure::usage(
            format!("{} is not UTF-8, and cannot be given to the sandbox", absolute.display()),
            "rename it, or name the directory that holds it",
        ));
    }
    let mut plain = PathBuf::new();
    for part in absolute.components() {
        if part == std::path::Component::ParentDir {
            // What is above a link is what is above the directory it leads to.
            plain = plain.canonicalize().map_err(|error| {
                Failure::usage(
                    format!("{} cannot be found: {error}", plain.display()),
                    "name it without `..`",
                )
            })?;
            plain.pop();
        } else {
            plain.push(part);
        }
    }
    Ok(plain)
}

/// The few variables every program gets, and those that were named.
fn environment(
    named: &[Variable],
    program: &Path,
    network: Network,
) -> Result<Vec<(String, String)>, Failure> {
    let beside = program.parent().and_then(Path::to_str).unwrap_or_default();
    let path = if PATH.split(':').any(|known| known == beside) {
        PATH.to_owned()
    } else {
        // What came with an interpreter lies beside it.
        format!("{beside}:{PATH}")
    };
    let mut all = vec![("PATH".to_owned(), path), ("LANG".to_owned(), "C.UTF-8".to_owned())];
    for variable in named {
        let name = &variable.name;
        let is_proxy = network == Network::OutboundHttpsOnly && PROXY.contains(&name.as_str());
        if DECIDED.contains(&name.as_str()) || name.starts_with("COVENANT_") || is_proxy {
            return Err(Failure::usage(
                format!("`{name}` is set by the sandbox itself"),
                "leave it out; docs/sandbox.md lists what a program gets",
            ));
        }
        let value = match &variable.value {
            Some(value) => value.clone(),
            None => here(name)?,
        };
        all.retain(|(known, _)| known != name);
        all.push((name.clone(), value));
    }
    Ok(all)
}

/// The value a variable has in our own environment.
fn here(name: &str) -> Result<String, Failure> {
    match std::env::var(name) {
        Ok(value) => Ok(value),
        Err(std::env::VarError::NotPresent) => Err(Failure::usage(
            format!("`{name}` is not set here"),
            format!("give it a value: --env {name}=VALUE"),
        )),
        Err(std::env::VarError::NotUnicode(_)) => {
            Err(Failure::usage(format!("the value of `{name}` is not UTF-8"), "give it another"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, value: &str) -> Variable {
        Variable { name: name.to_owned(), value: Some(value.to_owned()) }
    }

    #[test]
    fn a_variable_that_is_named_wins_over_ours_and_never_over_the_sandbox() {
        let program = Path::new("/usr/bin/env");
        let given = environment(&[set("PATH", "/x"), set("A", "b")], program, Network::Off).unwrap();
        assert_eq!(
            given,
            [("LANG", "C.UTF-8"), ("PATH", "/x"), ("A", "b")].map(|(n, v)| (n.into(), v.into()))
        );
        for name in ["HOME", "TMPDIR", "COVENANT_TOKEN", "COVENANT_RUN"] {
            assert!(environment(&[set(name, "x")], program, Network::Full).is_err(), "{name}");
        }
        for name in ["HTTPS_PROXY", "HTTP_PROXY", "http_proxy"] {
            let given = |network| environment(&[set(name, "x")], program, network);
            assert!(given(Network::OutboundHttpsOnly).is_err() && given(Network::Full).is_ok(), "{name}");
        }
        let unset = Variable { name: "COV_NOT_SET_ANYWHERE".to_owned(), value: None };
        let failure = environment(&[unset], program, Network::Off).unwrap_err();
        assert!(failure.message().contains("is not set here"), "{failure:?}");
    }

    #[test]
    fn what_lies_beside_an_interpreter_is_on_its_path() {
        let path = |program: &str| environment(&[], Path::new(program), Network::Off).unwrap()[0].1.clone();
        assert_eq!(path("/usr/bin/node"), PATH);
        assert_eq!(path("/x/versions/3/bin/python3"), format!("/x/versions/3/bin:{PATH}"));
    }

    #[test]
    fn the_home_is_not_shown_but_for_what_is_meant_for_programs() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(&directory.path().join("home")).unwrap();
        std::fs::create_dir_all(home.identity()).unwrap();
        std::fs::create_dir_all(home.agents()).unwrap();
        for private in [home.root().to_owned(), home.identity(), home.secrets()] {
            let failure = seen(&[private], &home).unwrap_err();
            assert!(failure.message().contains("belongs to the daemon"), "{failure:?}");
        }
        let around = home.identity().join("..");
        assert!(seen(&[around], &home).is_err());
        assert!(seen(&[home.agents(), directory.path().to_owned()], &home).is_ok());
    }

    #[test]
    fn what_is_named_is_made_absolute_and_its_links_stay() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("real/below")).unwrap();
        std::os::unix::fs::symlink("real/below", root.join("link")).unwrap();
        for (typed, meant) in [
            ("link", "link"),
            ("link/", "link"),
            ("./link/./x", "link/x"),
            ("link/../x", "real/x"),
            ("real/../link", "link"),
            ("missing", "missing"),
        ] {
            assert_eq!(
                absolute(&root.join(typed)).unwrap().as_os_str(),
                root.join(meant).as_os_str(),
                "{typed}"
            );
        }
        assert!(
            absolute(&root.join("missing/../real"))
                .unwrap_err()
                .message()
                .contains("missing cannot be found")
        );
        let here = std::env::current_dir().unwrap();
        assert_eq!(absolute(Path::new("x")).unwrap(), here.join("x"));
        assert_eq!(absolute(Path::new("../x")).unwrap(), here.parent().unwrap().join("x"));
    }
}
