//! The cookies of a browser: that it is signed in, and that it is about to be. Named by our port, since browsers send what one
//! port of a host has set to all others.

use http::header::{COOKIE, HeaderMap, HeaderValue};

use super::via::Port;
use crate::config::http::Http;

/// Where a sign-in by a provider begins and ends; its cookie is sent nowhere else.
const FLOW: &str = "/auth/oidc";

fn name(port: Port) -> String {
    format!("covenant_{}", port.number)
}

fn flow_name(port: Port) -> String {
    format!("covenant_{}_oidc", port.number)
}

/// The cookie of a session in those headers.
pub(crate) fn shown(headers: &HeaderMap, port: Port) -> Option<&str> {
    find(headers, &name(port))
}

/// The cookie of a sign-in that is under way.
pub(crate) fn shown_flow(headers: &HeaderMap, port: Port) -> Option<&str> {
    find(headers, &flow_name(port))
}

/// The value of that name in those headers. Of two nobody knows which is meant, so neither is.
fn find<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut ours = lines.flat_map(|line| line.split(';')).filter_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        (key.trim() == name).then_some(value.trim())
    });
    let first = ours.next()?;
    ours.next().is_none().then_some(first)
}

/// Sets the cookie of a session, for that many seconds; none end it.
pub(crate) fn set(port: Port, http: &Http, value: &str, seconds: u64) -> Option<HeaderValue> {
    written(&format!("{}={value}; Path=/; HttpOnly; SameSite=Strict", name(port)), port, http, seconds)
}

/// Sets the cookie of a sign-in that is under way. It must come along when the provider, which is another site, sends the browser
/// back to us: `Lax` does so for whole pages, and `Strict` never would. It opens nothing by itself.
pub(crate) fn set_flow(port: Port, http: &Http, value: &str, seconds: u64) -> Option<HeaderValue> {
    let text = format!("{}={value}; Path={FLOW}; HttpOnly; SameSite=Lax", flow_name(port));
    written(&text, port, http, seconds)
}

fn written(text: &str, port: Port, http: &Http, seconds: u64) -> Option<HeaderValue> {
    let secure = if port.scheme == "https" || http.behind_proxy { "; Secure" } else { "" };
    let text = format!("{text}; Max-Age={seconds}{secure}");
    let mut value = HeaderValue::try_from(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port() -> Port {
        Port::new("127.0.0.1:8421".parse().unwrap(), &Http::default())
    }

    #[test]
    fn ours_is_found_among_others_and_two_are_none() {
        let found = |lines: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(COOKIE, HeaderValue::from_static(line));
            }
            shown(&headers, port()).map(str::to_owned)
        };
        assert_eq!(found(&["a=b; covenant_8421=cv_x;c=d"]), Some("cv_x".to_owned()));
        assert_eq!(found(&["a=b", "covenant_8421=cv_x"]), Some("cv_x".to_owned()));
        assert_eq!(found(&["covenant_9000=cv_x; xcovenant_8421=cv_x; covenant_8421"]), None);
        assert_eq!(found(&["covenant_8421=a; covenant_8421=b"]), None);
        assert_eq!(found(&[]), None);
    }

    #[test]
    fn it_is_for_encrypted_connections_alone_where_there_are_such() {
        let plain = set(port(), &Http::default(), "cv_x", 60).unwrap();
        assert_eq!(plain, "covenant_8421=cv_x; Path=/; HttpOnly; SameSite=Strict; Max-Age=60");
        assert!(plain.is_sensitive());
        let flow = set_flow(port(), &Http::default(), "cv_x", 60).unwrap();
        assert_eq!(flow, "covenant_8421_oidc=cv_x; Path=/auth/oidc; HttpOnly; SameSite=Lax; Max-Age=60");
        let proxied = Http { behind_proxy: true, ..Http::default() };
        let tls = Http { tls_cert: "c".to_owned(), tls_key: "k".to_owned(), ..Http::default() };
        let over_tls = Port::new("127.0.0.1:8421".parse().unwrap(), &tls);
        for value in [set(port(), &proxied, "x", 1), set(over_tls, &tls, "x", 1)] {
            assert!(value.unwrap().to_str().unwrap().ends_with("; Max-Age=1; Secure"));
        }
    }
}
