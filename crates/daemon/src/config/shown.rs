//! The configuration as people see it: effective values, secrets hidden; and what differs between two of them.

use serde_json::{Map, Value};

use super::Config;

impl Config {
    /// Every effective value, by section. Passwords and other credentials are hidden.
    pub fn effective(&self) -> Value {
        let mut shown = self.clone();
        shown.database.url = self.database.shown();
        shown.audit.anchor_url = self.audit.anchor_url.shown();
        shown.telemetry = self.telemetry.shown();
        serde_json::to_value(&shown).unwrap_or_default()
    }

    /// The same as a `config.toml` would have it.
    pub fn effective_toml(&self) -> String {
        let mut shown = self.clone();
        shown.database.url = self.database.shown();
        shown.audit.anchor_url = self.audit.anchor_url.shown();
        shown.telemetry = self.telemetry.shown();
        toml::to_string(&shown).unwrap_or_default()
    }

    /// The dotted keys whose values differ.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        // Compared unshown: a changed password is a change.
        let sections = |config: &Self| match serde_json::to_value(config) {
            Ok(Value::Object(sections)) => sections,
            _ => Map::new(),
        };
        let (ours, theirs) = (sections(self), sections(other));
        let mut paths = Vec::new();
        for (section, keys) in &ours {
            for (key, value) in keys.as_object().into_iter().flatten() {
                if theirs.get(section).and_then(|keys| keys.get(key)) != Some(value) {
                    paths.push(format!("{section}.{key}"));
                }
            }
        }
        paths
    }
}
