//! Real repositories: a bare remote, clones of it that edit the same notes, and everything that can be missing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use super::run::prepared;
use super::*;
use crate::ports::Later;

/// Git as this machine has it, with a configuration of its own.
struct Local {
    directory: PathBuf,
    home: PathBuf,
}

#[expect(clippy::disallowed_methods, reason = "a test looks at repositories from outside")]
fn git(home: &Path, directory: &Path, before: &[&str], arguments: &[&str]) -> Output {
    let mut command = std::process::Command::new("git");
    command.current_dir(directory).args(before).args(arguments).env_clear();
    command.env("HOME", home).env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.env("GIT_CONFIG_NOSYSTEM", "1").envs(prepared(directory).1);
    command.output().unwrap()
}

impl Runs for Local {
    fn run<'a>(&'a self, arguments: &'a [&'a str], _: Duration) -> Later<'a, Result<Ran, String>> {
        let ran = git(&self.home, &self.directory, prepared(&self.directory).0, arguments);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Box::pin(async move {
            Ok(Ran { code: ran.status.code(), out: text(&ran.stdout), said: text(&ran.stderr) })
        })
    }

    fn directory(&self) -> &Path {
        &self.directory
    }
}

/// A remote, and directories beside it.
struct World(tempfile::TempDir);

impl World {
    /// A remote with one commit: `Home.md`.
    fn new() -> Self {
        let world = Self(tempfile::tempdir().unwrap());
        world.run(".", &["init", "--quiet", "--bare", "--initial-branch=main", "remote.git"]);
        world.run(".", &["clone", "--quiet", "remote.git", "first"]);
        world.write("first/Home.md", "one\ntwo\nthree\n");
        world.run("first", &["add", "Home.md"]);
        world.run(
            "first",
            &["-c", "user.name=A", "-c", "user.email=a@x", "commit", "--quiet", "--message=Begin"],
        );
        world.run("first", &["push", "--quiet", "-u", "origin", "HEAD:main"]);
        world
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.at(path), text).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    #[track_caller]
    fn run(&self, directory: &str, arguments: &[&str]) -> String {
        let ran = git(self.0.path(), &self.at(directory), &[], arguments);
        assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap().trim().to_owned()
    }

    fn clone(&self, name: &str) -> Git {
        self.run(".", &["clone", "--quiet", "remote.git", name]);
        self.git(name)
    }

    fn git(&self, name: &str) -> Git {
        Git::new(Box::new(Local { directory: self.at(name), home: self.0.path().to_owned() }))
    }

    /// Writes a note there as the tool does.
    async fn edit(&self, clone: &Git, name: &str, path: &str, text: &str) -> Option<Trouble> {
        let whole = format!("{name}/{path}");
        let act = async {
            self.write(&whole, text);
            Ok::<_, ()>(())
        };
        clone.publish(path, "--amend is no option\nhere", act).await.unwrap().1
    }
}

#[tokio::test]
async fn a_written_note_reaches_the_remote_and_other_clones() {
    let world = World::new();
    let (here, there) = (world.clone("here"), world.clone("there"));
    assert_eq!(world.edit(&here, "here", "New *.md", "hello").await, None);
    assert_eq!(world.run("remote.git", &["log", "-1", "--format=%B", "main"]), "--amend is no option\nhere");
    assert_eq!(world.run("remote.git", &["log", "-1", "--format=%an", "main"]), "Covenant");
    assert_eq!(there.freshen().await, None);
    assert_eq!(world.read("there/New *.md"), "hello");
    assert_eq!(
        world.edit(&here, "here", "New *.md", "hello").await,
        None,
        "the same again is no commit, and no trouble"
    );
}

#[tokio::test]
async fn only_that_file_is_committed_and_other_edits_stay_as_they_are() {
    let world = World::new();
    let here = world.clone("here");
    world.write("here/Home.md", "an edit nobody committed\n");
    world.write("here/Staged.md", "staged");
    world.run("here", &["add", "Staged.md"]);
    world.write("here/Unknown.md", "untracked");
    assert_eq!(world.edit(&here, "here", "a.md", "mine").await, None);
    assert_eq!(world.run("remote.git", &["show", "--name-only", "--format=", "main"]), "a.md");
    assert_eq!(world.read("here/Home.md"), "an edit nobody committed\n");
    let status = world.run("here", &["status", "--porcelain"]);
    for line in ["M Home.md", "A  Staged.md", "?? Unknown.md"] {
        assert!(status.contains(line), "{status}");
    }
}

#[tokio::test]
async fn edits_of_different_notes_and_lines_are_put_together() {
    let world = World::new();
    let (here, there) = (world.clone("here"), world.clone("there"));
    assert_eq!(world.edit(&here, "here", "Home.md", "ONE\ntwo\nthree\n").await, None);
    assert_eq!(world.edit(&there, "there", "Home.md", "one\ntwo\nTHREE\n").await, None);
    assert_eq!(world.read("there/Home.md"), "ONE\ntwo\nTHREE\n");
    assert_eq!(world.edit(&here, "here", "b.md", "b").await, None);
    assert_eq!(world.read("here/Home.md"), "ONE\ntwo\nTHREE\n");
    assert_eq!(world.edit(&there, "there", "c.md", "c").await, None);
    assert_eq!(world.read("there/b.md"), "b");
}

#[tokio::test]
async fn a_conflict_is_told_and_neither_version_is_lost() {
    let world = World::new();
    let (here, there) = (world.clone("here"), world.clone("there"));
    assert_eq!(world.edit(&here, "here", "Home.md", "HERE\ntwo\nthree\n").await, None);
    let conflict = Some(Trouble::Conflict(vec!["Home.md".to_owned()]));
    assert_eq!(world.edit(&there, "there", "Home.md", "THERE\ntwo\nthree\n").await, conflict);
    assert_eq!(world.read("there/Home.md"), "THERE\ntwo\nthree\n", "the local edit is where it was");
    assert_eq!(world.run("there", &["show", "HEAD:Home.md"]), "THERE\ntwo\nthree");
    assert_eq!(world.run("remote.git", &["show", "main:Home.md"]), "HERE\ntwo\nthree");
    assert_eq!(world.run("there", &["status", "--porcelain"]), "", "nothing is left half done");
    assert_eq!(world.edit(&there, "there", "other.md", "x").await, conflict, "it is told again");
    assert_eq!(world.run("there", &["show", "HEAD:other.md"]), "x");
    // Once a person has settled it, all of it goes its way.
    let ran = git(
        world.0.path(),
        &world.at("there"),
        &[],
        &["merge", "--quiet", "-X", "ours", "-m", "settled", "origin/main"],
    );
    assert!(
        ran.status.success()
            || git(
                world.0.path(),
                &world.at("there"),
                &["-c", "user.name=A", "-c", "user.email=a@x"],
                &["merge", "-X", "ours", "-m", "settled", "origin/main"]
            )
            .status
            .success()
    );
    assert_eq!(world.edit(&there, "there", "last.md", "x").await, None);
    assert_eq!(world.run("remote.git", &["show", "main:Home.md"]), "THERE\ntwo\nthree");
}

#[tokio::test]
async fn an_edit_that_nobody_committed_is_never_written_over() {
    let world = World::new();
    let (here, there) = (world.clone("here"), world.clone("there"));
    world.write("there/Home.md", "in my editor\n");
    assert_eq!(world.edit(&here, "here", "Home.md", "from elsewhere\n").await, None);
    let told = there.freshen().await.unwrap().to_string();
    assert!(told.contains("would be overwritten") && told.contains("Home.md"), "{told}");
    assert_eq!(world.read("there/Home.md"), "in my editor\n");
    assert!(matches!(world.edit(&there, "there", "b.md", "b").await, Some(Trouble::Failed { .. })));
    assert_eq!(world.read("there/Home.md"), "in my editor\n");
}

/// What git is told to ignore lies nowhere else: it is not written over by what the remote has under its name, whether the
/// two are put together by moving on or by a merge.
#[tokio::test]
async fn a_file_that_git_ignores_is_never_written_over() {
    for ahead in [false, true] {
        let world = World::new();
        world.write("first/.gitignore", "*.key\nprivate\nsoon\n");
        world.run("first", &["add", "."]);
        world.run("first", &["-c", "user.name=A", "-c", "user.email=a@x", "commit", "--quiet", "-mIgnore"]);
        world.run("first", &["push", "--quiet", "origin", "HEAD:main"]);
        let there = world.clone("there");
        world.write("there/my.key", "only here");
        world.write("there/private", "only here, and a directory there");
        fs::create_dir(world.at("there/soon")).unwrap();
        world.write("there/soon/note.md", "only here, and a file there");
        if ahead {
            fs::rename(world.at("remote.git"), world.at("gone.git")).unwrap();
            assert!(world.edit(&there, "there", "mine.md", "mine").await.is_some());
            fs::rename(world.at("gone.git"), world.at("remote.git")).unwrap();
        }
        fs::create_dir(world.at("first/private")).unwrap();
        for path in ["my.key", "private/a.md", "soon", "harmless.md"] {
            world.write(&format!("first/{path}"), "from elsewhere");
        }
        world.run("first", &["add", "--force", "."]);
        world.run("first", &["-c", "user.name=A", "-c", "user.email=a@x", "commit", "--quiet", "-mAll"]);
        world.run("first", &["push", "--quiet", "origin", "HEAD:main"]);
        there.pace.lock().await.asked = None;
        let told = there.freshen().await.unwrap();
        let mut blocked = told.conflicts().to_vec();
        blocked.sort();
        assert_eq!(blocked, ["my.key", "private", "soon/note.md"], "{told}");
        assert!(told.to_string().starts_with("new at the remote, and already in the vault"), "{told}");
        assert_eq!(world.read("there/my.key"), "only here");
        assert_eq!(world.read("there/private"), "only here, and a directory there");
        assert_eq!(world.read("there/soon/note.md"), "only here, and a file there");
        assert!(!world.at("there/harmless.md").exists(), "nothing is merged in part");
        for path in ["my.key", "private", "soon"] {
            fs::rename(world.at("there").join(path), world.at(path)).unwrap();
        }
        there.pace.lock().await.asked = None;
        assert_eq!(there.freshen().await, None, "once they are out of the way");
        assert_eq!(world.read("there/private/a.md"), "from elsewhere");
    }
}

/// What a person set for himself changes nothing of what happens to his edits.
#[tokio::test]
async fn settings_of_the_user_do_not_lead_to_other_merges() {
    let world = World::new();
    for (name, value) in [
        ("merge.autoStash", "true"),
        ("rebase.autoStash", "true"),
        ("merge.ff", "only"),
        ("branch.main.mergeOptions", "--squash"),
        ("commit.gpgSign", "true"),
        ("gpg.program", "/bin/false"),
        ("push.gpgSign", "true"),
        ("core.pager", "/bin/false"),
        ("diff.external", "/bin/false"),
    ] {
        world.run(".", &["config", "--global", name, value]);
    }
    let (here, there) = (world.clone("here"), world.clone("there"));
    world.write("there/Home.md", "in my editor\n");
    assert_eq!(world.edit(&here, "here", "Home.md", "from elsewhere\n").await, None);
    assert!(there.freshen().await.is_some());
    assert_eq!(world.read("there/Home.md"), "in my editor\n");
    assert_eq!(world.run("there", &["stash", "list"]), "");
    world.run("there", &["checkout", "--quiet", "Home.md"]);
    assert_eq!(world.edit(&there, "there", "b.md", "b").await, None, "a merge, and not less");
    assert_eq!(world.run("remote.git", &["log", "-1", "--format=%p", "main"]).split(' ').count(), 2);
}

#[tokio::test]
async fn what_is_missing_is_told_and_the_edit_stays() {
    let world = World::new();
    let here = world.clone("here");
    fs::rename(world.at("remote.git"), world.at("gone.git")).unwrap();
    let told = world.edit(&here, "here", "a.md", "a").await.unwrap().to_string();
    assert!(told.starts_with("git could not reach the vault's remote: "), "{told}");
    assert_eq!(world.run("here", &["show", "HEAD:a.md"]), "a", "it is committed");
    fs::rename(world.at("gone.git"), world.at("remote.git")).unwrap();
    assert_eq!(world.edit(&here, "here", "b.md", "b").await, None);
    assert_eq!(world.run("remote.git", &["show", "main:a.md"]), "a", "and goes with the next");

    world.run("here", &["checkout", "--quiet", "--detach"]);
    assert_eq!(world.edit(&here, "here", "c.md", "c").await, Some(Trouble::Detached));
    assert_eq!(world.read("here/c.md"), "c");
    world.run("here", &["switch", "--quiet", "--create", "alone"]);
    assert_eq!(world.edit(&here, "here", "c.md", "c").await, Some(Trouble::NoUpstream("alone".to_owned())));
    assert_eq!(world.run("here", &["show", "HEAD:c.md"]), "c", "it is committed");
    fs::write(world.at("here/.git/MERGE_HEAD"), "x").unwrap();
    assert_eq!(world.edit(&here, "here", "d.md", "d").await, Some(Trouble::Underway("merge")));
    fs::remove_file(world.at("here/.git/MERGE_HEAD")).unwrap();

    fs::create_dir(world.at("here/inner")).unwrap();
    let inner = world.git("here/inner");
    assert_eq!(
        world.edit(&inner, "here/inner", "a.md", "a").await,
        Some(Trouble::NoRepository),
        "no repository above is taken for it"
    );
    fs::write(world.at("here/.gitignore"), "secret.md\n").unwrap();
    assert_eq!(
        world.edit(&here, "here", "secret.md", "x").await,
        Some(Trouble::Ignored("secret.md".to_owned()))
    );
}

#[tokio::test]
async fn an_empty_remote_takes_the_first_note() {
    let world = World(tempfile::tempdir().unwrap());
    world.run(".", &["init", "--quiet", "--bare", "--initial-branch=main", "remote.git"]);
    let here = world.clone("here");
    assert_eq!(world.edit(&here, "here", "a.md", "a").await, None);
    assert_eq!(world.run("remote.git", &["show", "main:a.md"]), "a");
}

#[tokio::test]
async fn nothing_that_a_repository_brings_along_is_started() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    let here = world.clone("here");
    let script = format!("#!/bin/sh\ntouch '{}'\n", world.at("started").display());
    for hook in [
        "pre-commit",
        "post-commit",
        "commit-msg",
        "post-merge",
        "pre-push",
        "reference-transaction",
        "watch",
    ] {
        let path = world.at("here/.git/hooks").join(hook);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, &script).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    world.run("here", &["config", "core.fsmonitor", ".git/hooks/watch"]);
    world.run("here", &["config", "core.editor", ".git/hooks/watch"]);
    assert_eq!(world.edit(&here, "here", "a.md", "a").await, None);
    assert_eq!(here.freshen().await, None);
    assert!(!world.at("started").exists());
}

#[tokio::test]
async fn the_remote_is_asked_now_and_then_and_not_each_time() {
    let world = World::new();
    let (here, there) = (world.clone("here"), world.clone("there"));
    assert_eq!(there.freshen().await, None);
    assert_eq!(world.edit(&here, "here", "a.md", "a").await, None);
    assert_eq!(there.freshen().await, None);
    assert!(!world.at("there/a.md").exists(), "it was asked a moment ago");
    there.pace.lock().await.asked = None;
    assert_eq!(there.freshen().await, None);
    assert!(world.at("there/a.md").exists());
}

#[tokio::test]
async fn two_who_write_at_once_both_arrive() {
    let world = World::new();
    let (here, there) = (world.clone("here"), world.clone("there"));
    let mine = async {
        for n in 0..3 {
            assert_eq!(world.edit(&here, "here", &format!("a{n}.md"), "a").await, None);
        }
    };
    let theirs = async {
        for n in 0..3 {
            assert_eq!(world.edit(&there, "there", &format!("b{n}.md"), "b").await, None);
        }
    };
    tokio::join!(mine, theirs);
    let files = world.run("remote.git", &["ls-tree", "--name-only", "main"]);
    assert_eq!(files.lines().count(), 7, "{files}");
}
