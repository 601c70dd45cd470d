//! The tools of a vault over real files: what they answer, and what hostile arguments get.

use std::collections::HashMap;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::symlink;

use covenant_gate::SystemClock;
use covenant_model::note::{Entry, Hit, Index, IndexError, Stamp, key};
use serde_json::{Value, json};

use super::*;
use crate::native::{vault_list, vault_read, vault_search, vault_write};

/// An index that knows names and links, and finds nothing.
#[derive(Default)]
struct Names(std::sync::Mutex<HashMap<String, Entry>>);

impl Index for Names {
    fn known(&self) -> Result<HashMap<String, Stamp>, IndexError> {
        Ok(HashMap::new())
    }
    fn change(&self, put: &[Entry], gone: &[String]) -> Result<(), IndexError> {
        let mut all = self.0.lock().unwrap();
        all.retain(|path, _| !gone.contains(path));
        all.extend(put.iter().map(|entry| (entry.path.clone(), entry.clone())));
        Ok(())
    }
    fn search(&self, query: &Query) -> Result<Found, IndexError> {
        let all = self.0.lock().unwrap();
        let beneath =
            |path: &str| query.under.as_ref().is_none_or(|under| path.starts_with(&format!("{under}/")));
        let mut hits: Vec<Hit> = all
            .values()
            .filter(|entry| entry.text.contains("moon") && beneath(&entry.path))
            .map(|entry| Hit {
                path: entry.path.clone(),
                title: entry.title.clone(),
                snippet: "the **moon**".into(),
                modified: 0,
            })
            .collect();
        hits.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Found { total: u64::try_from(hits.len()).unwrap(), hits })
    }
    fn recent(&self, _: usize) -> Result<Vec<Hit>, IndexError> {
        Ok(Vec::new())
    }
    fn named(&self, wanted: &str) -> Result<Vec<String>, IndexError> {
        Ok(self.0.lock().unwrap().keys().filter(|path| key(path) == wanted).cloned().collect())
    }
    fn leading_to(&self, wanted: &str) -> Result<Vec<(String, String)>, IndexError> {
        let all = self.0.lock().unwrap();
        let links =
            all.values().flat_map(|entry| entry.links.iter().map(|link| (entry.path.clone(), link.clone())));
        Ok(links.filter(|(_, link)| key(link) == wanted).collect())
    }
}

struct World {
    directory: tempfile::TempDir,
    vault: Arc<Vault>,
}

impl World {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("vault");
        fs::create_dir(&path).unwrap();
        let index: Arc<dyn Index> = Arc::new(Names::default());
        let indexes: Indexes = Arc::new(move |_, _| Ok(Arc::clone(&index)));
        let vault = Vault::of(Library::new(path, SHOWN, indexes, Arc::new(SystemClock)), None);
        Self { directory, vault }
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.directory.path().join("vault").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    async fn read(&self, path: &str) -> Value {
        serde_json::to_value(vault_read::read(&self.vault, path.to_owned()).await).unwrap()
    }

    async fn write(&self, path: &str, text: &str) -> Value {
        serde_json::to_value(vault_write::write(&self.vault, path.to_owned(), text.to_owned(), None).await)
            .unwrap()
    }

    async fn list(&self, path: &str, recursive: bool) -> Value {
        let listed =
            vault_list::list(&self.vault, path.to_owned(), recursive, || ControlFlow::Continue(())).await;
        serde_json::to_value(listed).unwrap()
    }

    async fn search(&self, query: &str, path: Option<&str>) -> Value {
        serde_json::to_value(
            vault_search::search(&self.vault, query.to_owned(), path.map(str::to_owned)).await,
        )
        .unwrap()
    }
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[tokio::test]
async fn a_note_comes_with_what_it_says_of_itself() {
    let world = World::new();
    let note = "---\ntags: [space]\n---\n# Apollo\n[[Home]] ![[pic.png]] #moon\n";
    world.put("Projects/Apollo.md", note);
    world.put("Home.md", "[[Apollo|the project]]");
    let result = world.read("Projects/Apollo.md").await;
    assert_eq!((text(&result), &result["isError"]), (note, &json!(false)));
    assert_eq!(result["content"].as_array().unwrap().len(), 1);
    let expected = json!({
        "path": "Projects/Apollo.md", "title": "Apollo", "frontmatter": {"tags": ["space"]}, "tags": ["space", "moon"],
        "links": [{"target": "Home", "path": "Home.md", "embed": false}, {"target": "pic.png", "path": null, "embed": true}],
        "backlinks": ["Home.md"],
    });
    assert_eq!(result["structuredContent"], expected);
    for name in [
        "Projects/Apollo",
        "Apollo",
        "apollo",
        "Apollo.md",
        "/vault/Projects/Apollo.md",
        "x/../Projects/Apollo",
    ] {
        assert_eq!(world.read(name).await["structuredContent"]["path"], "Projects/Apollo.md", "{name}");
    }
    world.put("bad.md", "---\nno yaml\n---\n");
    let remarks = &world.read("bad").await["structuredContent"]["remarks"];
    assert_eq!(remarks, &json!(["the front matter is read as text: line 2 is not `name: value`"]));
}

#[tokio::test]
async fn a_note_is_written_and_found_at_once() {
    let world = World::new();
    assert_eq!(text(&world.write("a/b/Moon.md", "the moon").await), "Wrote a/b/Moon.md");
    assert_eq!(text(&world.write("Mars", "no").await), "Wrote Mars.md");
    assert_eq!(text(&world.write("v1.2 plan", "no").await), "Wrote v1.2 plan.md");
    let found = world.search("moon", None).await;
    assert_eq!(text(&found), "Found in 1 file:\na/b/Moon.md\n  the **moon**");
    assert_eq!(found["structuredContent"]["total"], 1);
    assert_eq!(text(&world.search("moon", Some("a")).await), "Found in 1 file:\na/b/Moon.md\n  the **moon**");
    world.write("Moon 2.md", "moon").await;
    assert!(text(&world.search("moon", None).await).starts_with("Found in 2 files:\n"));
    fs::create_dir(world.directory.path().join("vault/empty")).unwrap();
    assert_eq!(text(&world.search("moon", Some("empty")).await), "No files containing 'moon'");
    assert_eq!(
        text(&world.search(" \"\" ", None).await),
        "Error: query is required: name a word, a \"phrase\", tag:name or path:part"
    );
    assert_eq!(
        text(&world.search("x", Some("Mars.md")).await),
        "Error: Mars.md is not a directory: name one to search in"
    );
}

#[tokio::test]
async fn lists_have_no_hidden_names_and_all_the_way_down_only_notes() {
    let world = World::new();
    assert_eq!(text(&world.list("", false).await), "No files found");
    for path in ["b.md", "a/c.md", "a/pic.png", ".obsidian/app.json", ".git/config", "a/.x.md", "z.pdf"] {
        world.put(path, "");
    }
    assert_eq!(text(&world.list("", false).await), "a/\nb.md\nz.pdf");
    assert_eq!(text(&world.list("a", false).await), "c.md\npic.png");
    assert_eq!(text(&world.list("", true).await), "a/\na/c.md\nb.md");
    assert_eq!(
        world.list("/vault/a/", true).await["structuredContent"],
        json!({"files": ["a/c.md"], "more": 0})
    );
}

/// Nothing outside is reached, and nothing that makes Obsidian or git run programs.
#[tokio::test]
async fn hostile_paths_get_exact_answers() {
    let world = World::new();
    world.put("Home.md", "hello");
    world.put(".git/config", "[core]");
    world.put(".obsidian/plugins/x/main.js", "");
    fs::write(world.directory.path().join("secret.md"), "secret").unwrap();
    fs::create_dir(world.directory.path().join("vault-evil")).unwrap();
    fs::write(world.directory.path().join("vault-evil/a.md"), "secret").unwrap();
    let vault = world.directory.path().join("vault");
    symlink("../secret.md", vault.join("out.md")).unwrap();
    symlink(world.directory.path(), vault.join("up")).unwrap();
    symlink(".git", vault.join("notes")).unwrap();
    symlink("Home.md", vault.join("alias.md")).unwrap();
    let escapes = |path: &str| {
        format!(
            "path escapes vault: {path} leads outside; use a path beneath it, like notes.md or /vault/notes.md"
        )
    };
    let hidden = |path: &str| {
        format!("{path} is no note: names that begin with a dot belong to Obsidian and git; use another name")
    };
    let linked = |path: &str| {
        format!(
            "{path} is, or goes through, a symbolic link that is not followed here: name the file it leads to"
        )
    };
    let evil = format!("{}-evil/a.md", vault.display());
    for (path, expected) in [
        ("../secret.md", escapes("../secret.md")),
        ("a/../../secret.md", escapes("a/../../secret.md")),
        ("/etc/passwd", escapes("/etc/passwd")),
        (&evil, escapes(&evil)),
        ("/vault/../secret.md", escapes("/vault/../secret.md")),
        (".git/config", hidden(".git/config")),
        ("a/../.git/config", hidden("a/../.git/config")),
        (".obsidian/plugins/x/main.js", hidden(".obsidian/plugins/x/main.js")),
        ("", "path is required: name a file beneath vault, like notes.md".to_owned()),
        ("a\0.md", "a\\u{0}.md has a NUL character: no file can be called that; leave it out".to_owned()),
    ] {
        let expected = format!("Error: {expected}");
        let read = world.read(path).await;
        assert_eq!((text(&read), &read["isError"]), (&*expected, &json!(true)), "read {path}");
        assert_eq!(text(&world.write(path, "x").await), expected, "write {path}");
        if !path.is_empty() {
            assert_eq!(text(&world.list(path, true).await), expected, "list {path}");
            assert_eq!(text(&world.search("x", Some(path)).await), expected, "search {path}");
        }
    }
    for path in ["out.md", "up/secret.md", "notes/config.md", "alias.md"] {
        assert_eq!(text(&world.read(path).await), format!("Error: failed to read file: {}", linked(path)));
        assert_eq!(
            text(&world.write(path, "x").await),
            format!("Error: failed to write file: {}", linked(path))
        );
    }
    assert_eq!(
        text(&world.read("nothing").await),
        "Error: file not found: nothing is not in the vault; look for it with vault_search or vault_list"
    );
    world.put("a/b.md", "");
    assert_eq!(
        text(&world.read("a").await),
        "Error: failed to read file: a is a directory: name a file in it"
    );
    assert_eq!(
        text(&world.list("nothing", false).await),
        "Error: failed to list directory: nothing does not exist in vault: list the directory to see what is there"
    );
    fs::write(vault.join("pic.png"), b"\x89PNG\xff").unwrap();
    assert_eq!(
        text(&world.read("pic.png").await),
        "Error: pic.png is not text: only notes can be read here; open it with another program"
    );
    assert_eq!(fs::read_to_string(vault.join(".git/config")).unwrap(), "[core]");
    assert_eq!(fs::read_to_string(world.directory.path().join("secret.md")).unwrap(), "secret");
}

#[tokio::test]
async fn a_vault_that_is_not_there_says_what_to_do() {
    let world = World::new();
    let path = world.directory.path().join("vault");
    fs::remove_dir(&path).unwrap();
    let expected = format!(
        "Error: the vault {} is not there: make that directory, or correct `path` of `[vault]` in config.toml",
        path.display()
    );
    assert_eq!(text(&world.read("a.md").await), expected);
    assert_eq!(text(&world.write("a.md", "x").await), expected);
    assert_eq!(text(&world.list("", true).await), expected);
    assert_eq!(text(&world.search("x", None).await), expected);
}

#[test]
fn without_a_vault_its_tools_say_what_to_write() {
    let absent = of(None, "vault_read").err().unwrap();
    assert_eq!(absent.name, "vault_read");
    assert!(absent.reason.contains("`[vault]`") && absent.reason.contains("config.toml"));
}
