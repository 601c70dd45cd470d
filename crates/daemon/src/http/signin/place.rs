//! Where a browser is when somebody signs in: the origin that a provider sends them back to, and that passkeys are bound to.

use http::HeaderMap;
use http::header::HOST;

use super::super::guard;
use super::super::via::Port;
use crate::config::http::Http;

/// The origin people sign in at: that of `public_url`; where there is none, this machine as they wrote it.
pub(super) fn origin(headers: &HeaderMap, port: Port, http: &Http) -> Option<String> {
    if let Some((scheme, host)) = http.public_origin() {
        return Some(format!("{scheme}://{}", host.to_ascii_lowercase()));
    }
    let host = headers.get(HOST)?.to_str().ok()?.to_ascii_lowercase();
    guard::is_this_machine(&host).then(|| format!("{}://{host}", port.scheme))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn people_sign_in_at_the_public_name_or_at_this_machine_as_they_wrote_it() {
        let at = |host: &'static str, http: &Http| {
            let headers = HeaderMap::from_iter([(HOST, HeaderValue::from_static(host))]);
            origin(&headers, Port::new("127.0.0.1:8421".parse().unwrap(), http), http)
        };
        let plain = Http { allowed_hosts: vec!["inside.example.org".to_owned()], ..Http::default() };
        assert_eq!(at("LocalHost:8421", &plain).as_deref(), Some("http://localhost:8421"));
        assert_eq!(at("[::1]:8421", &plain).as_deref(), Some("http://[::1]:8421"));
        assert_eq!(at("inside.example.org", &plain), None, "nobody has said how that is reached");
        let public = Http { public_url: "https://covenant.example.org/".to_owned(), ..Http::default() };
        assert_eq!(at("127.0.0.1:8421", &public).as_deref(), Some("https://covenant.example.org"));
        let tls = Http { tls_cert: "c".to_owned(), tls_key: "k".to_owned(), ..Http::default() };
        assert_eq!(at("localhost:8421", &tls).as_deref(), Some("https://localhost:8421"));
    }
}
