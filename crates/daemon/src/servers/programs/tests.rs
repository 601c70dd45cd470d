//! What becomes of an entry: the file, the directory, the variables and the sandbox of its program.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::sync::Arc;

use covenant_model::secret::Secret;
use covenant_model::server::{Program, SandboxEntry};
use covenant_runner::order::{Network, Order, Sandbox};

use super::order::{Ground, order};
use crate::home::Home;

/// A machine of our own: a user's home, a directory on PATH with a tool in it, and the daemon's home.
struct World {
    directory: tempfile::TempDir,
    variables: BTreeMap<String, String>,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = |part: &str| directory.path().join(part).to_str().unwrap().to_owned();
        for part in ["user", "bin", "covenant/identity", "covenant/workspace"] {
            fs::create_dir_all(at(part)).unwrap();
        }
        executable(Path::new(&at("bin/tool")));
        fs::write(at("bin/text"), "no program").unwrap();
        let variables = [
            ("PATH", at("bin")),
            ("HOME", at("user")),
            ("LANG", "de_DE.UTF-8".to_owned()),
            ("LC_TIME", "C".to_owned()),
            ("TMPDIR", at("user")),
            ("https_proxy", "http://proxy.example:3128".to_owned()),
            ("SSL_CERT_FILE", "/etc/ssl/own.pem".to_owned()),
            ("COVENANT_TOKEN", "cv_x".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "x".to_owned()),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
        Self { directory, variables }
    }

    fn at(&self, part: &str) -> String {
        self.directory.path().join(part).to_str().unwrap().to_owned()
    }

    fn order(&self, program: &Program) -> Result<Order, String> {
        let home = Home::at(&self.directory.path().join("covenant")).unwrap();
        let variables = self.variables.clone();
        let ground = Ground {
            sandbox: Sandbox::new(home.scratch()),
            home,
            environment: Arc::new(move |name| variables.get(name).cloned()),
        };
        order("tested", program, ground)
    }

    fn sandboxed(&self, entry: SandboxEntry) -> Result<Order, String> {
        self.order(&Program { sandbox: Some(entry), ..program(&self.at("bin/tool")) })
    }
}

fn executable(file: &Path) {
    fs::write(file, "#!/bin/sh\n").unwrap();
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
}

fn program(command: &str) -> Program {
    let command = command.to_owned();
    Program { command, args: vec!["-v".to_owned()], env: BTreeMap::new(), cwd: None, sandbox: None }
}

fn named<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, Secret> {
    pairs.map(|(name, value)| (name.to_owned(), Secret::new(value.to_owned()))).into_iter().collect()
}

#[test]
fn a_command_is_found_on_path_or_taken_as_it_is() {
    let world = World::new();
    for command in ["tool", &world.at("bin/tool")] {
        let order = world.order(&program(command)).unwrap();
        assert_eq!(order.program, Path::new(&world.at("bin/tool")), "{command}");
        assert_eq!((order.name.as_str(), order.arguments.as_slice()), ("tested", &["-v".to_owned()][..]));
        assert_eq!(
            order.directory,
            Path::new(&world.at("user")),
            "the user's home, unless it says otherwise"
        );
        assert_eq!(order.sandbox, None);
    }
}

#[test]
fn a_command_that_cannot_be_run_is_told_with_what_to_do() {
    let world = World::new();
    for (command, says) in [
        ("nothing", "was not found on the daemon's PATH ("),
        ("text", "was not found on the daemon's PATH ("),
        ("./tool", "write it from `/` or `~` on"),
        (&world.at("bin/nothing"), "is not there"),
        (&world.at("bin/text"), "chmod +x"),
        (&world.at("bin"), "no file that may be executed"),
    ] {
        let told = world.order(&program(command)).unwrap_err();
        assert!(told.contains(says), "{command}: {told}");
    }
    let mut nowhere = World::new();
    nowhere.variables.remove("PATH");
    assert!(nowhere.order(&program("tool")).unwrap_err().contains("PATH is empty"));
}

#[test]
fn a_program_gets_what_it_needs_to_run_and_what_its_entry_names_and_no_credential_of_ours() {
    let world = World::new();
    let env = named([("TOKEN", "its-own"), ("LANG", "C")]);
    let order = world.order(&Program { env, ..program("tool") }).unwrap();
    let given: Vec<&str> = order.environment.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(given, ["HOME", "LANG", "LC_TIME", "PATH", "SSL_CERT_FILE", "TMPDIR", "TOKEN", "https_proxy"]);
    let value = |name: &str| order.environment.iter().find(|(known, _)| known == name).unwrap().1.clone();
    assert_eq!((value("TOKEN"), value("LANG")), ("its-own".to_owned(), "C".to_owned()));
}

#[test]
fn it_runs_where_its_entry_says() {
    let world = World::new();
    let in_ = |cwd: &str| world.order(&Program { cwd: Some(cwd.to_owned()), ..program("tool") });
    assert_eq!(in_(&world.at("bin")).unwrap().directory, Path::new(&world.at("bin")));
    assert!(in_(&world.at("missing")).unwrap_err().contains("is not a directory"));
    assert!(in_("notes").unwrap_err().contains("write it from `/`"));
    let mut homeless = World::new();
    homeless.variables.insert("HOME".to_owned(), homeless.at("gone"));
    assert_eq!(homeless.order(&program("tool")).unwrap().directory, Path::new("/"));
}

#[test]
fn a_sandbox_shows_its_own_file_and_what_is_named() {
    let world = World::new();
    let entry = SandboxEntry {
        network: "full".to_owned(),
        read: vec![world.at("user")],
        write: vec![world.at("covenant/workspace")],
        memory_mb: 77,
        required: true,
    };
    let order = world.sandboxed(entry).unwrap();
    let sandbox = order.sandbox.unwrap();
    let real = Path::new(&world.at("bin/tool")).canonicalize().unwrap();
    assert_eq!(sandbox.network, Network::Full);
    assert_eq!(sandbox.read, [Path::new(&world.at("user")).to_owned(), real.clone()]);
    assert_eq!(sandbox.write, [Path::new(&world.at("covenant/workspace")).to_owned()]);
    assert_eq!((sandbox.memory_mb, sandbox.required), (77, true));
    assert_eq!(order.program, real);
    let given: Vec<&str> = order.environment.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        given,
        ["LANG", "LC_TIME", "PATH", "SSL_CERT_FILE", "https_proxy"],
        "the rest is the sandbox's"
    );
    let offline = world.sandboxed(SandboxEntry::default()).unwrap();
    assert!(!offline.environment.iter().any(|(name, _)| name == "https_proxy"), "its proxy is another one");
}

#[test]
fn a_sandbox_never_shows_what_is_the_daemons() {
    let world = World::new();
    symlink(world.at("covenant/identity"), world.at("user/link")).unwrap();
    for path in ["covenant", "covenant/identity", "covenant/none/../identity", "user/link"] {
        let entry = SandboxEntry { read: vec![world.at(path)], ..SandboxEntry::default() };
        let told = world.sandboxed(entry).unwrap_err();
        assert!(told.contains("belongs to the daemon"), "{path}: {told}");
    }
}

#[test]
fn a_sandbox_that_makes_no_sense_is_told() {
    let world = World::new();
    let network = SandboxEntry { network: "some".to_owned(), ..SandboxEntry::default() };
    assert!(world.sandboxed(network).unwrap_err().contains("`sandbox.network` is `some`"));
    let relative = SandboxEntry { write: vec!["notes".to_owned()], ..SandboxEntry::default() };
    assert!(world.sandboxed(relative).unwrap_err().contains("`sandbox.write` holds `notes`"));
    for name in ["HOME", "COVENANT_TOKEN", "HTTPS_PROXY"] {
        let confined =
            Program { env: named([(name, "x")]), sandbox: Some(SandboxEntry::default()), ..program("tool") };
        let told = world.order(&confined).unwrap_err();
        assert!(told.contains(&format!("its entry sets `{name}`")), "{told}");
    }
}
