//! The keys of an entry: which there are, what each must be, and what a misspelt one was meant to be.

use covenant_model::server::{BadEntry, Entry, Lookup, Plan, Reach};
use covenant_model::spelling::nearest;
use reqwest::Url;
use serde_json::{Map, Value};

use crate::config::keys::shown;

const TEXT: &str = "must be a text in quotes";
const TEXTS: &str = "must be a list of texts in quotes";
const PAIRS: &str = "must be a table of names and texts in quotes";
const FLAG: &str = "must be true or false";
const NUMBER: &str = "must be a whole number";

/// Every key and what it must be, in the order they are documented.
pub(super) const KEYS: &[(&str, &str)] = &[
    ("name", TEXT),
    ("command", TEXT),
    ("args", TEXTS),
    ("env", PAIRS),
    ("url", TEXT),
    ("headers", PAIRS),
    ("transport", "must be \"stdio\", \"http\" or \"sse\""),
    ("prefix", TEXT),
    ("include", TEXTS),
    ("exclude", TEXTS),
    ("enabled", FLAG),
    ("start", "must be \"eager\" or \"lazy\""),
    ("cwd", TEXT),
    ("idle_stop_secs", NUMBER),
    ("isolation", "must be \"shared\", \"principal\" or \"session\""),
    ("start_timeout_secs", NUMBER),
    ("list_timeout_secs", NUMBER),
    ("call_timeout_secs", NUMBER),
    ("call_total_secs", NUMBER),
    ("max_in_flight", NUMBER),
    ("era", "must be \"auto\", \"legacy\" or \"modern\""),
    ("allow_sampling", FLAG),
    ("allow_elicitation", FLAG),
    ("pin", TEXT),
    ("sandbox", "must be a table of network, read, write, memory_mb and required"),
];

/// Keys that are part of the documented surface and that this version does not use.
const LATER: &[&str] = &["allow_sampling", "allow_elicitation", "pin"];

/// How many keys without effect are remarked upon.
const MOST_REMARKS: usize = 16;

/// Other spellings that are read.
const SPELLINGS: &[(&str, &str)] = &[("type", "transport"), ("header", "headers"), ("disabled", "enabled")];

/// Keys of other hosts that mean something of ours, which differs enough that they are not read.
const MEANT: &[(&str, &str)] = &[
    ("environment", "env"),
    ("arguments", "args"),
    ("endpoint", "url"),
    ("serverUrl", "url"),
    ("httpUrl", "url"),
    ("http_headers", "headers"),
    ("timeout", "call_timeout_secs"),
    ("tool_timeout_sec", "call_timeout_secs"),
    ("startup_timeout_sec", "start_timeout_secs"),
    ("enabled_tools", "include"),
    ("disabled_tools", "exclude"),
    ("working_dir", "cwd"),
];

/// What keys say.
pub(crate) struct Parsed {
    /// The entry, or the first key that is wrong.
    pub(crate) entry: Result<Entry, BadEntry>,
    /// Keys that have no effect, and what to say of each; of many, the first.
    pub(crate) remarks: Vec<(String, String)>,
    /// How many such keys there are beyond these.
    pub(crate) more: usize,
}

/// Reads the keys of an entry.
pub(crate) fn parse(keys: &Map<String, Value>) -> Parsed {
    let mut remarks = Vec::new();
    let mut more = 0;
    let mut sound = Map::new();
    let mut wrong = None;
    for (key, value) in keys {
        let name = spelled(key);
        let Some((_, must)) = KEYS.iter().find(|(known, _)| *known == name) else {
            if remarks.len() < MOST_REMARKS {
                remarks.push((key.clone(), format!("unknown key `{}`; {}", shown(key), meant(key))));
            } else {
                more += 1;
            }
            continue;
        };
        if LATER.contains(&name) {
            remarks.push((key.clone(), format!("`{name}` is not used by this version")));
        }
        // JSON files write what they leave out like this.
        if value.is_null() {
            continue;
        }
        match checked(key, name, value, must) {
            Ok(value) if !sound.contains_key(name) => {
                sound.insert(name.to_owned(), value);
            }
            Ok(_) => {
                wrong = wrong.or(Some(BadEntry::new(key, format!("says the same as `{name}`: keep one"))));
            }
            Err(error) => wrong = wrong.or(Some(error)),
        }
    }
    let whole = || serde_json::from_value(Value::Object(sound)).map_err(|_| BadEntry::new("name", TEXT));
    Parsed { entry: wrong.map_or_else(whole, Err), remarks, more }
}

/// The plan of an entry. Of its URL, also what only who connects would find.
pub(crate) fn plan(entry: &Entry, lookup: &dyn Lookup) -> Result<Plan, BadEntry> {
    let plan = entry.resolve(lookup)?;
    if let Reach::Web(web) = &plan.reach
        && Url::parse(web.url.reveal()).is_err()
    {
        return Err(BadEntry::new("url", "is no URL: write one such as \"https://HOST/PATH\""));
    }
    Ok(plan)
}

fn spelled(key: &str) -> &str {
    SPELLINGS.iter().find(|(other, _)| *other == key).map_or(key, |(_, name)| name)
}

/// The value as it is known by its own name, if an entry of this key alone can be read.
fn checked(key: &str, name: &str, value: &Value, must: &str) -> Result<Value, BadEntry> {
    let value = match (key, value) {
        ("disabled", Value::Bool(disabled)) => Value::Bool(!disabled),
        _ => value.clone(),
    };
    let alone = Map::from_iter([(name.to_owned(), value.clone())]);
    match serde_json::from_value::<Entry>(Value::Object(alone)) {
        Ok(_) => Ok(value),
        // Its own sentence is not for people, and may quote what is secret; of the sandbox it names the key.
        Err(error) if name == "sandbox" && value.is_object() => {
            Err(BadEntry::new(key, format!("{must}: {}", mistake(&error.to_string()))))
        }
        Err(_) => Err(BadEntry::new(key, must)),
    }
}

/// What is wrong with a table, by the sentence of whoever reads it. Which keys there are is said before it.
fn mistake(error: &str) -> String {
    match error.strip_prefix("unknown field `").and_then(|rest| rest.split_once("`, expected")) {
        Some((key, _)) => format!("there is no `{}`", shown(key)),
        None => error.chars().take(200).flat_map(char::escape_debug).collect(),
    }
}

fn meant(key: &str) -> String {
    let near = || nearest(key, KEYS.iter().map(|(known, _)| *known));
    let other = MEANT.iter().find(|(other, _)| *other == key).map(|(_, name)| *name);
    if let Some(name) = other.or_else(near) {
        return format!("did you mean `{name}`?");
    }
    let known: Vec<&str> = KEYS.iter().map(|(key, _)| *key).collect();
    format!("an entry has {}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(keys: Value) -> Parsed {
        let Value::Object(keys) = keys else { panic!("no object") };
        parse(&keys)
    }

    #[test]
    fn every_key_of_an_entry_is_known() {
        let Ok(Value::Object(all)) = serde_json::to_value(Entry::default()) else { panic!("no object") };
        let mut known: Vec<&str> = KEYS.iter().map(|(key, _)| *key).collect();
        known.sort_unstable();
        assert_eq!(all.keys().collect::<Vec<_>>(), known);
    }

    #[test]
    fn other_spellings_are_read() {
        let keys = json!({"name": "x", "type": "sse", "header": {"A": "b"}, "disabled": true, "cwd": null});
        let Parsed { entry, remarks, .. } = parsed(keys);
        let entry = entry.unwrap();
        assert_eq!(entry.transport, Some(covenant_model::server::Transport::Sse));
        assert_eq!((entry.headers["A"].as_str(), entry.enabled), ("b", false));
        assert!(remarks.is_empty());
        let twice = parsed(json!({"type": "sse", "transport": "sse"})).entry.unwrap_err().to_string();
        assert_eq!(twice, "`type` says the same as `transport`: keep one");
    }

    #[test]
    fn what_has_another_type_is_refused_without_being_quoted() {
        for (key, _) in KEYS {
            let hidden = json!([{"hunter2": 22_222_222}, 22_222_222]);
            let refused = parsed(json!({*key: hidden})).entry.unwrap_err().to_string();
            assert!(refused.starts_with(&format!("`{key}` must be ")), "{refused}");
            assert!(!refused.contains("2222") && !refused.contains("hunter"), "{refused}");
        }
        for (keys, part) in [
            (json!({"env": {"PORT": 8080}}), "`env` must be a table of names and texts"),
            (json!({"disabled": "yes"}), "`disabled` must be true or false"),
            (json!({"max_in_flight": -1}), "`max_in_flight` must be a whole number"),
            (json!({"max_in_flight": 1.5}), "`max_in_flight` must be a whole number"),
            (json!({"era": "old"}), "`era` must be \"auto\", \"legacy\" or \"modern\""),
            (json!({"sandbox": {"netwrok": "off"}}), "memory_mb and required: there is no `netwrok`"),
            (json!({"sandbox": {"read": "/srv"}}), "invalid type: string \\\"/srv\\\", expected a sequence"),
            (json!({"sandbox": true}), "`sandbox` must be a table"),
        ] {
            let refused = parsed(keys).entry.unwrap_err().to_string();
            assert!(refused.contains(part), "{refused}");
        }
    }

    #[test]
    fn unknown_keys_are_remarked_with_what_was_meant() {
        for (key, part) in [
            ("comand", "unknown key `comand`; did you mean `command`?"),
            ("arg", "did you mean `args`?"),
            ("header_", "did you mean `headers`?"),
            ("timeout", "did you mean `call_timeout_secs`?"),
            ("colour", "unknown key `colour`; an entry has name, command"),
            ("pin", "`pin` is not used by this version"),
            ("\u{1b}[2J", "unknown key `\\u{1b}[2J`"),
        ] {
            let Parsed { entry, remarks, .. } = parsed(json!({"name": "x", key: "off"}));
            assert!(entry.is_ok() && remarks.len() == 1, "{key}: {remarks:?}");
            assert!(remarks[0].1.contains(part), "{remarks:?}");
        }
    }
}
