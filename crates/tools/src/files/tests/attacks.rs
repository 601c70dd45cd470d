//! Every way out that is known, each with the exact answer it gets.

use super::*;

/// Whether that is the whole way of resolving paths, or the one that follows no link.
fn follows(root: &Root) -> bool {
    root.way != Way::Steps
}

#[test]
fn nothing_outside_is_read_however_it_is_named() {
    let world = World::new();
    let long = "x/".repeat(2100);
    let beside = world.beside("inside-evil/secret.txt");
    for root in world.roots() {
        for (path, why) in [
            ("", Why::Empty),
            ("a\0b", Why::Nul),
            ("notes.md\0.txt", Why::Nul),
            (long.as_str(), Why::TooLong),
            (&"n".repeat(256), Why::TooLong),
            ("..", Why::Escapes),
            ("../outside/secret.txt", Why::Escapes),
            ("sub/../../outside/secret.txt", Why::Escapes),
            ("/workspace/../etc/passwd", Why::Escapes),
            ("/workspace/../workspace/secret.txt", Why::Escapes),
            ("/etc/passwd", Why::Escapes),
            ("/", Why::Escapes),
            ("//etc/passwd", Why::Escapes),
            ("/proc/self/root/etc/passwd", Why::Escapes),
            (beside.to_str().unwrap(), Why::Escapes),
            ("../inside-evil/secret.txt", Why::Escapes),
            ("missing.md", Why::Missing),
            ("~/secret.txt", Why::Missing),
            ("%2e%2e/outside/secret.txt", Why::Missing),
            ("..\\outside\\secret.txt", Why::Missing),
            (".", Why::Directory),
            ("/workspace", Why::Directory),
            ("sub", Why::Directory),
            ("sub/deep/", Why::Directory),
            ("notes.md/x", Why::NotADirectory),
            ("pipe", Why::Special),
            ("socket", Why::Special),
            ("loop_a", Why::Link),
            ("self/x", Why::Link),
        ] {
            assert_eq!(
                root.read(path, 1000).map_err(|error| error.why),
                Err(why),
                "{:?} {path:.80}",
                root.way
            );
        }
    }
}

#[test]
fn a_link_is_followed_where_the_kernel_keeps_it_inside_and_nowhere_else() {
    let world = World::new();
    for root in world.roots() {
        let read = |path| root.read(path, 1000).map_err(|error| error.why);
        for (path, text) in
            [("to_notes", "notes"), ("to_sub/deep/file.txt", "deep"), ("sub/../notes.md", "notes")]
        {
            if follows(&root) {
                assert_eq!(read(path), Ok(text.into()), "{path}");
            } else {
                let why = if path.contains("..") { Why::Escapes } else { Why::Link };
                assert_eq!(read(path), Err(why), "{path}");
            }
        }
        for path in [
            "out/secret.txt",
            "out_file",
            "absolute_out/secret.txt",
            "absolute_in",
            "sub/up/outside/secret.txt",
            "magic/x",
        ] {
            let why = if follows(&root) { Why::Escapes } else { Why::Link };
            assert_eq!(read(path), Err(why), "{:?} {path}", root.way);
        }
    }
}

#[test]
fn nothing_outside_is_written_listed_or_removed() {
    let world = World::new();
    let before = world.surroundings();
    for root in world.roots() {
        for path in [
            "../new.txt",
            "out/new.txt",
            "out/new/deeper.txt",
            "out_new",
            "out_file",
            "absolute_out/secret.txt",
            "sub/up/new.txt",
            "/etc/covenant-was-here",
            "/workspace/../new.txt",
            "sub/../../new/new.txt",
            "magic/new.txt",
            "loop_a/new.txt",
        ] {
            assert!(root.write(path, b"x").is_err(), "{:?} {path}", root.way);
            assert!(root.append(path, b"x", Join::Exactly, 1000).is_err(), "{:?} {path}", root.way);
        }
        for path in [
            "../outside/secret.txt",
            "out/secret.txt",
            "absolute_out/secret.txt",
            "sub/up/outside/secret.txt",
        ] {
            assert!(root.remove(path).is_err(), "{:?} {path}", root.way);
            assert!(root.metadata(path).is_err(), "{:?} {path}", root.way);
        }
        for path in ["..", "out", "absolute_out", "sub/up", "/etc", "loop_a"] {
            let page = Page { after: "", count: 100, bytes: 1000 };
            assert!(
                root.list(path, page, &mut |_| ControlFlow::Continue(())).is_err(),
                "{:?} {path}",
                root.way
            );
            assert!(root.walk(path, &mut |_| Step::In).is_err(), "{:?} {path}", root.way);
        }
    }
    assert_eq!(world.surroundings(), before);
}

#[test]
fn a_refusal_says_what_to_do_next() {
    let world = World::new();
    let root = Root::open(&world.inside(), "workspace").unwrap();
    for (path, sentence) in [
        (
            "/etc/passwd",
            "path escapes workspace: /etc/passwd leads outside; use a path beneath it, like notes.md or /workspace/notes.md",
        ),
        ("", "path is required: name a file beneath workspace, like notes.md"),
        ("sub", "sub is a directory: name a file in it"),
        ("no\nsuch", "no\\u{a}such does not exist in workspace: list the directory to see what is there"),
        ("pipe", "pipe is a device, a pipe or a socket: only regular files are opened"),
    ] {
        assert_eq!(root.read(path, 10).unwrap_err().to_string(), sentence);
    }
    assert_eq!(
        root.read("notes.md", 4).unwrap_err().to_string(),
        "notes.md is too large: the limit is 4 bytes; use less, or several files"
    );
}
