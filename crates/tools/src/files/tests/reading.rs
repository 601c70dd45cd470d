//! What can be seen beneath a root: files by either name of theirs, pages of directories, and everything in order.

use super::*;

#[test]
fn a_file_is_read_by_every_name_it_has() {
    let world = World::new();
    let real = world.inside().join("sub/deep/file.txt");
    for root in world.roots() {
        for path in [
            "sub/deep/file.txt",
            "./sub//deep/file.txt",
            "/workspace/sub/deep/file.txt",
            real.to_str().unwrap(),
        ] {
            assert_eq!(root.read(path, 4).unwrap(), b"deep", "{path}");
        }
        assert_eq!(root.metadata("/workspace/notes.md").unwrap().size, 5);
        assert_eq!(root.metadata(".").unwrap().kind, FileKind::Directory);
        assert_eq!(root.relative("/workspace/./a//b").unwrap(), "a/b");
    }
}

#[test]
fn a_root_that_is_a_link_itself_may_be_named_by_both_of_its_places() {
    let world = World::new();
    let link = world.beside("link");
    symlink(world.inside(), &link).unwrap();
    let root = Root::open(&link, "workspace").unwrap();
    for path in [link.join("notes.md"), world.inside().canonicalize().unwrap().join("notes.md")] {
        assert_eq!(root.read(path.to_str().unwrap(), 10).unwrap(), b"notes");
    }
}

#[test]
fn a_file_that_says_it_is_empty_is_still_measured() {
    // As the files of /proc are.
    let Ok(root) = Root::open(Path::new("/proc/self"), "proc") else { return };
    assert_eq!(root.metadata("status").unwrap().size, 0);
    assert_eq!(root.read("status", 10).unwrap_err().why, Why::TooLarge(10));
    assert!(!root.read("status", 1 << 20).unwrap().is_empty());
}

#[test]
fn names_come_in_order_with_what_they_stand_for() {
    let world = World::new();
    for root in world.roots() {
        let page = Page { after: "nowhere", count: 5, bytes: 1000 };
        let listing = root.list("/workspace", page, &mut |_| ControlFlow::Continue(())).unwrap();
        let found: Vec<_> = listing.entries.iter().map(|entry| (entry.name.as_str(), entry.kind)).collect();
        let expected = [
            ("out", FileKind::Link),
            ("out_file", FileKind::Link),
            ("out_new", FileKind::Link),
            ("pipe", FileKind::Other),
            ("self", FileKind::Link),
        ];
        assert_eq!((found.as_slice(), listing.more), (expected.as_slice(), 4));
    }
}

#[test]
fn a_list_that_nobody_waits_for_ends() {
    let world = World::new();
    for index in 0..10_000 {
        fs::File::create(world.inside().join(format!("sub/{index}"))).unwrap();
    }
    let root = Root::open(&world.inside(), "workspace").unwrap();
    let page = Page { after: "", count: 5, bytes: 1000 };
    let ended = root.list("sub", page, &mut |_| ControlFlow::Break(()));
    assert_eq!(ended.unwrap_err().why, Why::Stopped);
}

#[test]
fn a_walk_shows_everything_once_and_goes_through_no_link() {
    let world = World::new();
    fs::write(world.inside().join("sub/a.md"), "a").unwrap();
    for root in world.roots() {
        let mut seen = Vec::new();
        let walked = root.walk("sub", &mut |found| {
            seen.push((found.path.to_owned(), found.read(10).ok()));
            Step::In
        });
        assert_eq!(walked, Ok(Walked::default()));
        let expected = [
            ("sub/a.md".to_owned(), Some(b"a".to_vec())),
            ("sub/deep".to_owned(), None),
            ("sub/deep/file.txt".to_owned(), Some(b"deep".to_vec())),
            ("sub/up".to_owned(), None),
        ];
        assert_eq!(seen, expected);
    }
}

#[test]
fn a_walk_can_leave_a_directory_out_or_end() {
    let world = World::new();
    let root = Root::open(&world.inside(), "workspace").unwrap();
    let mut seen = Vec::new();
    root.walk(".", &mut |found| {
        seen.push(found.path.to_owned());
        match found.name {
            "sub" => Step::Past,
            "to_notes" => Step::Stop,
            _ => Step::In,
        }
    })
    .unwrap();
    assert!(
        seen.iter().any(|path| path == "sub") && !seen.iter().any(|path| path.starts_with("sub/")),
        "{seen:?}"
    );
    assert_eq!(seen.last().map(String::as_str), Some("to_notes"));
}
