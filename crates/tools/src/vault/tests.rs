//! The tools of a vault over real files: what they answer, and what hostile arguments get.

use std::collections::HashMap;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::symlink;

use covenant_gate::{SystemClock, Veil};
use covenant_model::note::{Entry, Hit, Index, IndexError, Stamp, key};
use covenant_model::redact::Redactor;
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
            .map(|entry| Hit { path: entry.path.clone(), title: entry.title.clone(), modified: 0 })
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
        serde_json::to_value(vault_read::read(&self.vault, path.to_owned(), Veil::default()).await).unwrap()
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
            vault_search::search(&self.vault, query.to_owned(), path.map(str::to_owned), &nobody()).await,
        )
        .unwrap()
    }
}

/// A context of no call.
fn nobody() -> covenant_gate::Context {
    covenant_gate::Context::new(tokio_util::sync::CancellationToken::new())
}

fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap()
}

#[tokio::test]
async fn what_a_note_says_of_itself_holds_no_piece_of_a_secret() {
    let world = World::new();
    world.put("n.md", "# Keys\n\nThe key is abc #def-ghi-jkl [[mno|pqr]] stu.\n");
    let veil = Veil::of([Arc::new(Redactor::new([("KEY", "abc #def-ghi-jkl [[mno|pqr]] stu")]))]);
    let read = vault_read::read(&world.vault, "n".to_owned(), veil).await;
    let told = serde_json::to_value(read).unwrap();
    assert_eq!(text(&told), "# Keys\n\nThe key is [REDACTED:KEY].\n");
    let facts = &told["structuredContent"];
    assert_eq!((&facts["tags"], &facts["links"]), (&json!([]), &json!([])));
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

/// Hidden names take no place of those that are shown.
#[tokio::test]
async fn a_directory_full_of_hidden_names_is_listed_all_the_same() {
    let world = World::new();
    for number in 0..2001 {
        world.put(&format!(".{number}"), "");
    }
    world.put("seen.md", "");
    let listed = world.list("", false).await;
    assert_eq!(listed["structuredContent"], json!({"files": ["seen.md"], "more": 0}));
}

/// A git that does not answer until it is let go.
struct Slow {
    directory: std::path::PathBuf,
    begun: tokio::sync::mpsc::UnboundedSender<()>,
    go: Arc<tokio::sync::Notify>,
    ended: tokio::sync::mpsc::UnboundedSender<()>,
}

impl crate::git::Runs for Slow {
    fn run<'a>(
        &'a self,
        _: &'a [&'a str],
        _: std::time::Duration,
    ) -> crate::ports::Later<'a, Result<crate::git::Ran, String>> {
        Box::pin(async move {
            self.begun.send(()).unwrap();
            self.go.notified().await;
            self.ended.send(()).unwrap();
            Err("this git says nothing".to_owned())
        })
    }

    fn directory(&self) -> &std::path::Path {
        &self.directory
    }
}

/// Whoever takes a call back ends its own waiting, and not the git that is in the middle of something.
#[tokio::test]
async fn git_is_not_killed_by_a_reader_who_gives_up() {
    let (begun, mut has_begun) = tokio::sync::mpsc::unbounded_channel();
    let (ended, mut has_ended) = tokio::sync::mpsc::unbounded_channel();
    let go = Arc::new(tokio::sync::Notify::new());
    for search in [false, true] {
        let world = World::new();
        let directory = world.directory.path().join("vault");
        let slow = Slow {
            directory: directory.clone(),
            begun: begun.clone(),
            go: Arc::clone(&go),
            ended: ended.clone(),
        };
        let indexes: Indexes = Arc::new(|_, _| Err("nothing is indexed here".to_owned()));
        let library = Library::new(directory, SHOWN, indexes, Arc::new(SystemClock));
        let vault = Vault::of(library, Some(Git::new(Box::new(slow))));
        let context = nobody();
        let call = async {
            if search {
                vault_search::search(&vault, "moon".to_owned(), None, &context).await
            } else {
                vault_read::read(&vault, "Home.md".to_owned(), context.veil()).await
            }
        };
        tokio::select! {
            answer = call => panic!("{answer:?}"),
            begun = has_begun.recv() => begun.unwrap(),
        }
        go.notify_one();
        has_ended.recv().await.unwrap();
    }
}

#[test]
fn a_synced_vault_reaches_beyond_this_machine_and_says_so() {
    use covenant_gate::Tool;
    let root = tempfile::tempdir().unwrap();
    for synced in [false, true] {
        let mut parts = crate::native::tests::parts(root.path());
        parts.vault = Ok(crate::native::tests::vault(root.path(), synced));
        let tools = crate::native(&parts).0;
        let annotations = |name: &str| {
            let tool: &Arc<dyn Tool> = tools.iter().find(|tool| tool.spec().name.as_str() == name).unwrap();
            tool.spec().extra["annotations"].clone()
        };
        for (name, read_only, open) in [
            ("vault_read", true, synced),
            ("vault_search", true, synced),
            ("vault_write", false, synced),
            ("vault_list", true, false),
        ] {
            let annotations = annotations(name);
            assert_eq!(
                (&annotations["readOnlyHint"], &annotations["openWorldHint"]),
                (&json!(read_only), &json!(open)),
                "{name}"
            );
        }
    }
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
        "Error: the vault {} is not there; make that directory, or correct `path` of `[vault]` in config.toml",
        path.display()
    );
    assert_eq!(text(&world.read("a.md").await), expected);
    assert_eq!(text(&world.write("a.md", "x").await), expected);
    assert_eq!(text(&world.list("", true).await), expected);
    assert_eq!(text(&world.search("x", None).await), expected);
    fs::write(&path, "").unwrap();
    let expected = format!(
        "Error: the vault {} is not a directory, or goes through a file; correct `path` of `[vault]` in config.toml",
        path.display()
    );
    assert_eq!(text(&world.read("a.md").await), expected);
}

#[test]
fn without_a_vault_its_tools_say_what_to_write() {
    let root = tempfile::tempdir().unwrap();
    let parts =
        Parts { vault: Err(settings::NO_VAULT.to_owned()), ..crate::native::tests::parts(root.path()) };
    let absent = crate::native(&parts).1;
    assert_eq!(absent.len(), 4);
    for Absent { name, reason } in absent {
        assert!(name.starts_with("vault_"), "{name}");
        assert!(reason.contains("`[vault]`") && reason.contains("config.toml"), "{reason}");
    }
}
