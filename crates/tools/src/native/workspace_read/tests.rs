//! What `workspace_read` answers, to good arguments and to bad ones.

use std::fs;
use std::sync::Arc;

use covenant_model::redact::Redactor;
use serde_json::Value;
use tempfile::TempDir;

use super::*;

/// A secret of several lines, of which none is long enough to be known by itself.
const SECRET: &str = "pa-1ss\nw-2ord\nx-3yz";

fn veil() -> Veil {
    Veil::of([Arc::new(Redactor::new([("KEY", SECRET), ("LONG", "correct-horse-battery")]))])
}

fn call(place: &TempDir, path: &str, offset: Option<u64>, limit: Option<u64>) -> Result<Value, String> {
    let wish = Wish { path: path.to_owned(), offset, limit };
    let result = read(&Workspace::at(&place.path().join("work")), &wish, &veil(), &|| true)?;
    Ok(serde_json::to_value(result).unwrap()["content"].clone())
}

fn place() -> TempDir {
    let place = TempDir::new().unwrap();
    fs::create_dir(place.path().join("work")).unwrap();
    fs::write(place.path().join("secret.txt"), "secret").unwrap();
    place
}

fn write(place: &TempDir, name: &str, bytes: impl AsRef<[u8]>) {
    fs::write(place.path().join("work").join(name), bytes).unwrap();
}

#[test]
fn text_comes_back_as_it_lies_there() {
    let place = place();
    for text in ["", "one", "one\n", "\u{feff}a\r\nb\0\n\n", "für 日本 \u{1F600}"] {
        write(&place, "notes.md", text);
        let whole = call(&place, "/workspace/notes.md", None, None);
        assert_eq!(whole, Ok(json!([{"type": "text", "text": text}])));
    }
}

#[test]
fn lines_are_chosen_and_the_answer_says_how_to_read_on() {
    let place = place();
    write(&place, "notes.md", "one\ntwo\nthree\nfour");
    let text = |offset, limit| call(&place, "notes.md", offset, limit).unwrap();
    let told = text(Some(2), Some(2));
    assert_eq!(told[0]["text"], "two\nthree\n");
    assert_eq!(
        told[1]["text"],
        "[notes.md: lines 2 to 3. The file goes on: call workspace_read with offset 4.]"
    );
    assert_eq!(text(Some(4), Some(9)), json!([{"type": "text", "text": "four"}]));
    assert_eq!(text(None, Some(1))[0]["text"], "one\n");
}

#[test]
fn a_large_file_is_read_in_parts_that_fit_together() {
    let place = place();
    let whole = (0..60_000).map(|number| format!("line {number}\n")).collect::<Vec<_>>().concat();
    write(&place, "large.txt", &whole);
    let (mut read, mut offset, mut parts) = (String::new(), None, 0);
    loop {
        let told = call(&place, "large.txt", offset, None).unwrap();
        let text = told[0]["text"].as_str().unwrap();
        assert!(text.len() <= TEXT);
        read.push_str(text);
        parts += 1;
        let Some(more) = told[1]["text"].as_str() else { break };
        let next = more.trim_end_matches(".]").rsplit(' ').next().unwrap();
        offset = Some(next.parse().unwrap());
    }
    assert!(read == whole && parts == 3, "{parts}");
}

#[test]
fn a_line_that_is_too_long_is_cut_between_two_characters() {
    let place = place();
    write(&place, "long.json", format!("x{}\nend", "ä".repeat(TEXT)));
    let told = call(&place, "long.json", None, None).unwrap();
    assert_eq!(told[0]["text"].as_str().unwrap().len(), TEXT - 1);
    assert_eq!(
        told[1]["text"],
        "[long.json: line 1 has more than 262144 bytes, and only its beginning is shown. Call workspace_read with offset 2 for what comes after it.]"
    );
    assert_eq!(call(&place, "long.json", Some(2), None).unwrap()[0]["text"], "end");
}

#[test]
fn what_is_no_text_is_a_resource() {
    let place = place();
    fs::create_dir(place.path().join("work/a b")).unwrap();
    write(&place, "a b/logo.PNG", b"\x89PNG\xff");
    assert_eq!(
        call(&place, "/workspace/a b/logo.PNG", None, None).unwrap(),
        json!([{"type": "resource", "resource": {"uri": "workspace:///a%20b/logo.PNG", "mimeType": "image/png", "blob": "iVBOR/8="}}])
    );
}

#[test]
fn hostile_arguments_get_exact_answers() {
    let place = place();
    write(&place, "notes.md", "one\ntwo");
    write(&place, "binary", vec![0xff; 2 << 20]);
    let escapes = |path: &str| {
        format!(
            "path escapes workspace: {path} leads outside; use a path beneath it, like notes.md or /workspace/notes.md"
        )
    };
    for (path, offset, sentence) in [
        ("", None, "path is required: name a file beneath workspace, like notes.md".to_owned()),
        ("../secret.txt", None, escapes("../secret.txt")),
        ("/workspace/../etc/passwd", None, escapes("/workspace/../etc/passwd")),
        ("/etc/passwd", None, escapes("/etc/passwd")),
        ("/workspace-evil/x", None, escapes("/workspace-evil/x")),
        ("none.md", None, "failed to read file: none.md does not exist in workspace: list the directory to see what is there".to_owned()),
        (".", None, "failed to read file: . is a directory: name a file in it".to_owned()),
        ("a\0b", None, "failed to read file: a\\u{0}b has a NUL character: no file can be called that; leave it out".to_owned()),
        ("notes.md", Some(3), "offset 3 is past the end: notes.md has 2 lines; use a smaller offset".to_owned()),
        ("notes.md", Some(u64::MAX), format!("offset {} is past the end: notes.md has 2 lines; use a smaller offset", u64::MAX)),
        ("binary", Some(1), "binary is not UTF-8 text: it has no lines to choose from; leave out offset and limit".to_owned()),
        ("binary", None, "binary is not UTF-8 text: it has 2097152 bytes, and only files of at most 1048576 are given as they are; make a smaller one of it first".to_owned()),
    ] {
        assert_eq!(call(&place, path, offset, None), Err(sentence), "{path:?}");
    }
}

#[test]
fn the_workspace_is_made_when_it_is_first_needed() {
    let place = TempDir::new().unwrap();
    assert!(call(&place, "x", None, None).unwrap_err().contains("does not exist"));
    assert!(place.path().join("work").is_dir());
}

#[test]
fn no_choice_of_lines_takes_a_secret_apart() {
    let place = place();
    let many = "y\n".repeat(20_000);
    write(&place, "keys", format!("{many}key: {SECRET} end\nlast\n{many}"));
    for offset in 19_999..20_005 {
        for limit in 1..5 {
            let told = call(&place, "keys", Some(offset), Some(limit)).unwrap().to_string();
            assert!(
                !["pa-1", "w-2o", "x-3y"].iter().any(|part| told.contains(part)),
                "{offset} {limit}: {told}"
            );
        }
    }
    assert_eq!(call(&place, "keys", Some(20_002), Some(1)).unwrap()[0]["text"], "[REDACTED:KEY]");
    assert_eq!(call(&place, "keys", Some(20_004), Some(1)).unwrap()[0]["text"], "last\n");
}

#[test]
fn a_secret_at_the_end_of_what_fits_is_not_cut() {
    let place = place();
    for before in [TEXT - 20, TEXT - 10, TEXT - 1, TEXT] {
        write(&place, "long", format!("{}correct-horse-battery and more", "x".repeat(before)));
        let told = call(&place, "long", None, None).unwrap();
        let text = told[0]["text"].as_str().unwrap();
        assert!(!text.contains('c'), "{before}");
        assert_eq!(text.trim_start_matches('x'), if before < TEXT { "[REDACTED:LONG]" } else { "" });
        assert!(told[1]["text"].as_str().unwrap().contains("only its beginning is shown"));
    }
}
