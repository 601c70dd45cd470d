//! Paths made by chance from everything that was ever used to get out: whatever is done with them, nothing outside is read,
//! made or changed.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

const PARTS: &[&str] = &[
    "..",
    "..",
    ".",
    "",
    "sub",
    "deep",
    "up",
    "to_sub",
    "to_notes",
    "out",
    "out_file",
    "out_new",
    "absolute_out",
    "absolute_in",
    "loop_a",
    "self",
    "nowhere",
    "magic",
    "pipe",
    "socket",
    "notes.md",
    "file.txt",
    "secret.txt",
    "outside",
    "inside",
    "inside-evil",
    "workspace",
    "new",
    "new.txt",
    "für",
    "日本",
    "e\u{301}",
    "\u{202e}",
    "a\0b",
    "\\..\\",
    "%2e%2e",
    "...",
    ". .",
    "~",
];

fn paths() -> impl Strategy<Value = String> {
    let part = prop_oneof![8 => select(PARTS).prop_map(str::to_owned), 1 => ".{0,12}"];
    let start = select(vec![
        "",
        "",
        "",
        "/",
        "//",
        "/workspace/",
        "/workspace/../",
        "/INSIDE/",
        "/INSIDE/../",
        "/OUTSIDE/",
    ]);
    (start, vec(part, 0..7)).prop_map(|(start, parts)| format!("{start}{}", parts.join("/")))
}

/// Does everything that can be done with a path; whatever could be seen comes back.
fn act(root: &Root, path: &str) -> Vec<u8> {
    let mut seen = root.read(path, 1000).unwrap_or_default();
    let range = Range { first: 1, count: 10, bytes: 1000 };
    seen.extend(root.read_lines(path, range, &|| true).unwrap_or_default().bytes);
    let page = Page { after: "", count: 100, bytes: 10_000 };
    for entry in
        root.list(path, page, &mut |_| ControlFlow::Continue(())).into_iter().flat_map(|found| found.entries)
    {
        seen.extend(entry.name.bytes());
    }
    let _ = root.walk(path, &mut |found| {
        seen.extend(found.read(1000).unwrap_or_default());
        Step::In
    });
    let _ = root.metadata(path);
    let _ = root.append(path, b"added", Join::OnNewLine, 1000);
    let _ = root.write(path, b"written");
    let _ = root.remove(path);
    let _ = root.write(path, b"written again");
    seen
}

fn holds(seen: &[u8], text: &str) -> bool {
    seen.windows(text.len()).any(|window| window == text.as_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_path_leads_out(paths in vec(paths(), 1..4)) {
        let world = World::new();
        let before = world.surroundings();
        for root in world.roots() {
            for path in &paths {
                let path = path
                    .replace("/INSIDE", world.inside().to_str().unwrap())
                    .replace("/OUTSIDE", world.beside("outside").to_str().unwrap());
                let seen = act(&root, &path);
                prop_assert!(!holds(&seen, SECRET), "{path:?} was read");
                prop_assert!(!holds(&seen, ONLY_OUTSIDE), "{path:?} was listed");
            }
        }
        prop_assert_eq!(world.surroundings(), before);
    }
}
