//! Homes with good and bad manifests: the good ones are there, and of the bad ones everything is said.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

struct Place {
    _directory: tempfile::TempDir,
    home: Home,
}

fn place() -> Place {
    let directory = tempfile::tempdir().unwrap();
    let home = Home::at(&directory.path().canonicalize().unwrap().join("home")).unwrap();
    fs::create_dir_all(home.agents()).unwrap();
    for made in [home.root(), &home.agents()] {
        open(made, 0o755);
    }
    Place { _directory: directory, home }
}

fn open(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn text(id: &str, name: &str) -> String {
    format!(
        "[agent]\nid = \"{id}\"\nname = \"{name}\"\nversion = \"1\"\nruntime = \"python3\"\nentry = \"main.py\"\n"
    )
}

impl Place {
    fn put(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.home.agents().join(path);
        let above = path.parent().unwrap();
        if !above.exists() {
            fs::create_dir_all(above).unwrap();
            open(above, 0o755);
        }
        fs::write(&path, content).unwrap();
        open(&path, 0o644);
        path
    }

    fn ids(&self) -> Vec<String> {
        Catalogue::scan(&self.home).agents.iter().map(|agent| agent.id.clone()).collect()
    }

    /// What is said of the one manifest that is bad.
    fn said(&self) -> String {
        let bad = Catalogue::scan(&self.home).bad;
        let [BadManifest { problems, .. }] = &bad[..] else { panic!("one bad manifest: {bad:?}") };
        let [problem] = &problems[..] else { panic!("one problem: {problems:?}") };
        problem.replace(&self.home.agents().display().to_string(), "AGENTS")
    }
}

#[test]
fn a_home_without_agents_has_none() {
    let place = place();
    assert!(place.ids().is_empty());
    fs::remove_dir(place.home.agents()).unwrap();
    let catalogue = Catalogue::scan(&place.home);
    assert!(catalogue.agents.is_empty() && catalogue.bad.is_empty() && catalogue.warnings.is_empty());
}

#[test]
fn manifests_lie_in_the_directory_or_one_below_and_come_in_the_order_of_their_paths() {
    let place = place();
    for (path, id) in [
        ("c.toml", "c@x"),
        ("b/agent.toml", "b@x"),
        ("a.toml", "a@x"),
        ("d.toml/agent.toml", "d@x"),
        // None of these is one.
        ("b/other.toml", "no1@x"),
        ("b/deeper/agent.toml", "no2@x"),
        (".hidden.toml", "no3@x"),
        (".git/agent.toml", "no4@x"),
        ("notes.toml.bak", "no5@x"),
    ] {
        place.put(path, text(id, id));
    }
    place.put("e/main.py", "");
    assert_eq!(place.ids(), ["a@x", "b@x", "c@x", "d@x"]);
    assert!(Catalogue::scan(&place.home).bad.is_empty());
}

#[test]
fn one_bad_manifest_hides_no_good_one_and_is_told_in_full() {
    let place = place();
    place.put("a.toml", text("a@x", "a"));
    let bad = place
        .put("b.toml", "[agent]\nid = \"b\"\nname = 5\nversion = \"1\"\nruntime = \"node\"\nentry = \"x\"\n");
    let empty = place.put("c/agent.toml", "");
    let odd = place.put("d.toml", b"\xff\xfe");
    place.put("e.toml", text("e@x", "e"));
    let catalogue = Catalogue::scan(&place.home);
    assert_eq!(catalogue.agents.len(), 2);
    let files: Vec<&PathBuf> = catalogue.bad.iter().map(|bad| &bad.file).collect();
    assert_eq!(files, [&bad, &empty, &odd]);
    let begins = |at: usize, problem: usize, file: &Path, rest: &str| {
        let told = &catalogue.bad[at].problems[problem];
        assert!(told.starts_with(&format!("{}, {rest}", file.display())), "{told}");
    };
    begins(0, 0, &bad, "line 2, column 6: `agent.id` is \"b\", which is not of the form name@host");
    begins(0, 1, &bad, "line 3, column 8: `agent.name` is `5`");
    begins(1, 0, &empty, "line 1, column 1: there is no [agent]");
    begins(2, 0, &odd, "line 1, column 1: this byte is not UTF-8");
}

#[test]
fn of_two_with_one_id_or_one_tool_the_first_is_used_and_both_files_are_named() {
    let place = place();
    place.put("a.toml", text("a@x", "my agent"));
    place.put("b.toml", text("a@x", "b"));
    place.put("c.toml", text("c@x", "my.agent"));
    place.put("d.toml", text("a@x", "my_agent"));
    place.put("e.toml", text("e@x", "b"));
    assert_eq!(place.ids(), ["a@x", "e@x"], "what was refused takes no name");
    let told: Vec<String> =
        Catalogue::scan(&place.home).bad.into_iter().flat_map(|bad| bad.problems).collect();
    let agents = place.home.agents();
    let told: Vec<String> =
        told.iter().map(|told| told.replace(&agents.display().to_string(), "AGENTS")).collect();
    let same_tool =
        "which makes the tool agent__my_agent, and so does the name in AGENTS/a.toml; give it another name";
    assert_eq!(
        told,
        [
            "AGENTS/b.toml: `agent.id` is \"a@x\", and so it is in AGENTS/a.toml; give it another id",
            &format!("AGENTS/c.toml: `agent.name` is \"my.agent\", {same_tool}"),
            "AGENTS/d.toml: `agent.id` is \"a@x\", and so it is in AGENTS/a.toml; give it another id",
            &format!("AGENTS/d.toml: `agent.name` is \"my_agent\", {same_tool}"),
        ]
    );
}

#[test]
fn what_others_can_write_is_not_used_and_the_way_out_is_said() {
    let place = place();
    let file = place.put("a.toml", text("a@x", "a"));
    open(&file, 0o666);
    let close = "AGENTS/a.toml can be written by other users (mode 666), so it is not used; close it with `chmod go-w AGENTS/a.toml`";
    assert_eq!(place.said(), close);
    fs::remove_file(&file).unwrap();
    let inner = place.put("b/agent.toml", text("b@x", "b"));
    open(inner.parent().unwrap(), 0o777);
    assert!(
        place.said().starts_with("AGENTS/b can be written by other users (mode 777)"),
        "{}",
        place.said()
    );
    open(inner.parent().unwrap(), 0o755);
    assert_eq!(place.ids(), ["b@x"]);
    open(&place.home.agents(), 0o777);
    assert!(place.said().starts_with("AGENTS can be written by other users"), "{}", place.said());
    assert!(place.ids().is_empty());
}

#[test]
fn a_link_is_followed_where_nobody_else_could_have_put_what_it_leads_to() {
    let place = place();
    let elsewhere = place.home.root().parent().unwrap().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    open(&elsewhere, 0o755);
    fs::write(elsewhere.join("agent.toml"), text("l@x", "l")).unwrap();
    open(&elsewhere.join("agent.toml"), 0o644);
    symlink(&elsewhere, place.home.agents().join("linked")).unwrap();
    assert_eq!(place.ids(), ["l@x"]);
    let agent = &Catalogue::scan(&place.home).agents[0];
    assert_eq!(agent.file, place.home.agents().join("linked/agent.toml"), "known by where it is found");
    open(&elsewhere, 0o777);
    assert!(place.said().contains("elsewhere can be written by other users"), "{}", place.said());
    fs::remove_file(place.home.agents().join("linked")).unwrap();
    symlink(place.home.agents().join("none"), place.home.agents().join("gone.toml")).unwrap();
    assert!(place.said().starts_with("AGENTS/gone.toml is a link that leads nowhere"), "{}", place.said());
    fs::remove_file(place.home.agents().join("gone.toml")).unwrap();
    symlink(place.home.agents().join("loop.toml"), place.home.agents().join("loop.toml")).unwrap();
    assert!(place.said().starts_with("AGENTS/loop.toml is a link that leads nowhere"), "{}", place.said());
}

#[test]
fn a_pipe_and_a_file_without_end_are_refused_at_once() {
    let place = place();
    let pipe = place.home.agents().join("pipe.toml");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    assert_eq!(place.said(), "AGENTS/pipe.toml is not an ordinary file; put a file there, or remove it");
    fs::remove_file(&pipe).unwrap();
    let large = place.put("large.toml", text("a@x", "a"));
    for bytes in [300 * 1024, 1 << 40] {
        fs::File::options().write(true).open(&large).unwrap().set_len(bytes).unwrap();
        assert!(place.said().contains("has more than 256 KiB, and a manifest may not"), "{}", place.said());
    }
}

#[test]
fn keys_without_effect_and_programs_that_are_missing_are_warned_about() {
    let place = place();
    place.put("a/agent.toml", format!("{}colour = 1\n", text("a@x", "a")));
    let warnings = Catalogue::scan(&place.home).warnings;
    assert!(
        matches!(&warnings[..], [key, entry]
        if key.contains("agent.toml, line 7, column 1: `agent.colour` has no effect")
        && entry.starts_with("the entry of a@x, ") && entry.contains("/a/main.py, does not exist")),
        "{warnings:?}"
    );
    place.put("a/main.py", "");
    assert_eq!(Catalogue::scan(&place.home).warnings.len(), 1);
}

#[test]
fn of_very_many_the_first_thousand_are_read() {
    let place = place();
    for n in 0..1002 {
        place.put(&format!("a{n:04}.toml"), text(&format!("a{n}@x"), &format!("a{n}")));
    }
    let catalogue = Catalogue::scan(&place.home);
    assert_eq!((catalogue.agents.len(), catalogue.bad.len()), (1000, 0));
    let last = catalogue.warnings.last().unwrap();
    assert!(last.contains("holds 1002 manifests, of which the first 1000 are read; "), "{last}");
    assert!(last.contains("a1000.toml and those after it are not"), "{last}");
}
