//! A form that a page of ours sends: from our own origin, small, each field once.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{FromRequest, Request};
use http::header::CONTENT_TYPE;
use zeroize::Zeroizing;

use super::super::reply::Failure;
use super::super::seats::Engaged;
use super::super::{auth, guard};
use crate::daemon::Daemon;

/// The most bytes of a form: a password of the most characters, each written in the longest way, and some more.
const MOST: usize = 8 * 1024;

/// The fields of a form.
pub(crate) struct Form(BTreeMap<String, Zeroizing<String>>);

impl Form {
    /// What was filled in there; nothing where there is no such field.
    pub(crate) fn field(&self, name: &str) -> &str {
        self.0.get(name).map_or("", |value| value.as_str())
    }
}

impl FromRequest<Arc<Daemon>> for Form {
    type Rejection = Failure;

    async fn from_request(request: Request, daemon: &Arc<Daemon>) -> Result<Self, Failure> {
        if !guard::is_same_place(request.headers(), request.uri(), &daemon.config().http) {
            let message = "this form was not sent by a page of ours: it has no `Origin`, or one of another address than it asks";
            return Err(auth::unmeant(message));
        }
        let kind = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
        if !kind.trim().eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(Failure::invalid("this is no form: send `application/x-www-form-urlencoded`"));
        }
        let engaged = request.extensions().get::<Arc<Engaged>>().cloned();
        let bytes = daemon.bodies.read(request.into_body(), MOST, engaged.as_deref()).await?;
        parse(&bytes).map(Self).ok_or_else(|| Failure::invalid("the form cannot be read"))
    }
}

fn parse(bytes: &[u8]) -> Option<BTreeMap<String, Zeroizing<String>>> {
    let mut fields = BTreeMap::new();
    for pair in bytes.split(|byte| *byte == b'&').filter(|pair| !pair.is_empty()) {
        let mut halves = pair.splitn(2, |byte| *byte == b'=');
        let (name, value) = (decoded(halves.next()?)?, decoded(halves.next().unwrap_or_default())?);
        if fields.insert(name.to_string(), value).is_some() {
            return None;
        }
    }
    Some(fields)
}

fn decoded(text: &[u8]) -> Option<Zeroizing<String>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(text.len()));
    let mut rest = text.iter();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => digit(*rest.next()?)? * 16 + digit(*rest.next()?)?,
            other => *other,
        });
    }
    std::str::from_utf8(&bytes).ok().map(|text| Zeroizing::new(text.to_owned()))
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_read_as_it_was_filled_in() {
        let form = Form(parse(b"handle=ada&password=a+b%2Bc%26%C3%B6%00&empty=&bare").unwrap());
        assert_eq!((form.field("handle"), form.field("password")), ("ada", "a b+c&\u{f6}\0"));
        assert_eq!((form.field("empty"), form.field("bare"), form.field("none")), ("", "", ""));
        assert!(parse(b"").unwrap().is_empty());
    }

    #[test]
    fn what_could_mean_two_things_means_nothing() {
        for odd in [&b"a=1&a=2"[..], b"a=%", b"a=%4", b"a=%zz", b"a=%ff", b"\xff=1", b"a=\xff"] {
            assert!(parse(odd).is_none(), "{odd:?}");
        }
    }
}
