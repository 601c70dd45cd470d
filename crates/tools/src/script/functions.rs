//! What a script can call: requests, the time, the secrets it names, and tools, which pass the gate as every call does.

use std::time::Duration;

use bytes::Bytes;
use covenant_gate::{CallRequest, Clock, Context};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::{Map, Value, json};
use url::Url;

use crate::ports::{Reach, Request, Secrets, Web};

/// Their names.
pub const FUNCTIONS: &[&str] = &[
    "http.get",
    "http.post",
    "secrets.get",
    "secrets.has",
    "secrets.list",
    "time.now",
    "time.sleep",
    "tools.call",
];

/// The most bytes of an answer, and how long one may take.
const BODY: usize = 10 << 20;
const WITHIN: Duration = Duration::from_secs(30);

/// The longest sleep.
const SLEEP: Duration = Duration::from_secs(5);

/// What a run reaches beyond itself.
pub(super) struct Functions<'a> {
    pub(super) web: &'a dyn Web,
    pub(super) clock: &'a dyn Clock,
    pub(super) secrets: &'a Secrets,
    /// The secrets that the script's header names.
    pub(super) named: &'a [String],
    pub(super) context: &'a Context,
}

/// The arguments of a call: by position, then by name.
struct Given {
    positional: std::vec::IntoIter<Value>,
    named: Map<String, Value>,
}

impl Given {
    fn take(&mut self, name: &str) -> Option<Value> {
        let value = self.positional.next().or_else(|| self.named.remove(name));
        value.filter(|value| !value.is_null())
    }

    fn text(&mut self, name: &str) -> Result<Option<String>, String> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(format!("`{name}` must be a string")),
        }
    }

    fn needed(&mut self, name: &str) -> Result<String, String> {
        self.text(name)?.ok_or_else(|| format!("`{name}` is missing"))
    }

    fn end(mut self) -> Result<(), String> {
        if self.positional.next().is_some() {
            return Err("there are too many arguments".to_owned());
        }
        match self.named.keys().next() {
            Some(name) => Err(format!("there is no argument `{name}`")),
            None => Ok(()),
        }
    }
}

impl Functions<'_> {
    /// Calls one of them; the error is a sentence for the script's author.
    pub(super) async fn call(
        &self,
        function: &str,
        positional: Vec<Value>,
        named: Map<String, Value>,
    ) -> Result<Value, String> {
        let given = Given { positional: positional.into_iter(), named };
        let called = match function {
            "http.get" => self.get(given).await,
            "http.post" => self.post(given).await,
            "secrets.get" => self.secret(given),
            "secrets.has" => self.secret(given).map(|value| Value::Bool(!value.is_null())),
            "secrets.list" => self.secret_names(given),
            "time.now" => given.end().map(|()| Value::String(self.clock.now().to_string())),
            "time.sleep" => sleep(given).await,
            "tools.call" => self.tool(given).await,
            _ => Err("there is no such function".to_owned()),
        };
        called.map_err(|reason| format!("{function}: {reason}"))
    }

    async fn get(&self, mut given: Given) -> Result<Value, String> {
        let url = given.needed("url")?;
        let headers = self.headers(given.take("headers"))?;
        given.end()?;
        self.send(Method::GET, &url, headers, Bytes::new()).await
    }

    async fn post(&self, mut given: Given) -> Result<Value, String> {
        let url = given.needed("url")?;
        let body = given.text("body")?.unwrap_or_default();
        let mut headers = self.headers(given.take("headers"))?;
        let kind = given.text("content_type")?.unwrap_or_else(|| "application/json".to_owned());
        given.end()?;
        let kind = HeaderValue::try_from(kind).map_err(|_| "`content_type` cannot be sent".to_owned())?;
        headers.insert(http::header::CONTENT_TYPE, kind);
        self.send(Method::POST, &url, headers, Bytes::from(body)).await
    }

    async fn send(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Value, String> {
        let url = Url::parse(url).map_err(|_| "`url` is not a URL: write http:// or https:// and a host")?;
        let redirects = if method == Method::GET { 5 } else { 0 };
        let request = Request {
            method,
            headers,
            body,
            redirects,
            reach: Reach::Public,
            most: BODY,
            within: WITHIN,
            ..Request::get(url)
        };
        let response = self.web.send(request).await?;
        if response.cut {
            return Err(format!("the answer has more than {} MiB", BODY >> 20));
        }
        let mut headers = Map::new();
        for (name, value) in &response.headers {
            headers.insert(name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into());
        }
        let body = String::from_utf8_lossy(&response.body);
        Ok(json!({"status": response.status, "body": body, "headers": headers}))
    }

    fn headers(&self, given: Option<Value>) -> Result<HeaderMap, String> {
        let members = match given {
            None => return Ok(HeaderMap::new()),
            Some(Value::Object(members)) => members,
            Some(_) => return Err("`headers` must be a dict".to_owned()),
        };
        let mut headers = HeaderMap::new();
        for (name, value) in members {
            let shown = self.shown(&name);
            let Value::String(value) = value else {
                return Err(format!("the header `{shown}` must be a string"));
            };
            let pair = name.parse::<HeaderName>().ok().zip(HeaderValue::try_from(value).ok());
            let Some((name, mut value)) = pair else {
                return Err(format!("the header `{shown}` cannot be sent"));
            };
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(headers)
    }

    /// A name as it can stand in a sentence.
    fn shown(&self, name: &str) -> String {
        self.context.without_secrets(name).chars().take(64).flat_map(char::escape_debug).collect()
    }

    fn secret(&self, mut given: Given) -> Result<Value, String> {
        let name = given.needed("name")?;
        given.end()?;
        if !self.named.contains(&name) {
            let name = self.shown(&name);
            return Err(format!(
                "{name} is not named at the top of the script: write `# @secrets: {name}` there"
            ));
        }
        Ok((self.secrets)(&name).map_or(Value::Null, |value| Value::String(value.reveal().to_owned())))
    }

    fn secret_names(&self, given: Given) -> Result<Value, String> {
        given.end()?;
        Ok(self.named.iter().filter(|name| (self.secrets)(name).is_some()).cloned().collect())
    }

    async fn tool(&self, mut given: Given) -> Result<Value, String> {
        let name = given.needed("name")?;
        let arguments = match given.take("arguments") {
            None => Map::new(),
            Some(Value::Object(arguments)) => arguments,
            Some(_) => return Err("`arguments` must be a dict".to_owned()),
        };
        given.end()?;
        let result =
            self.context.call(CallRequest { name, arguments }).await.map_err(|error| error.to_string())?;
        let mut members: Map<String, Value> =
            serde_json::from_str(result.json().get()).map_err(|_| "the result cannot be read".to_owned())?;
        let text = text_of(members.get("content"));
        if result.is_error() {
            return Err(text.strip_prefix("Error: ").unwrap_or(&text).to_owned());
        }
        Ok(members.remove("structuredContent").unwrap_or(Value::String(text)))
    }
}

/// The texts of a result, one below the other.
fn text_of(content: Option<&Value>) -> String {
    let blocks = content.and_then(Value::as_array).into_iter().flatten();
    let texts = blocks.filter_map(|block| block.get("text").and_then(Value::as_str));
    texts.collect::<Vec<_>>().join("\n")
}

async fn sleep(mut given: Given) -> Result<Value, String> {
    let seconds =
        given.take("seconds").and_then(|value| value.as_f64()).ok_or("`seconds` must be a number")?;
    given.end()?;
    if seconds < 0.0 {
        return Err("`seconds` must not be negative".to_owned());
    }
    // What is no duration is too long for one.
    tokio::time::sleep(Duration::try_from_secs_f64(seconds).unwrap_or(SLEEP).min(SLEEP)).await;
    Ok(Value::Null)
}

#[cfg(test)]
mod tests;
