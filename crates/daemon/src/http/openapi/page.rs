//! The document as one page of HTML: no script, nothing from elsewhere, an anchor and two commands for each operation.

mod words;

use std::fmt::{self, Write as _};

use serde_json::Value;

use self::words::{Code, Kind, Prose, Rich, Text};
use super::{list, members, resolve, text};

/// The page's own style; the policy of its answer knows it by its hash.
pub(super) const STYLE: &str = include_str!("page.css");

/// The home, as a shell finds it.
const HOME: &str = "${COVENANT_HOME:-$HOME/.covenant}";

/// Methods in the order people think of them.
const METHODS: [&str; 4] = ["get", "post", "put", "delete"];

/// One operation of the document.
struct Operation<'d> {
    document: &'d Value,
    path: &'d str,
    method: &'static str,
    told: &'d Value,
}

/// Writes the page, with commands for a daemon at that origin.
pub(super) fn render(document: &Value, origin: &str) -> String {
    let mut page = String::new();
    // Writing to a `String` cannot fail.
    let _ = whole(&mut page, document, origin);
    page
}

fn whole(out: &mut String, document: &Value, origin: &str) -> fmt::Result {
    let info = document.get("info").unwrap_or(&Value::Null);
    let title = Text(text(info, "title"));
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <header>\n<h1>{title}</h1>\n{}",
        Prose(text(info, "description")),
    )?;
    write!(
        out,
        "<p>The same as an OpenAPI document: <a href=\"openapi.json\">openapi.json</a>. The commands below use the socket \
         in the home, or <code>$TOKEN</code> and <code>{}</code>; other words behind a <code>$</code> are yours to fill \
         in. To act as the operator on the port:</p>\n<pre>{}</pre>\n</header>\n<nav>\n",
        Text(origin),
        Text(&format!("TOKEN=$(cat \"{HOME}/identity/operator.token\")")),
    )?;
    for tag in list(document, "tags").map(|tag| text(tag, "name")) {
        writeln!(out, "<h4>{}</h4>\n<ul>", Text(tag))?;
        for operation in operations(document, tag) {
            let (id, summary) = (text(operation.told, "operationId"), text(operation.told, "summary"));
            writeln!(out, "<li><a href=\"#{}\">{operation}</a> {}</li>", Text(id), Rich(summary))?;
        }
        out.push_str("</ul>\n");
    }
    out.push_str("</nav>\n<main>\n");
    for tag in list(document, "tags") {
        let name = text(tag, "name");
        write!(out, "<h2>{}</h2>\n{}", Text(name), Prose(text(tag, "description")))?;
        operations(document, name).try_for_each(|operation| operation.section(out, origin))?;
    }
    out.push_str("<h2>Shapes</h2>\n");
    let components = document.get("components").unwrap_or(&Value::Null);
    members(components, "schemas").try_for_each(|(name, schema)| shape(out, name, schema))?;
    out.push_str("</main>\n</body>\n</html>\n");
    Ok(())
}

fn operations<'d>(document: &'d Value, tag: &str) -> impl Iterator<Item = Operation<'d>> {
    members(document, "paths")
        .flat_map(move |(path, methods)| {
            METHODS.into_iter().filter_map(move |method| {
                Some(Operation { document, path, method, told: methods.get(method)? })
            })
        })
        .filter(move |operation| list(operation.told, "tags").any(|it| it == tag))
}

impl fmt::Display for Operation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (method, path) = (self.method.to_uppercase(), Code(self.path));
        write!(f, "<span class=\"method\">{method}</span> {path}")
    }
}

impl<'d> Operation<'d> {
    fn parameters(&self) -> impl Iterator<Item = &'d Value> {
        list(self.told, "parameters").map(|parameter| resolve(self.document, parameter))
    }

    fn body(&self) -> Option<(&'d str, &'d Value)> {
        self.told.get("requestBody").and_then(|body| members(body, "content").next())
    }

    fn is_open(&self) -> bool {
        self.told.get("security").and_then(Value::as_array).is_some_and(Vec::is_empty)
    }

    /// Whom it serves. The first requirement names the token, and the role its holder must have.
    fn who(&self) -> &'static str {
        let first = self.told.get("security").and_then(|all| all.get(0)).unwrap_or(&Value::Null);
        match list(first, "token").any(|role| role == "operator") {
            _ if self.is_open() => "For anyone; no token is needed.",
            true => "For the operator.",
            false => "For the operator, and for clients with their token.",
        }
    }

    fn section(&self, out: &mut String, origin: &str) -> fmt::Result {
        let id = Text(text(self.told, "operationId"));
        writeln!(out, "<section id=\"{id}\">\n<h3><a href=\"#{id}\">{self}</a></h3>")?;
        write!(
            out,
            "<p>{}.</p>\n{}",
            Rich(text(self.told, "summary")),
            Prose(text(self.told, "description"))
        )?;
        writeln!(out, "<p class=\"who\">{}</p>", self.who())?;
        if self.parameters().next().is_some() {
            begin(out, "Parameters", ["name", "value", "meaning"])?;
            for parameter in self.parameters() {
                let (name, place) = (Code(text(parameter, "name")), Text(text(parameter, "in")));
                let kind = Kind(parameter.get("schema").unwrap_or(&Value::Null));
                let told = Rich(text(parameter, "description"));
                let name = format_args!("{name} <span class=\"faint\">{place}</span>");
                writeln!(out, "<tr><td>{name}</td><td>{kind}</td><td>{told}</td></tr>")?;
            }
            end(out);
        }
        if let Some((_, body)) = self.body() {
            writeln!(out, "<h4>Body</h4>\n<p>{}</p>", Kind(body.get("schema").unwrap_or(&Value::Null)))?;
        }
        begin(out, "Answers", ["status", "body", "when"])?;
        members(self.told, "responses").try_for_each(|(status, answer)| self.answer(out, status, answer))?;
        end(out);
        writeln!(out, "<h4>On the socket</h4>\n<pre>{}</pre>", Text(&self.command(None)))?;
        writeln!(out, "<h4>On the port</h4>\n<pre>{}</pre>\n</section>", Text(&self.command(Some(origin))))
    }

    fn answer(&self, out: &mut String, status: &str, answer: &Value) -> fmt::Result {
        let answer = resolve(self.document, answer);
        write!(out, "<tr><td>{}</td><td>", Code(status))?;
        for (media, content) in members(answer, "content") {
            let kind = Kind(content.get("schema").unwrap_or(&Value::Null));
            write!(out, "<div>{kind} <span class=\"faint\">{}</span></div>", Text(media))?;
        }
        write!(out, "</td><td>{}", Rich(text(answer, "description")))?;
        for (name, header) in members(answer, "headers") {
            let told = text(resolve(self.document, header), "description");
            write!(out, "<div>{}: {}</div>", Code(name), Rich(told))?;
        }
        out.push_str("</td></tr>\n");
        Ok(())
    }

    /// A command that does it: at an origin with a token, or on the socket.
    fn command(&self, origin: Option<&str>) -> String {
        let success = self.told.get("responses").and_then(|all| all.get("200")).unwrap_or(&Value::Null);
        let media: Vec<&str> = members(success, "content").map(|(media, _)| media).collect();
        let streams = media.iter().any(|it| it.ends_with("ndjson") || it.ends_with("event-stream"));
        // A session is named in the head of an answer.
        let opens = members(success, "headers").any(|(name, _)| name == "Mcp-Session-Id");
        let mut parts =
            vec![format!("curl -sS{}{}", if streams { "N" } else { "" }, if opens { "i" } else { "" })];
        match origin {
            None => parts.push(format!("--unix-socket \"{HOME}/sock\"")),
            Some(_) if !self.is_open() => parts.push("-H \"Authorization: Bearer $TOKEN\"".to_owned()),
            Some(_) => {}
        }
        if self.method != "get" && (self.method != "post" || self.body().is_none()) {
            parts.push(format!("-X {}", self.method.to_uppercase()));
        }
        if media.contains(&"text/event-stream") {
            parts.push(format!("-H 'Accept: {}'", media.join(", ")));
        }
        let needed =
            |it: &&Value| text(it, "in") == "header" && it.get("required").is_some_and(|it| it == true);
        for header in self.parameters().filter(needed) {
            parts.push(format!("-H \"{}: {}\"", text(header, "name"), value(header)));
        }
        if let Some((media, body)) = self.body() {
            let example = body.get("example").unwrap_or(&Value::Null).to_string().replace('\'', "'\\''");
            parts.push(format!("-H 'Content-Type: {media}'"));
            parts.push(format!("-d '{example}'"));
        }
        parts.push(format!("\"{}{}\"", origin.unwrap_or("http://localhost"), self.target()));
        parts.join(" \\\n  ")
    }

    /// The path and query, with the example of each parameter, or a variable of the shell.
    fn target(&self) -> String {
        let mut path = self.path.to_owned();
        let mut query = Vec::new();
        for parameter in self.parameters() {
            let name = text(parameter, "name");
            match text(parameter, "in") {
                "path" => path = path.replace(&format!("{{{name}}}"), &value(parameter)),
                "query" if parameter.get("example").is_some() => {
                    query.push(format!("{name}={}", value(parameter)));
                }
                _ => {}
            }
        }
        if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) }
    }
}

fn value(parameter: &Value) -> String {
    match parameter.get("example") {
        Some(Value::String(example)) => example.clone(),
        Some(example) => example.to_string(),
        None => format!("${}", text(parameter, "name").to_uppercase().replace('-', "_")),
    }
}

/// A named shape: its members, or what it is.
fn shape(out: &mut String, name: &str, schema: &Value) -> fmt::Result {
    let name = Text(name);
    writeln!(out, "<section id=\"shape-{name}\">\n<h3><a href=\"#shape-{name}\">{name}</a></h3>")?;
    write!(out, "{}", Prose(text(schema, "description")))?;
    if schema.get("properties").is_some() {
        begin(out, "Members, those marked * always there", ["name", "value", "meaning"])?;
        fields(out, "", schema)?;
        end(out);
    } else {
        writeln!(out, "<p>{}</p>", Kind(schema))?;
    }
    out.push_str("</section>\n");
    Ok(())
}

/// The members of an object, and of the objects within it.
fn fields(out: &mut String, within: &str, schema: &Value) -> fmt::Result {
    for (name, member) in members(schema, "properties") {
        let star = if list(schema, "required").any(|it| it == name) { "*" } else { "" };
        let name = format!("{within}{name}");
        let (shown, told) = (Code(&name), Rich(text(member, "description")));
        writeln!(out, "<tr><td>{shown}{star}</td><td>{}</td><td>{told}</td></tr>", Kind(member))?;
        fields(out, &format!("{name}."), member)?;
        if let Some(items) = member.get("items") {
            fields(out, &format!("{name}[]."), items)?;
        }
    }
    Ok(())
}

fn begin(out: &mut String, title: &str, [first, second, third]: [&str; 3]) -> fmt::Result {
    writeln!(
        out,
        "<h4>{title}</h4>\n<div class=\"wide\"><table>\n<tr><th scope=\"col\">{first}</th>\
         <th scope=\"col\">{second}</th><th scope=\"col\">{third}</th></tr>"
    )
}

fn end(out: &mut String) {
    out.push_str("</table></div>\n");
}
