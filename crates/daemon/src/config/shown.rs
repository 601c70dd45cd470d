//! The configuration as people see it: effective values, secrets hidden; and what differs between two of them.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::Config;

impl Config {
    /// Every effective value, by section. Passwords and other credentials are hidden.
    pub fn effective(&self) -> Value {
        serde_json::to_value(self.shown()).unwrap_or_default()
    }

    /// The same as a `config.toml` would have it.
    pub fn effective_toml(&self) -> String {
        toml::to_string(&self.shown()).unwrap_or_default()
    }

    fn shown(&self) -> Self {
        let mut shown = self.clone();
        shown.database.url = self.database.shown();
        shown.audit.anchor_url = self.audit.anchor_url.shown();
        shown.telemetry = self.telemetry.shown();
        shown.github = self.github.as_ref().map(super::github::GitHub::shown);
        shown.oidc = self.oidc.as_ref().map(super::oidc::Oidc::shown);
        shown.chat = self.chat.iter().map(|(name, chat)| (name.clone(), chat.shown())).collect();
        shown.calendars = self.calendars.iter().map(super::calendars::Calendar::shown).collect();
        shown
    }

    /// The dotted keys whose values differ.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        // Compared unshown: a changed password is a change.
        let sections = |config: &Self| match serde_json::to_value(config) {
            Ok(Value::Object(sections)) => sections,
            _ => Map::new(),
        };
        let (ours, theirs) = (sections(self), sections(other));
        let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
        names.into_iter().flat_map(|name| apart(name, ours.get(name), theirs.get(name))).collect()
    }
}

/// The dotted keys of one section whose values differ.
fn apart(section: &str, ours: Option<&Value>, theirs: Option<&Value>) -> Vec<String> {
    let (Some(Value::Object(ours)), Some(Value::Object(theirs))) = (ours, theirs) else {
        return if ours == theirs { Vec::new() } else { vec![section.to_owned()] };
    };
    let keys: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let differ = keys.into_iter().filter(|key| ours.get(*key) != theirs.get(*key));
    differ.map(|key| format!("{section}.{key}")).collect()
}
