//! What may be a handle, the name of a workspace, a label; and what may not.

use super::*;

#[test]
fn handles_are_short_lower_case_and_nobody_elses_word() {
    let longest = "a".repeat(39);
    for text in ["ada", "a", "7of9", "grace.hopper", "a_b-c.d", &longest] {
        assert_eq!(Handle::of_person(text).unwrap().to_string(), text);
    }
    let too_long = "a".repeat(40);
    let odd = ["", "Ada", "@ada", "-ada", ".ada", "a b", "ada\n", "a/b", "ädä", "a:b", "a\0", &too_long];
    for text in odd {
        assert!(matches!(Handle::of_person(text), Err(BadName::Handle(_))), "{text}");
    }
    for text in ["local", "private", "all", "any", "team"] {
        assert_eq!(Handle::of_person(text), Err(BadName::Reserved(text.to_owned())));
    }
    assert_eq!("local".parse(), Ok(Handle::local()), "the operator has one of them");
}

#[test]
fn reserved_words_stand_in_order_and_are_handles_otherwise() {
    assert!(RESERVED.is_sorted());
    assert!(RESERVED.iter().all(|word| word.parse::<Handle>().is_ok()));
}

#[test]
fn names_of_workspaces_can_be_seen() {
    for text in ["acme", "Acme Platform", "équipe 7", &"x".repeat(64)] {
        assert_eq!(WorkspaceName::given(text).unwrap().as_str(), text);
    }
    for text in ["", " acme", "acme ", "a\nb", "a\u{202e}b", "\u{200b}", &"x".repeat(65)] {
        assert!(matches!(WorkspaceName::given(text), Err(BadName::Workspace(_))), "{text:?}");
    }
    for text in ["local", "LOCAL"] {
        assert_eq!(WorkspaceName::given(text), Err(BadName::Local));
    }
    assert!(WorkspaceName::given("Acme").unwrap().is_like(&WorkspaceName::given("aCME").unwrap()));
}

#[test]
fn a_refused_text_is_repeated_only_so_far() {
    let told = Handle::of_person(&"x".repeat(100_000)).unwrap_err().to_string();
    assert!(told.len() < 300 && told.contains("x…`"), "{told}");
}

#[test]
fn a_default_label_is_the_first_that_is_free() {
    assert_eq!(Label::free("codex", |_| false).as_str(), "codex");
    assert_eq!(Label::free("codex", |label| label == "codex").as_str(), "codex 2");
    let taken = ["token", "token 2", "token 4"];
    assert_eq!(Label::free("token", |label| taken.contains(&label)).as_str(), "token 3");
    assert!(Label::free(&"x".repeat(500), |label| !label.ends_with(" 9")).as_str().parse::<Label>().is_ok());
}
