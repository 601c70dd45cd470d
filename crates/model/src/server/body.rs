//! Bodies of `/api/v1/mcp/servers` that are sent, and the small ones that are answered.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use super::entry::Entry;

/// `POST /api/v1/mcp/servers`: the keys of an entry, and what to do with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewServer {
    /// The server.
    pub entry: Entry,
    /// Whether it is reached at once, and the answer waits for how that went.
    pub connect: bool,
    /// Whether it is written to `config.toml`; otherwise it is gone with the next start.
    pub persist: bool,
}

impl NewServer {
    /// That server, reached at once and forgotten with the next start.
    pub fn new(entry: Entry) -> Self {
        Self { entry, connect: true, persist: false }
    }
}

impl Serialize for NewServer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = members(&self.entry);
        members.insert("connect".to_owned(), self.connect.into());
        members.insert("persist".to_owned(), self.persist.into());
        members.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for NewServer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut given = Map::deserialize(deserializer)?;
        let mut choice = |key: &str, usual: bool| match given.remove(key) {
            None => Ok(usual),
            Some(Value::Bool(chosen)) => Ok(chosen),
            Some(_) => Err(D::Error::custom(format!("`{key}` must be true or false"))),
        };
        let (connect, persist) = (choice("connect", true)?, choice("persist", false)?);
        let known = members(&Entry::default());
        if let Some(key) = given.keys().find(|key| !known.contains_key(*key)) {
            let shown: String = key.chars().take(64).flat_map(char::escape_debug).collect();
            let known = known.keys().map(String::as_str).chain(["connect", "persist"]);
            let known: Vec<&str> = known.collect();
            return Err(D::Error::custom(format!(
                "`{shown}` is not a key of a server; there are {}",
                known.join(", ")
            )));
        }
        let entry = Entry::deserialize(Value::Object(given.clone())).map_err(|error| {
            let wrong = given.into_iter().find_map(|(key, value)| {
                let alone = Map::from_iter([(key.clone(), value)]);
                Some(format!("`{key}`: {}", Entry::deserialize(Value::Object(alone)).err()?))
            });
            D::Error::custom(wrong.unwrap_or_else(|| error.to_string()))
        })?;
        Ok(Self { entry, connect, persist })
    }
}

/// An entry as a JSON object: every key of it.
fn members(entry: &Entry) -> Map<String, Value> {
    match serde_json::to_value(entry) {
        Ok(Value::Object(members)) => members,
        // An entry is a struct of texts, numbers and lists of them.
        _ => Map::new(),
    }
}

/// `DELETE /api/v1/mcp/servers/{name}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerRemoved {
    /// What people call it.
    pub name: String,
    /// That it is gone.
    pub removed: bool,
    /// The files it was taken out of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

/// `GET /api/v1/mcp/servers/{name}/logs`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerLog {
    /// What people call it.
    pub name: String,
    /// The last lines of its standard error, without secrets, oldest first.
    pub lines: Vec<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(body: &Value) -> Result<NewServer, String> {
        serde_json::from_value(body.clone()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_documented_body_is_an_entry_with_two_choices() {
        let read = read(&json!({"name": "a", "command": "x", "args": ["-y"], "persist": true})).unwrap();
        let entry = Entry {
            name: "a".to_owned(),
            command: "x".to_owned(),
            args: vec!["-y".to_owned()],
            ..Entry::default()
        };
        assert_eq!(read, NewServer { persist: true, ..NewServer::new(entry) });
    }

    #[test]
    fn what_is_written_is_read_again() {
        let entry = Entry { name: "a".to_owned(), url: "https://x.example".to_owned(), ..Entry::default() };
        let new = NewServer { connect: false, ..NewServer::new(entry) };
        assert_eq!(read(&serde_json::to_value(&new).unwrap()), Ok(new));
    }

    #[test]
    fn what_is_no_key_of_a_server_is_named() {
        for (body, says) in [
            (json!({"name": "a", "comand": "x"}), "`comand` is not a key of a server"),
            (json!({"name": "a", "connect": "yes"}), "`connect` must be true or false"),
            (json!({"name": "a", "sandbox": {"netwerk": "off"}}), "unknown field `netwerk`"),
            (json!({"name": 1}), "`name`: invalid type"),
            (json!({"name": "a", "args": "x"}), "`args`: invalid type"),
            (json!({"name": "a", "start": "soon"}), "`start`: unknown variant `soon`"),
        ] {
            let told = read(&body).unwrap_err();
            assert!(told.contains(says), "{told}");
        }
    }
}
