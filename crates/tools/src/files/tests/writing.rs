//! What writing leaves behind: the whole content, the right permissions, and nothing else.

use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};

use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn a_file_is_replaced_whole_and_keeps_its_permissions() {
    let world = World::new();
    for root in world.roots() {
        let notes = world.inside().join("notes.md");
        fs::set_permissions(&notes, fs::Permissions::from_mode(0o640)).unwrap();
        let before = fs::metadata(&notes).unwrap().ino();
        root.write("/workspace/notes.md", b"new").unwrap();
        assert_eq!(fs::read(&notes).unwrap(), b"new");
        assert_eq!(mode(&notes), 0o640);
        assert_ne!(fs::metadata(&notes).unwrap().ino(), before, "another file: nobody saw it half written");
        assert!(!drafts(&world.inside()));
    }
}

/// Whether a draft was left behind.
fn drafts(directory: &Path) -> bool {
    fs::read_dir(directory)
        .unwrap()
        .any(|entry| entry.unwrap().file_name().to_string_lossy().starts_with(".covenant"))
}

#[test]
fn directories_that_are_missing_are_made() {
    let world = World::new();
    for (index, root) in world.roots().iter().enumerate() {
        root.write(&format!("new{index}/a/b.txt"), b"b").unwrap();
        let file = world.inside().join(format!("new{index}/a/b.txt"));
        assert_eq!(fs::read(&file).unwrap(), b"b");
        // As any program's files are made here, whatever the mask.
        let usual = (world.beside(&format!("file{index}")), world.beside(&format!("dir{index}")));
        fs::OpenOptions::new().write(true).create_new(true).mode(0o644).open(&usual.0).unwrap();
        fs::DirBuilder::new().mode(0o755).create(&usual.1).unwrap();
        assert_eq!(mode(&file), mode(&usual.0));
        assert_eq!(mode(file.parent().unwrap()), mode(&usual.1));
        assert_eq!(root.write(&format!("none{index}/../x"), b"x").unwrap_err().why, Why::Missing);
        assert!(!world.inside().join(format!("none{index}")).exists(), "and nothing was made on the way");
    }
}

#[test]
fn what_is_private_is_seen_by_its_owner_alone() {
    let world = World::new();
    let place = world.beside("memory/client-ada");
    let root = Root::made(&place, "memory", Care::Private).unwrap();
    root.write("MEMORY.md", b"x").unwrap();
    root.append("log.md", b"x", Join::Exactly, 10).unwrap();
    for (path, expected) in [("", 0o700), ("MEMORY.md", 0o600), ("log.md", 0o600)] {
        assert_eq!(mode(&place.join(path)), expected, "{path}");
    }
    assert_eq!(mode(&world.beside("memory")), 0o700);
}

#[test]
fn only_a_regular_file_is_replaced_or_added_to() {
    let world = World::new();
    for root in world.roots() {
        for (path, why) in [
            ("to_notes", Why::Link),
            ("out_new", Why::Link),
            ("nowhere", Why::Link),
            ("loop_a", Why::Link),
            ("sub", Why::Directory),
            (".", Why::Directory),
            ("sub/deep/..", Why::Directory),
            ("pipe", Why::Special),
            ("socket", Why::Special),
            ("notes.md/x", Why::NotADirectory),
        ] {
            assert_eq!(root.write(path, b"x").unwrap_err().why, why, "write {path}");
            if path != "pipe" {
                assert_eq!(root.append(path, b"x", Join::Exactly, 10).unwrap_err().why, why, "append {path}");
            }
        }
        assert_eq!(root.append("pipe", b"x", Join::Exactly, 10).unwrap_err().why, Why::Special);
        assert_eq!(fs::read(world.inside().join("notes.md")).unwrap(), b"notes");
        assert!(!drafts(&world.inside()));
    }
}

#[test]
fn what_is_added_stands_at_the_end_and_may_begin_a_line() {
    let world = World::new();
    let root = Root::open(&world.inside(), "workspace").unwrap();
    for (text, join) in
        [("a", Join::OnNewLine), ("b", Join::OnNewLine), ("c\n", Join::Exactly), ("d", Join::OnNewLine)]
    {
        root.append("log/today.md", text.as_bytes(), join, 8).unwrap();
    }
    assert_eq!(root.read("log/today.md", 100).unwrap(), b"a\nbc\nd");
    assert_eq!(root.append("log/today.md", b"123", Join::Exactly, 8).unwrap_err().why, Why::TooLarge(8));
    let with_its_line = root.append("log/today.md", b"12", Join::OnNewLine, 8);
    assert_eq!(with_its_line.unwrap_err().why, Why::TooLarge(8), "the line that is ended for it counts");
    assert_eq!(root.read("log/today.md", 100).unwrap(), b"a\nbc\nd", "nothing of it was added");
    root.append("log/today.md", b"1", Join::OnNewLine, 8).unwrap();
    assert_eq!(root.read("log/today.md", 8).unwrap(), b"a\nbc\nd\n1");
}

#[test]
fn removing_takes_a_file_or_a_link_and_never_what_the_link_leads_to() {
    let world = World::new();
    let before = world.surroundings();
    let root = Root::open(&world.inside(), "workspace").unwrap();
    root.remove("out_file").unwrap();
    root.remove("to_notes").unwrap();
    root.remove("/workspace/sub/deep/file.txt").unwrap();
    assert_eq!(root.remove("sub").unwrap_err().why, Why::Directory);
    assert_eq!(root.remove("sub/none").unwrap_err().why, Why::Missing);
    assert_eq!(root.read("notes.md", 10).unwrap(), b"notes");
    assert_eq!(world.surroundings(), before);
}

#[test]
fn a_root_that_is_no_directory_is_refused() {
    let world = World::new();
    for (path, why) in [("inside/notes.md", Why::NotADirectory), ("none", Why::Missing)] {
        assert_eq!(Root::open(&world.beside(path), "workspace").unwrap_err().why, why);
    }
    assert!(Root::made(&world.beside("inside/notes.md/x"), "workspace", Care::Shared).is_err());
}
