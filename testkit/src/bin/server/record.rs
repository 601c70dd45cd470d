//! Writes down what reaches the server, so that a test can read it.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;

use serde_json::{Value, json};

/// The file, where one was named.
pub(crate) struct Record(Option<File>);

impl Record {
    /// Opens the file that the environment names.
    pub(crate) fn open() -> Self {
        let path = std::env::var_os("SERVER_RECORD");
        Self(path.and_then(|path| OpenOptions::new().create(true).append(true).open(path).ok()))
    }

    /// Writes one line, in one piece: several servers may share the file.
    fn line(&self, mut line: Value) {
        let Some(mut file) = self.0.as_ref() else { return };
        if let Some(members) = line.as_object_mut() {
            members.insert("pid".to_owned(), json!(std::process::id()));
        }
        // A record that cannot be written is a test that fails.
        let _ = file.write_all(format!("{line}\n").as_bytes());
    }

    /// It runs.
    pub(crate) fn started(&self, words: &[String]) {
        let names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
        let cwd = std::env::current_dir().unwrap_or_default();
        self.line(json!({"event": "started", "words": words, "cwd": cwd, "environment": names}));
    }

    /// Something happened.
    pub(crate) fn event(&self, event: &str, about: &Value) {
        self.line(json!({"event": event, "about": about}));
    }

    /// A message came by that way.
    pub(crate) fn heard(&self, way: &str, headers: &BTreeMap<String, String>, message: &Value) {
        self.line(json!({"way": way, "headers": headers, "message": message}));
    }
}
