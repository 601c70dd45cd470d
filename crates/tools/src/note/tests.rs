//! What is read in notes, and what is not.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn front(text: &str) -> Value {
    let note = Note::read(&format!("---\n{text}\n---\nbody\n"));
    assert_eq!(note.remark, None, "{text}");
    Value::Object(note.front)
}

fn tags(text: &str) -> Vec<String> {
    Note::read(text).tags
}

fn targets(text: &str) -> Vec<String> {
    Note::read(text).links.into_iter().map(|link| link.target).collect()
}

#[test]
fn front_matter_is_read_as_obsidian_writes_it() {
    let read = front(
        "title: \"A: note\"\ntags:\n  - moon\n  - space/apollo\naliases: [One, 'two, three', \"fo\\\"ur\"]\ncount: 3\nratio: -1.5\n\
         done: true\nempty:\nnone: ~\ndate: 2026-11-16\nzip: 007\n# a comment\nplain: text # and a comment\nurl: https://x.org/#a\n\
         author:\n  name: Ada\n  born: 1815\nunder:\n- a\n- b\nmap: {a: 1, \"b c\": [x]}\n\"odd key\": 'it''s'\n\
         long: |\n  one\n    two\n\n  three\nfolded: >-\n  one\n  two\nplainly: goes\n  on here\n\
         people:\n  - name: A\n    age: 1\n  - name: B\nlink: \"[[Apollo]]\"\n[]: 1"
            .trim_end_matches("\n[]: 1"),
    );
    assert_eq!(
        read,
        json!({"title": "A: note", "tags": ["moon", "space/apollo"], "aliases": ["One", "two, three", "fo\"ur"], "count": 3,
            "ratio": -1.5, "done": true, "empty": null, "none": null, "date": "2026-11-16", "zip": "007", "plain": "text",
            "url": "https://x.org/#a", "author": {"name": "Ada", "born": 1815}, "under": ["a", "b"],
            "map": {"a": 1, "b c": ["x"]}, "odd key": "it's", "long": "one\n  two\n\nthree", "folded": "one two",
            "plainly": "goes on here", "people": [{"name": "A", "age": 1}, {"name": "B"}], "link": "[[Apollo]]"})
    );
}

#[test]
fn front_matter_that_cannot_be_read_is_text_with_a_remark() {
    for (text, expected) in [
        ("a: 1\na: 2", "line 3 names `a` a second time"),
        ("just words", "line 2 is not `name: value`"),
        ("a: &x 1\nb: *x", "line 2 has a value that must stand in quotes"),
        ("a: \"open", "line 2 has a quote that is not closed"),
        ("a: [1, 2", "line 2 has a list without an end"),
        ("a: {b: 1", "line 2 has a map without an end"),
        ("a: [[[[[1]]]]]", "line 2 is nested too deeply"),
        ("a:\n  b:\n    c:\n      d:\n        e: 1", "line 6 is nested too deeply"),
        ("a: 1\n   b: 2", "line 3 is indented more than what is above it"),
        ("  a: 1\nb: 2", "line 3 is indented less than what is above it"),
        ("a: \"x\" y", "line 2 goes on after its value"),
        ("a: \"\\q\"", "line 2 has an escape that is not known"),
        ("a: \"\\ud800\"", "line 2 has an escape that is no character"),
    ] {
        let note = Note::read(&format!("---\n{text}\n---\n# Title\n#tag\n"));
        assert_eq!(
            note.remark.as_deref(),
            Some(&*format!("the front matter is read as text: {expected}")),
            "{text}"
        );
        assert_eq!(note.front, Map::new(), "{text}");
        assert_eq!((note.title.as_deref(), &*note.tags), (Some("Title"), &["tag".to_owned()][..]), "{text}");
    }
    let long = format!("---\na: {}\n---\n", "x".repeat(70_000));
    assert!(Note::read(&long).remark.is_some_and(|remark| remark.contains("longer than 64 KiB")));
}

#[test]
fn only_lines_at_the_very_beginning_are_front_matter() {
    for text in ["\n---\na: 1\n---\n", "---\na: 1\n", "--- x\na: 1\n---\n", "text\n---\na: 1\n---\n"] {
        let note = Note::read(text);
        assert_eq!((note.front, note.remark), (Map::new(), None), "{text:?}");
    }
    assert_eq!(Note::read("---\r\na: 1\r\n---\r\n").front, json!({"a": 1}).as_object().unwrap().clone());
    assert_eq!(Note::read("---\n---\n").front, Map::new());
}

#[test]
fn tags_stand_in_front_matter_and_in_the_text_but_not_in_code_or_addresses() {
    assert_eq!(
        tags("---\ntags: [Moon, \"#mars\", 2024]\ntag: a, b c\n---\n"),
        ["Moon", "mars", "2024", "a", "b", "c"]
    );
    assert_eq!(
        tags("#one text #two/sub, #drei-ß #日本。 #moon #MOON #y2024 #a_b/ (#no) x#no #12 ##no # no #"),
        ["one", "two/sub", "drei-ß", "日本", "moon", "y2024", "a_b"]
    );
    assert_eq!(tags("`#a` and ``x ` #b`` then #c\n```\n#d\n```\n~~~py\n#e\n```\n~~~\n#f"), ["c", "f"]);
    assert_eq!(tags("https://x.org/#a [b](#c) [[d#e]]"), Vec::<String>::new());
    assert_eq!(tags("text\n\n    #code\n\n- item\n\n    #listed\n\nend #end"), ["listed", "end"]);
    assert_eq!(tags("a ` #open"), ["open"], "a mark that is never closed is no code");
}

#[test]
fn links_are_read_in_every_spelling() {
    let note = Note::read(
        "[[Apollo]] ![[img.png|300]] [[dir/Note#A heading|shown]] [[#here]] [[a\\|b]] [x](My%20Note.md#h) ![y](<Other note.md>)\n\
         [web](https://x.org/a.md) [no](a.txt) [[ ]] [[open `[[code]]` [t](a.md \"title\") [[x]](y)",
    );
    let link = |target: &str, heading: Option<&str>, alias: Option<&str>, embed| Link {
        target: target.to_owned(),
        heading: heading.map(str::to_owned),
        alias: alias.map(str::to_owned),
        embed,
    };
    assert_eq!(
        note.links,
        [
            link("Apollo", None, None, false),
            link("img.png", None, Some("300"), true),
            link("dir/Note", Some("A heading"), Some("shown"), false),
            link("", Some("here"), None, false),
            link("a", None, Some("b"), false),
            link("My Note.md", Some("h"), Some("x"), false),
            link("Other note.md", None, Some("y"), true),
            link("a.md", None, Some("t"), false),
            link("x", None, None, false),
        ]
    );
    assert_eq!(targets("---\nup: \"[[Home]]\"\nof: [\"[[A|a]]\"]\n---\n"), ["A", "Home"]);
    assert_eq!(targets("[a](%zz.md) [b](%ff.md) [[unclosed\n]]"), Vec::<String>::new());
}

#[test]
fn a_title_is_written_or_the_first_heading_or_the_name() {
    assert_eq!(Note::read("---\ntitle: T\n---\n# H").title_at("a/B.md"), "T");
    assert_eq!(Note::read("---\ntitle: 1984\n---\n# H").title_at("a/B.md"), "1984");
    assert_eq!(Note::read("text\n```\n# code\n```\n## H ##\n# I").title_at("a/B.md"), "H");
    assert_eq!(Note::read("#tag\n#\n####### no").title_at("a/B.md"), "B");
    assert_eq!(Note::read("# C#\n").headings, ["C#"]);
}

#[test]
fn a_link_leads_where_obsidian_leads_it() {
    let notes = ["Home.md", "a/Apollo.md", "a/b/Apollo.md", "c/Moon.md", "c/Home.md"].map(str::to_owned);
    for (target, from, expected) in [
        ("Home", "c/x.md", Some("Home.md")),
        ("home.MD", "x.md", Some("Home.md")),
        ("c/home", "x.md", Some("c/Home.md")),
        ("Apollo", "x.md", Some("a/Apollo.md")),
        ("Apollo", "a/b/x.md", Some("a/b/Apollo.md")),
        ("b/Apollo", "x.md", Some("a/b/Apollo.md")),
        ("/Apollo", "x.md", None),
        ("/a/Apollo", "x.md", Some("a/Apollo.md")),
        ("./Moon", "c/x.md", Some("c/Moon.md")),
        ("../c/Moon", "a/x.md", Some("c/Moon.md")),
        ("../../c/Moon", "a/x.md", None),
        ("oon", "c/x.md", None),
        ("Mars", "x.md", None),
        ("", "x.md", None),
    ] {
        assert_eq!(resolve(target, from, &notes), expected, "{target} from {from}");
    }
}

proptest! {
    #[test]
    fn every_text_is_a_note(text in "(---\n)?[\\[\\]!#|`~\\-: \n\"'{},a-cé日\\\\%>]{0,300}(\n---\n)?.{0,100}") {
        let note = Note::read(&text);
        prop_assert!(note.links.len() <= MOST && note.tags.len() <= MOST);
        let again = Note::read(&text);
        prop_assert_eq!(note, again);
    }
}
