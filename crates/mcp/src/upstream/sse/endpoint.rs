//! Where letters go in the transport of 2024: what the first event of the stream may say.

use url::Url;

use crate::upstream::scrub::Scrub;

/// The URL that letters are posted to; otherwise a clause that says why not. It must be where the stream is: an event
/// must not be able to send our headers elsewhere.
pub(super) fn resolve(stream: &str, said: &[u8], scrub: &Scrub) -> Result<String, String> {
    let base = Url::parse(stream).map_err(|_| "has a `url` that is none".to_owned())?;
    let text = std::str::from_utf8(said).unwrap_or_default().trim();
    let unusable = || "named no usable place for messages on its stream".to_owned();
    let mut place = base.join(text).map_err(|_| unusable())?;
    if text.is_empty() {
        return Err(unusable());
    }
    if place.origin() != base.origin() {
        // The name of a host has other letters than the secret that was made one.
        let named = Some(place.origin().ascii_serialization()).filter(|_| !scrub.finds(text));
        let origin = named.map(|origin| format!(", {origin}")).unwrap_or_default();
        return Err(format!("wants messages sent to another place{origin}, which is not done"));
    }
    place.set_fragment(None);
    // An address may leave out whoever the entry says we are.
    let user = place.set_username(base.username()).and_then(|()| place.set_password(base.password()));
    user.map_err(|()| unusable())?;
    Ok(place.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upstream::scrub::known;

    #[test]
    fn an_endpoint_is_found_from_where_the_stream_is() {
        for (stream, said, found) in [
            ("http://a:1/sse", "/message?sessionId=x", "http://a:1/message?sessionId=x"),
            ("http://a:1/x/sse?key=1", "message?id=2", "http://a:1/x/message?id=2"),
            ("http://a:1/sse", "?id=2", "http://a:1/sse?id=2"),
            ("https://a/sse", "https://a:443/m#top", "https://a/m"),
            ("https://ada:pw@a/sse", "/m", "https://ada:pw@a/m"),
            ("https://ada:pw@a/sse", "https://a/m", "https://ada:pw@a/m"),
            ("http://a:1/sse", " /m\n", "http://a:1/m"),
        ] {
            assert_eq!(resolve(stream, said.as_bytes(), known::scrub()).unwrap(), found);
        }
    }

    #[test]
    fn an_endpoint_elsewhere_is_refused() {
        for said in [
            "http://b:1/m",
            "https://a:1/m",
            "http://a:2/m",
            "//b/m",
            "\\\\b\\m",
            "http:\\\\b/m",
            "file:///etc/passwd",
            "data:,x",
            "http://a:1@b/m",
        ] {
            let refused = resolve("http://a:1/sse", said.as_bytes(), known::scrub()).unwrap_err();
            assert!(refused.contains("another place"), "{said}: {refused}");
        }
        for said in [&b""[..], b"http://[", b"\xff\xfe", b"  "] {
            assert!(
                resolve("http://a:1/sse", said, known::scrub()).unwrap_err().contains("no usable place"),
                "{said:?}"
            );
        }
    }
}
