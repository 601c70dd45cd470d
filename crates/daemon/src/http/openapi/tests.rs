//! The document is whole and consistent, and the page says what it says, in HTML that does nothing else.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;

const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// Every path and method there is.
pub(crate) fn described() -> impl Iterator<Item = (&'static str, &'static str)> {
    operations().map(|(path, method, _)| (path, method))
}

fn operations() -> impl Iterator<Item = (&'static str, &'static str, &'static Value)> {
    members(&DOCUMENT, "paths").flat_map(|(path, _)| {
        members(&DOCUMENT["paths"], path)
            .filter(|(method, _)| METHODS.contains(method))
            .map(move |(method, operation)| (path, method, operation))
    })
}

/// Every value in a document, with where it stands.
fn each<'d>(value: &'d Value, seen: &mut impl FnMut(&'d Value)) {
    seen(value);
    match value {
        Value::Array(items) => items.iter().for_each(|item| each(item, seen)),
        Value::Object(items) => items.values().for_each(|item| each(item, seen)),
        _ => {}
    }
}

#[test]
fn every_reference_leads_somewhere_and_everything_shared_is_used() {
    let mut used = BTreeSet::new();
    each(&DOCUMENT, &mut |value| {
        if let Some(place) = value.get("$ref").and_then(Value::as_str) {
            assert!(DOCUMENT.pointer(&place[1..]).is_some(), "{place}");
            used.insert(place);
        }
    });
    for group in ["schemas", "responses", "parameters", "headers"] {
        for (name, _) in members(&DOCUMENT["components"], group) {
            assert!(
                used.contains(format!("#/components/{group}/{name}").as_str()),
                "nobody uses {group}/{name}"
            );
        }
    }
}

#[test]
fn every_operation_is_described_in_full() {
    let mut ids = BTreeSet::new();
    let tags: Vec<&str> = list(&DOCUMENT, "tags").map(|tag| text(tag, "name")).collect();
    for (path, method, operation) in operations() {
        let id = text(operation, "operationId");
        assert!(!id.is_empty() && ids.insert(id), "{method} {path} needs a name of its own");
        assert!(!text(operation, "summary").is_empty(), "{id}");
        assert!(list(operation, "tags").all(|tag| tags.contains(&tag.as_str().unwrap())), "{id}");
        assert_eq!(list(operation, "tags").count(), 1, "{id}");
        let in_path: BTreeSet<&str> = parameters(&DOCUMENT, operation, "path").into_iter().collect();
        let wanted = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        assert_eq!(in_path, wanted.collect(), "{id}");
        for parameter in list(operation, "parameters").map(|it| resolve(&DOCUMENT, it)) {
            assert!(!text(parameter, "description").is_empty() && parameter.get("schema").is_some(), "{id}");
        }
        for (status, answer) in members(operation, "responses") {
            assert!(!text(resolve(&DOCUMENT, answer), "description").is_empty(), "{id} {status}");
        }
        let has = |status: &str| operation["responses"].get(status).is_some();
        let open = operation.get("security") == Some(&json!([]));
        assert_eq!(has("401"), !open, "{id}: who needs a token can lack one");
        assert!(has("400") && has("403"), "{id}: every request can be malformed or foreign");
        // What does not fit is told by the other shape there.
        if !path.ends_with("/mcp") {
            let takes_a_body = operation.get("requestBody").is_some();
            assert!(!takes_a_body || (has("408") && has("413") && has("422")), "{id}: a body can be wrong");
        }
    }
}

#[test]
fn a_query_parameter_that_is_not_described_is_named() {
    let ask = |method: &str, uri: &str, path: &str| {
        check_query(path, &Request::builder().method(method).uri(uri).body(Body::empty()).unwrap())
    };
    ask("GET", "/api/v1/audit?limit=3&since=2026-01-01", "/api/v1/audit").unwrap();
    ask("HEAD", "/api/v1/tools?limit=3", "/api/v1/tools").unwrap();
    ask("GET", "/api/v1/status?", "/api/v1/status").unwrap();
    for (uri, path, says) in [
        ("/api/v1/audit?limt=3", "/api/v1/audit", "`limt`"),
        ("/api/v1/audit?%6cimt=3", "/api/v1/audit", "it takes `limit`, `since`, `agent_id`"),
        ("/api/v1/status?x", "/api/v1/status", "it takes none"),
    ] {
        let told = format!("{:?}", ask("GET", uri, path).unwrap_err());
        assert!(told.contains(says), "{told}");
    }
    assert!(ask("POST", "/api/v1/clients?limit=1", "/api/v1/clients").is_err(), "that is for the list");
}

#[test]
fn the_page_has_every_operation_and_every_link_leads_somewhere() {
    let page = page::render(&DOCUMENT, "http://localhost:9000");
    for (path, _, operation) in operations() {
        let id = text(operation, "operationId");
        let (_, section) =
            page.split_once(&format!("<section id=\"{id}\">")).unwrap_or_else(|| panic!("{id}"));
        let (section, _) = section.split_once("</section>").unwrap();
        assert_eq!(section.matches("<pre>curl -sS").count(), 2, "{id}");
        assert!(
            section.contains("http://localhost:9000/") && section.contains(&format!("<code>{path}</code>"))
        );
    }
    for part in page.split("href=\"").skip(1) {
        let (target, _) = part.split_once('"').unwrap();
        match target.strip_prefix('#') {
            Some(id) => assert!(page.contains(&format!("id=\"{id}\"")), "{id}"),
            None => assert_eq!(target, "openapi.json"),
        }
    }
}

#[test]
fn the_page_runs_nothing_and_loads_nothing() {
    let page = page::render(&DOCUMENT, "http://localhost:9000");
    for forbidden in
        ["<script", "<img", "<link", "<iframe", "<form", "javascript:", " style=", " src=", " on"]
    {
        let tags = page.split('<').filter_map(|part| part.split('>').next());
        assert!(!tags.map(|tag| format!("<{tag}")).any(|tag| tag.contains(forbidden)), "{forbidden}");
    }
    assert!(!page::STYLE.contains("url(") && !page::STYLE.contains("@import") && !page::STYLE.contains('<'));
    let (_, style) = page.split_once("<style>").unwrap();
    let (style, _) = style.split_once("</style>").unwrap();
    let hash = STANDARD.encode(Sha256::digest(style));
    let policy = POLICY.to_str().unwrap();
    assert!(policy.contains(&format!("style-src 'sha256-{hash}'")), "{policy}");
    assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
}

#[test]
fn whatever_stands_in_the_document_is_text_on_the_page() {
    let nasty = "<script>alert('&\"')</script>";
    let document = json!({
        "info": {"title": nasty, "description": format!("`{nasty}` {nasty}")},
        "tags": [{"name": nasty, "description": nasty}],
        "paths": {format!("/{nasty}/{{x}}"): {"post": {
            "operationId": nasty, "tags": [nasty], "summary": nasty, "description": nasty,
            "parameters": [
                {"name": nasty, "in": "query", "description": nasty, "schema": {"type": nasty, "pattern": nasty}, "example": nasty},
                {"name": "x", "in": "path", "schema": {"enum": [nasty]}, "example": nasty},
            ],
            "requestBody": {"content": {nasty: {"schema": {"$ref": nasty}, "example": nasty}}},
            "responses": {nasty: {"description": nasty, "headers": {nasty: {"description": nasty}}}},
        }}},
        "components": {"schemas": {nasty: {"description": nasty, "properties": {nasty: {"default": nasty}}}}},
    });
    let page = page::render(&document, nasty);
    assert!(!page.contains("<script") && !page.contains("alert('") && !page.contains("&\"'"), "{page}");
    assert!(page.contains("&lt;script&gt;alert(&#39;&amp;&quot;&#39;)&lt;/script&gt;"));
}
