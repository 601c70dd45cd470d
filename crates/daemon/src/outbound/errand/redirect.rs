//! One leg of a request's way: what is sent there, and where its answer leads.

use covenant_tools::ports::{Reach, Request};
use http::header::{ACCEPT, ACCEPT_LANGUAGE, LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderName, Method, StatusCode};
use reqwest::Url;

use super::trouble::{Trouble, shown};

/// Headers that belong to the connection and to us. A caller who could write them might be understood by a proxy to mean
/// another place than was judged.
const OURS: &[&str] = &[
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The headers that go along to another origin: any other could be a credential.
const HARMLESS: &[HeaderName] = &[ACCEPT, ACCEPT_LANGUAGE, USER_AGENT];

/// One leg of the way.
pub(super) struct Leg {
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
}

impl Leg {
    /// The first.
    pub(super) fn first(request: &Request) -> Self {
        let mut headers = request.headers.clone();
        for ours in OURS {
            headers.remove(*ours);
        }
        Self { url: request.url.clone(), headers }
    }

    /// The leg that an answer sends us on; nothing if it is the answer itself.
    pub(super) fn next(
        &self,
        status: StatusCode,
        answered: &HeaderMap,
        request: &Request,
    ) -> Result<Option<Self>, Trouble> {
        let follows = matches!(request.method, Method::GET | Method::HEAD) && request.redirects > 0;
        let Some(location) = answered.get(LOCATION).filter(|_| follows && is_redirect(status)) else {
            return Ok(None);
        };
        let place = location.to_str().ok().and_then(|place| self.url.join(place).ok());
        let mut url = place.ok_or_else(|| Trouble::NoPlace { from: shown(&self.url) })?;
        if url.origin() == self.url.origin() {
            keep_user(&mut url, &self.url);
            return Ok(Some(Self { url, headers: self.headers.clone() }));
        }
        if request.reach == Reach::Configured {
            return Ok(None);
        }
        if self.url.scheme() == "https" && url.scheme() == "http" {
            return Err(Trouble::Downgrade { from: shown(&self.url) });
        }
        let mut headers = HeaderMap::new();
        for name in HARMLESS {
            headers.extend(self.headers.get(name).map(|value| (name.clone(), value.clone())));
        }
        Ok(Some(Self { url, headers }))
    }
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// The user of an address stays the user there, unless another is named.
fn keep_user(next: &mut Url, before: &Url) {
    if next.username().is_empty() && next.password().is_none() {
        // Both have a host, so this cannot fail.
        let _ = next.set_username(before.username());
        let _ = next.set_password(before.password());
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    /// Where an answer to a request there leads, or why nowhere.
    fn led(from: &str, place: &'static str, reach: Reach) -> Result<Option<String>, Trouble> {
        let request = Request { redirects: 5, reach, ..Request::get(Url::parse(from).unwrap()) };
        let answered = HeaderMap::from_iter([(LOCATION, HeaderValue::from_static(place))]);
        let next = Leg::first(&request).next(StatusCode::FOUND, &answered, &request)?;
        Ok(next.map(|leg| leg.url.to_string()))
    }

    #[test]
    fn what_is_encrypted_stays_so() {
        let from = "https://a.example/dir/page";
        for (place, leads) in [
            ("other", Some("https://a.example/dir/other")),
            ("//b.example/", Some("https://b.example/")),
            ("https://b.example:444/", Some("https://b.example:444/")),
        ] {
            assert_eq!(led(from, place, Reach::Public), Ok(leads.map(str::to_owned)), "{place}");
        }
        for place in ["http://a.example/", "http://b.example/"] {
            let downgrade = Trouble::Downgrade { from: "a.example".to_owned() };
            assert_eq!(led(from, place, Reach::Public), Err(downgrade), "{place}");
            assert_eq!(led(from, place, Reach::Configured), Ok(None), "{place}");
        }
        let up = led("http://a.example/", "https://a.example/", Reach::Public);
        assert_eq!(up, Ok(Some("https://a.example/".to_owned())));
        let unsaid = led("https://a.example/", "http://[", Reach::Public);
        assert_eq!(unsaid, Err(Trouble::NoPlace { from: "a.example".to_owned() }));
    }
}
