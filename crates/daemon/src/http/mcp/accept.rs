//! In which forms a client takes an answer: one document, a stream, or either.

use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE};

/// What a client takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Accepts {
    /// A JSON document.
    pub(crate) json: bool,
    /// A stream, if it must be one.
    pub(crate) stream: bool,
    /// A stream, by name: it may be used where a document would do.
    pub(crate) streams: bool,
}

/// Reads `Accept`. A client that says nothing takes everything; a wildcard does not ask for streams.
pub(crate) fn accepts(headers: &HeaderMap) -> Accepts {
    let mut accepts = Accepts { json: false, stream: false, streams: false };
    let mut said = false;
    for value in headers.get_all(ACCEPT) {
        for part in value.to_str().unwrap_or_default().split(',') {
            said = true;
            let is = |name: &str| essence(part).eq_ignore_ascii_case(name);
            if refused(part) {
                continue;
            }
            if is("application/json") || is("application/*") {
                accepts.json = true;
            } else if is("text/event-stream") {
                (accepts.stream, accepts.streams) = (true, true);
            } else if is("text/*") {
                accepts.stream = true;
            } else if is("*/*") {
                (accepts.json, accepts.stream) = (true, true);
            }
        }
    }
    if said { accepts } else { Accepts { json: true, stream: true, streams: false } }
}

/// Whether a part of the list names what is not taken.
fn refused(part: &str) -> bool {
    let quality =
        |parameter: &str| parameter.trim().strip_prefix("q=").and_then(|q| q.trim().parse::<f32>().ok());
    part.split(';').skip(1).any(|parameter| quality(parameter) == Some(0.0))
}

/// Whether the body says it is JSON. A page in a browser can send other kinds without asking first.
pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    value.is_some_and(|value| essence(value).eq_ignore_ascii_case("application/json"))
}

/// A media type without its parameters.
fn essence(text: &str) -> &str {
    text.split(';').next().unwrap_or_default().trim_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: &'static str) -> (bool, bool, bool) {
        let headers = HeaderMap::from_iter([(ACCEPT, http::HeaderValue::from_static(value))]);
        let Accepts { json, stream, streams } = accepts(&headers);
        (json, stream, streams)
    }

    #[test]
    fn only_a_client_that_names_streams_is_sent_one_unasked() {
        assert_eq!(of("application/json, text/event-stream"), (true, true, true));
        assert_eq!(of("text/event-stream;q=0.9,application/json"), (true, true, true));
        assert_eq!(of("*/*"), (true, true, false));
        assert_eq!(of("application/json"), (true, false, false));
        assert_eq!(of("Text/Event-Stream"), (false, true, true));
        assert_eq!(of("image/png"), (false, false, false));
        assert_eq!(of("*/*, text/event-stream;q=0"), (true, true, false));
        assert_eq!(of("application/json;q=0.0, text/event-stream; q=0"), (false, false, false));
        assert_eq!(accepts(&HeaderMap::new()), Accepts { json: true, stream: true, streams: false });
    }

    #[test]
    fn a_body_is_json_if_it_says_so() {
        let of =
            |value| is_json(&HeaderMap::from_iter([(CONTENT_TYPE, http::HeaderValue::from_static(value))]));
        assert!(of("application/json") && of("Application/JSON; charset=utf-8"));
        assert!(!of("text/plain") && !of("application/jsonp") && !is_json(&HeaderMap::new()));
    }
}
