//! What is wanted, whatever comes and goes in files and by command.

use covenant_model::secret::Secret;

use super::*;

/// Knows one variable.
struct Key(&'static str);

impl Lookup for Key {
    fn variable(&self, name: &str) -> Option<String> {
        (name == "KEY").then(|| self.0.to_owned())
    }

    fn secret(&self, _: &str) -> Option<Secret> {
        None
    }

    fn home(&self) -> Option<String> {
        None
    }
}

const KEY: Key = Key("one");

fn entry(name: &str) -> Entry {
    let env = [("KEY".to_owned(), "$KEY".to_owned())].into();
    Entry { name: name.to_owned(), command: "x".to_owned(), env, ..Entry::default() }
}

fn added(name: &str) -> Added {
    Added { entry: entry(name), connect: true }
}

fn in_file(name: &str) -> Wanted {
    let plan = entry(name).resolve(&KEY).map_err(|bad| bad.to_string());
    Wanted { name: name.to_owned(), source: "config.toml".to_owned(), enabled: true, plan }
}

fn told(wanted: &[Wanted]) -> Vec<(&str, &str)> {
    wanted.iter().map(|server| (server.name.as_str(), server.source.as_str())).collect()
}

#[test]
fn what_was_added_stays_whatever_the_files_say() {
    let mut wishes = Wishes::default();
    wishes.add(added("b"), &KEY);
    let all = wishes.take(vec![in_file("a")], &KEY);
    assert_eq!(told(&all), [("a", "config.toml"), ("b", RUNTIME)]);
    assert_eq!(told(&wishes.take(Vec::new(), &KEY)), [("b", RUNTIME)]);
    assert_eq!(told(&wishes.remove("b", &KEY)), []);
    assert_eq!(told(&wishes.take(Vec::new(), &KEY)), []);
}

#[test]
fn what_was_taken_away_stays_away_until_its_file_has_it_no_more() {
    let mut wishes = Wishes::default();
    wishes.take(vec![in_file("a"), in_file("b")], &KEY);
    assert_eq!(told(&wishes.remove("a", &KEY)), [("b", "config.toml")]);
    assert_eq!(told(&wishes.take(vec![in_file("a")], &KEY)), []);
    assert_eq!(told(&wishes.add(added("a"), &KEY)), [("a", RUNTIME)], "its name is free");
    assert_eq!(told(&wishes.remove("a", &KEY)), []);
    wishes.take(Vec::new(), &KEY);
    assert_eq!(told(&wishes.take(vec![in_file("a")], &KEY)), [("a", "config.toml")]);
}

#[test]
fn who_comes_and_who_goes_is_told_with_the_file() {
    let mut wishes = Wishes::default();
    wishes.take(vec![in_file("a"), in_file("b")], &KEY);
    let mut other = in_file("b");
    other.enabled = false;
    let now = wishes.wanted(&[other, in_file("c")], &KEY);
    let row = |kind, name: &str| (kind, name.to_owned(), "config.toml".to_owned());
    assert_eq!(wishes.turnover(&now), [row(Kind::ServerRemoved, "a"), row(Kind::ServerAdded, "c")]);
}

#[test]
fn of_two_with_one_name_the_files_counts() {
    let mut wishes = Wishes::default();
    wishes.add(added("a"), &KEY);
    assert_eq!(told(&wishes.take(vec![in_file("a")], &KEY)), [("a", "config.toml")]);
}

#[test]
fn what_differs_is_named_once_and_a_changed_variable_is_a_change() {
    let mut wishes = Wishes::default();
    wishes.take(vec![in_file("a"), in_file("b")], &KEY);
    wishes.add(added("c"), &KEY);
    let same = wishes.wanted(&[in_file("a"), in_file("b")], &KEY);
    assert_eq!(wishes.differences(&same), Vec::<String>::new());
    let mut other = in_file("b");
    other.enabled = false;
    let now = wishes.wanted(&[other, in_file("d")], &KEY);
    assert_eq!(wishes.differences(&now), ["a", "b", "d"]);
    let now = wishes.wanted(&[in_file("a"), in_file("b")], &Key("two"));
    assert_eq!(wishes.differences(&now), ["c"]);
}
