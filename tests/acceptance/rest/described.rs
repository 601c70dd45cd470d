//! The document as a client reads it: which operations there are, and whether an answer is one of those described.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::ask::{Answer, Ask};

/// The document of a running daemon.
pub(super) struct Described(Value);

/// One operation.
#[derive(Clone)]
pub(super) struct Operation {
    pub(super) id: String,
    pub(super) method: String,
    pub(super) path: String,
    told: Value,
}

impl Described {
    pub(super) fn ask(port: u16) -> Self {
        Self(Ask::new("GET", "/api/v1/openapi.json").send(port).json())
    }

    pub(super) fn operations(&self) -> Vec<Operation> {
        let paths = self.0["paths"].as_object().unwrap().iter();
        let all = paths.flat_map(|(path, methods)| {
            methods.as_object().unwrap().iter().map(move |(method, told)| Operation {
                id: told["operationId"].as_str().unwrap().to_owned(),
                method: method.clone(),
                path: path.clone(),
                told: told.clone(),
            })
        });
        all.collect()
    }

    #[track_caller]
    pub(super) fn operation(&self, id: &str) -> Operation {
        self.operations().into_iter().find(|it| it.id == id).unwrap_or_else(|| panic!("no operation {id}"))
    }

    /// The operation that such a request is.
    pub(super) fn operation_of(&self, method: &str, path: &str) -> Option<Operation> {
        let fits = |operation: &Operation| {
            let (template, given) = (operation.path.split('/'), path.split('/'));
            operation.method.eq_ignore_ascii_case(method)
                && template.clone().count() == given.clone().count()
                && template.zip(given).all(|(wanted, given)| wanted == given || wanted.starts_with('{'))
        };
        self.operations().into_iter().find(fits)
    }

    fn resolve<'d>(&'d self, value: &'d Value) -> &'d Value {
        match value.get("$ref").and_then(Value::as_str) {
            Some(place) => self.0.pointer(&place[1..]).unwrap(),
            None => value,
        }
    }

    /// The parameters of an operation.
    pub(super) fn parameters(&self, operation: &Operation) -> Vec<Value> {
        let all = operation.told["parameters"].as_array().into_iter().flatten();
        all.map(|parameter| self.resolve(parameter).clone()).collect()
    }

    /// Insists that an answer is described: its status, its headers, its media type, its body and its error code.
    #[track_caller]
    pub(super) fn check(&self, operation: &Operation, answer: &Answer) {
        let what = format!("{} answered {answer:?}", operation.id);
        let told = &operation.told["responses"][answer.status.to_string()];
        assert!(told.is_object(), "this status is not described: {what}");
        let told = self.resolve(told);
        for (name, header) in told["headers"].as_object().into_iter().flatten() {
            let header = self.resolve(header);
            match answer.header(name) {
                Some(value) => self.fits(&header["schema"], &parsed(value), &what),
                None => assert_ne!(header["required"], true, "{name} is missing: {what}"),
            }
        }
        let Some(content) = told["content"].as_object() else {
            assert_eq!(answer.body, "", "nothing is described: {what}");
            return;
        };
        let media = answer.header("content-type").unwrap_or_default().split(';').next().unwrap();
        let schema = &content.get(media).unwrap_or_else(|| panic!("another media type: {what}"))["schema"];
        match media {
            "application/json" => self.fits(schema, &answer.json(), &what),
            "application/x-ndjson" => {
                assert!(!answer.body.is_empty(), "{what}");
                for line in answer.body.lines() {
                    self.fits(schema, &serde_json::from_str(line).unwrap(), &what);
                }
            }
            _ => self.fits(schema, &Value::String(answer.body.clone()), &what),
        }
        if answer.status >= 400 && operation.id != "ready" {
            // REST has words, JSON-RPC numbers.
            let code = answer.json()["error"]["code"].to_string().replace('"', "");
            assert!(told["description"].as_str().unwrap().contains(&format!("`{code}`")), "{what}");
        }
    }

    /// Insists that a value fits a schema of the document, and has no member that is not described.
    #[track_caller]
    fn fits(&self, schema: &Value, value: &Value, what: &str) {
        let mut whole = json!({"allOf": [schema], "components": self.0["components"]});
        close(&mut whole);
        let options = jsonschema::draft202012::options().should_validate_formats(true);
        let validator = options.build(&whole).unwrap();
        let wrong: Vec<String> = validator.iter_errors(value).map(|error| error.to_string()).collect();
        assert!(wrong.is_empty(), "{wrong:#?}\n{what}");
    }
}

/// The document leaves room for what later versions add; a test does not.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.values_mut().for_each(close);
            if members.get("properties").is_some_and(Value::is_object) && members.contains_key("type") {
                members.entry("additionalProperties").or_insert(Value::Bool(false));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// A header's value: a number where it is one.
fn parsed(value: &str) -> Value {
    value.parse::<u64>().map_or_else(|_| json!(value), |number| json!(number))
}

impl Operation {
    /// Whether it serves anyone.
    pub(super) fn is_open(&self) -> bool {
        self.told["security"] == json!([])
    }

    /// Whether it serves the operator alone.
    pub(super) fn is_administration(&self) -> bool {
        self.told["security"][0]["token"] == json!(["operator"])
    }

    pub(super) fn is_for_teams(&self) -> bool {
        self.told["tags"] == json!(["Teams"])
    }

    pub(super) fn takes_a_body(&self) -> bool {
        self.told.get("requestBody").is_some()
    }

    /// The errors it may answer.
    pub(super) fn errors(&self) -> BTreeSet<u16> {
        let statuses = self.told["responses"].as_object().unwrap().keys();
        statuses.filter_map(|status| status.parse().ok()).filter(|status| *status >= 400).collect()
    }

    /// What it answers when all is well.
    pub(super) fn success(&self) -> &Value {
        &self.told["responses"]["200"]["content"]["application/json"]["schema"]
    }

    /// Its path, with that in place of the parameter, and a query.
    pub(super) fn at(&self, name: &str, query: &str) -> Ask {
        let parts = self.path.split('/').map(|part| if part.starts_with('{') { name } else { part });
        Ask::new(&self.method, &format!("{}{query}", parts.collect::<Vec<_>>().join("/")))
    }
}
