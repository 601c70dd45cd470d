//! Programs that can be run, programs that cannot, and what each may read.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;
use crate::agents::manifest;

struct Place {
    _directory: tempfile::TempDir,
    top: PathBuf,
    home: Home,
}

fn open(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn place() -> Place {
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path().canonicalize().unwrap();
    let home = Home::at(&top.join("home")).unwrap();
    for made in [home.root().to_owned(), home.agents(), home.agents().join("a"), top.join("opt")] {
        fs::create_dir(&made).unwrap();
        open(&made, 0o755);
    }
    Place { _directory: directory, top, home }
}

impl Place {
    fn put(&self, path: &str, mode: u32) -> PathBuf {
        let path = self.top.join(path);
        fs::write(&path, "x").unwrap();
        open(&path, mode);
        path
    }

    fn check(&self, runtime: &str, entry: &str) -> Result<PathBuf, String> {
        let text = format!(
            "[agent]\nid = \"a@b\"\nname = \"a\"\nversion = \"1\"\nruntime = \"{runtime}\"\nentry = \"{entry}\"\n"
        );
        let file = self.home.agents().join("a/agent.toml");
        let reading = manifest::read(&file, text.as_bytes()).unwrap();
        check(&reading.manifest, &self.home)
            .map_err(|told| told.replace(&self.top.display().to_string(), "TOP"))
    }

    fn refused(&self, runtime: &str, entry: &str) -> String {
        self.check(runtime, entry).unwrap_err()
    }
}

#[test]
fn a_program_beside_its_manifest_or_anywhere_by_its_whole_path_is_found() {
    let place = place();
    let script = place.put("home/agents/a/main.py", 0o644);
    assert_eq!(place.check("python3", "main.py"), Ok(script.clone()));
    assert_eq!(place.check("python3", "./../a/main.py"), Ok(script));
    let elsewhere = place.put("opt/run", 0o755);
    assert_eq!(place.check("rust-bin", &elsewhere.display().to_string()), Ok(elsewhere));
}

#[test]
fn what_cannot_be_run_is_told_with_the_way_out() {
    let place = place();
    let begin = "the entry of a@b, TOP/home/agents/a/";
    let told = |runtime, entry| place.refused(runtime, entry).replace(begin, "");
    assert_eq!(told("python3", "main.py"), "main.py, does not exist; put it there, or correct `agent.entry`");
    assert_eq!(told("rust-bin", "run"), "run, does not exist; build it, or correct `agent.entry`");
    assert_eq!(told("node", "."), "., is a directory; name the program or script in it");
    place.put("home/agents/a/run", 0o644);
    assert_eq!(
        told("rust-bin", "run"),
        "run, cannot be executed; make it a program with `chmod +x TOP/home/agents/a/run`"
    );
    assert!(place.check("node", "run").is_ok(), "an interpreter reads it");
    let deeper = told("node", "run/deeper");
    assert!(deeper.starts_with("run/deeper, cannot be reached: Not a directory"), "{deeper}");
    let pipe = place.home.agents().join("a/pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    assert_eq!(told("node", "pipe"), "pipe, is not an ordinary file; name a program or a script");
    symlink(place.top.join("none"), place.home.agents().join("a/gone")).unwrap();
    assert_eq!(told("node", "gone"), "gone, is a link that leads nowhere; correct the link");
}

#[test]
fn a_path_that_leads_out_of_the_directory_is_refused_by_name_or_by_link() {
    let place = place();
    let outside = place.put("opt/run", 0o755);
    symlink(&outside, place.home.agents().join("a/link")).unwrap();
    symlink(outside.parent().unwrap(), place.home.agents().join("a/dir")).unwrap();
    place.put("home/agents/beside.py", 0o644);
    for (entry, real) in [
        ("link", "TOP/opt/run"),
        ("dir/run", "TOP/opt/run"),
        ("../../../opt/run", "TOP/opt/run"),
        ("../beside.py", "TOP/home/agents/beside.py"),
    ] {
        let told = place.refused("rust-bin", entry);
        let out = format!("leads out of the manifest's directory, to {real}; put the program there");
        assert!(told.contains(&out), "{entry}: {told}");
    }
    let inside = place.put("home/agents/a/real", 0o755);
    symlink(&inside, place.home.agents().join("a/alias")).unwrap();
    assert_eq!(place.check("rust-bin", "alias"), Ok(inside));
}

#[test]
fn what_others_can_write_and_what_is_the_daemons_own_is_not_run() {
    let place = place();
    let script = place.put("home/agents/a/main.py", 0o666);
    let told = place.refused("python3", "main.py");
    assert!(
        told.contains("main.py, is not run: TOP/home/agents/a/main.py can be written by other users"),
        "{told}"
    );
    open(&script, 0o644);
    open(script.parent().unwrap(), 0o777);
    assert!(place.refused("python3", "main.py").contains("agents/a can be written by other users"));
    open(script.parent().unwrap(), 0o755);
    assert!(place.check("python3", "main.py").is_ok());
    let own = place.put("home/config.toml", 0o600);
    let told = place.refused("python3", &own.display().to_string());
    assert!(told.contains("lies among what belongs to the daemon alone"), "{told}");
}

#[test]
fn a_run_may_read_the_directory_of_its_program_and_never_all_agents() {
    let place = place();
    let agents = place.home.agents();
    for (entry, read) in [
        (agents.join("a/main.py"), agents.join("a")),
        (agents.join("target/release/research"), agents.join("target/release")),
        (agents.join("main.py"), agents.join("main.py")),
        (place.home.root().join("main.py"), place.home.root().join("main.py")),
        (place.top.join("main.py"), place.top.join("main.py")),
        (PathBuf::from("/main.py"), PathBuf::from("/main.py")),
        (place.top.join("opt/main.py"), place.top.join("opt")),
    ] {
        assert_eq!(package(&entry, &agents), [read], "{}", entry.display());
    }
}
