//! A service that the configuration names: how it is asked, and what may be shown of what it answers.

use std::sync::Arc;
use std::time::Duration;

use covenant_gate::{Clock, Veil};
use covenant_model::redact::Redactor;
use covenant_model::secret::Secret;
use covenant_model::time::Timestamp;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method};
use serde_json::Value;
use url::Url;

use crate::ports::{Request, Response, Web};
use crate::settings::Hidden;

/// The most characters that are shown of what a service says.
const SHOWN: usize = 300;

/// A service, who we are there, and what must not be shown of either.
#[derive(Clone)]
pub(crate) struct Service {
    /// What people call it.
    pub(crate) name: &'static str,
    /// The section of the configuration that names it.
    pub(crate) section: String,
    pub(crate) base: Url,
    authorization: Option<HeaderValue>,
    own: Arc<Redactor>,
    veil: Veil,
    web: Arc<dyn Web>,
    clock: Arc<dyn Clock>,
}

/// What a service is made from.
pub(crate) struct Place {
    /// What people call it.
    pub(crate) name: &'static str,
    /// The section of the configuration that names it, without brackets.
    pub(crate) section: String,
    /// What its addresses begin with.
    pub(crate) base: Url,
    /// What is said in place of the credentials in the token and the address.
    pub(crate) hidden: Hidden,
    /// What sends requests.
    pub(crate) web: Arc<dyn Web>,
    /// What time it is.
    pub(crate) clock: Arc<dyn Clock>,
}

impl Service {
    /// A service that knows us by that token, shown in no header.
    pub(crate) fn new(place: Place, token: Option<&Secret>) -> Self {
        let Place { name, section, base, hidden, web, clock } = place;
        let own = Arc::new(own(&base, token, &hidden));
        Self { name, section, base, authorization: None, own, veil: Veil::default(), web, clock }
    }

    /// The same for a call that must not show what that hides.
    pub(crate) fn veiled(&self, veil: Veil) -> Self {
        Self { veil, ..self.clone() }
    }

    /// What a call must not show.
    pub(crate) fn veil(&self) -> &Veil {
        &self.veil
    }

    /// Shows the token with every request: `Bearer …`, or what else the service calls it.
    pub(crate) fn authorized(mut self, scheme: &str, token: &Secret) -> Result<Self, String> {
        let mut value = HeaderValue::from_str(&format!("{scheme} {}", token.reveal())).map_err(|_| {
            format!(
                "the token of [{}] has characters that no header may hold: store it again, in one line",
                self.section
            )
        })?;
        value.set_sensitive(true);
        self.authorization = Some(value);
        Ok(self)
    }

    /// An address below the base: each segment is one, whatever is in it.
    pub(crate) fn address(&self, segments: &[&str]) -> Url {
        let mut url = self.base.clone();
        url.set_query(None);
        url.set_fragment(None);
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        url
    }

    /// A request without a body.
    pub(crate) fn get(&self, url: Url) -> Request {
        let mut request = Request::get(url);
        request.headers = self.headers();
        request
    }

    /// A request with a JSON body.
    pub(crate) fn put(&self, method: Method, url: Url, body: &Value) -> Request {
        let mut request = self.get(url);
        let json = HeaderValue::from_static("application/json; charset=utf-8");
        request.headers.insert(CONTENT_TYPE, json);
        request.method = method;
        request.body = body.to_string().into();
        request
    }

    fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        headers.extend(self.authorization.clone().map(|value| (AUTHORIZATION, value)));
        headers
    }

    /// Sends a request; otherwise says why there is no answer, in a clause.
    pub(crate) async fn send(&self, request: Request) -> Result<Response, String> {
        let sent = self.web.send(request).await;
        sent.map_err(|why| self.shown(&why).trim_end_matches('.').to_owned())
    }

    /// What may be shown of a text that is not ours: one line of it, without what we are known by and without secrets.
    pub(crate) fn shown(&self, text: &str) -> String {
        let text = self.own.redact(text);
        let shown = self.own.shown(&self.veil.without_secrets(&text), SHOWN);
        let plain: String = shown.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        plain.trim().to_owned()
    }

    /// How long an answer asks to wait, if it says.
    pub(crate) fn wait(&self, response: &Response) -> Option<Duration> {
        retry_after(&response.headers, self.clock.now())
    }

    /// What time it is.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The sentence for a token that is not accepted, for that reason.
    pub(crate) fn unaccepted(&self, reason: &str) -> String {
        format!(
            "{} does not accept the token of [{}] ({}): it is wrong, expired or revoked; get a new one and store it \
             with `covenant secrets set NAME`, NAME being the secret that `token` in [{}] takes",
            self.name,
            self.section,
            self.shown(reason),
            self.section
        )
    }

    /// The sentence for an answer that the service would not give.
    pub(crate) fn strange(&self, response: &Response) -> String {
        let kind = response.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.map_or_else(|| "no content type".to_owned(), |kind| self.shown(kind));
        format!(
            "{} did not answer as the API of {} does (HTTP {}, {kind}): check the address in [{}]",
            self.host(),
            self.name,
            response.status,
            self.section
        )
    }

    /// Its host, which is all of its address that may be shown.
    pub(crate) fn host(&self) -> &str {
        self.base.host_str().unwrap_or("the host")
    }
}

/// What hides the token, and the parts of the address that may be credentials.
fn own(base: &Url, token: Option<&Secret>, called: &Hidden) -> Redactor {
    let values = base.query_pairs().map(|(_, value)| value.into_owned());
    let segments = base.path_segments().into_iter().flatten().map(str::to_owned);
    let whole =
        [base.path(), base.query().unwrap_or_default(), base.username(), base.password().unwrap_or_default()];
    let mut hidden: Vec<String> =
        whole.map(str::to_owned).into_iter().chain(values).chain(segments).collect();
    // What is shorter is an ordinary part of an address: `/api`, `/v3`, `services`.
    hidden.retain(|text| text.len() > 8);
    let token = token.map(|token| (called.token.as_str(), token.reveal()));
    Redactor::new(token.into_iter().chain(hidden.iter().map(|text| (called.url.as_str(), text.as_str()))))
}

/// The body, where it is JSON.
pub(crate) fn json(response: &Response) -> Option<Value> {
    serde_json::from_slice(&response.body).ok()
}

/// A text of a JSON object; empty where there is none.
pub(crate) fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

/// A header, where it is text.
pub(crate) fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
    response.headers.get(name)?.to_str().ok().map(str::trim)
}

/// `Retry-After`, in seconds or as a date.
fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = jiff::fmt::rfc2822::parse(value).ok()?.timestamp().as_millisecond();
    Some(Timestamp::from_millis(u64::try_from(date).unwrap_or(0)).since(now))
}

/// A wait as people read it, in whole seconds, never none.
pub(crate) fn seconds(wait: Duration) -> String {
    match wait.as_secs() + u64::from(wait.subsec_nanos() > 0) {
        0 | 1 => "1 second".to_owned(),
        more => format!("{more} seconds"),
    }
}

#[cfg(test)]
pub(crate) mod tests;
