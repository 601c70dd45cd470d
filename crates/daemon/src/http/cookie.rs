//! The cookies of a browser: that it is signed in, and that it is about to be. Named by our port, since browsers send what one
//! port of a host has set to all others.

use covenant_gate::signin::Ground;
use http::header::{COOKIE, HeaderMap, HeaderValue};

use super::guard;
use super::via::Port;
use crate::config::http::Http;

/// Where a sign-in by a provider begins and ends; its cookie is sent nowhere else.
const FLOW: &str = "/auth/oidc";

/// Browsers take what begins with `__Host-` from us alone: neither another name of our domain nor an unencrypted page can set it.
fn name(port: Port, http: &Http) -> String {
    let bound = if is_secure(port, http) { "__Host-" } else { "" };
    format!("{bound}covenant_{}", port.number)
}

/// Of a path, so that it can be bound to no more than encryption.
fn flow_name(port: Port, http: &Http) -> String {
    let bound = if is_secure(port, http) { "__Secure-" } else { "" };
    format!("{bound}covenant_{}_oidc", port.number)
}

fn is_secure(port: Port, http: &Http) -> bool {
    port.scheme == "https" || http.behind_proxy
}

/// Who else is sent our cookie: at an unencrypted address of this machine, whatever else listens on it.
pub(crate) fn ground(port: Port, http: &Http) -> Ground {
    let named = http.public_origin().is_some_and(|(_, host)| !guard::is_this_machine(host));
    if named || is_secure(port, http) { Ground::Own } else { Ground::Shared }
}

/// The cookie of a session in those headers.
pub(crate) fn shown<'h>(headers: &'h HeaderMap, port: Port, http: &Http) -> Option<&'h str> {
    find(headers, &name(port, http))
}

/// The cookie of a sign-in that is under way.
pub(crate) fn shown_flow<'h>(headers: &'h HeaderMap, port: Port, http: &Http) -> Option<&'h str> {
    find(headers, &flow_name(port, http))
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
    let text = format!("{}={value}; Path=/; HttpOnly; SameSite=Strict", name(port, http));
    written(&text, port, http, seconds)
}

/// Sets the cookie of a sign-in that is under way. It must come along when the provider, which is another site, sends the browser
/// back to us: `Lax` does so for whole pages, and `Strict` never would. It opens nothing by itself.
pub(crate) fn set_flow(port: Port, http: &Http, value: &str, seconds: u64) -> Option<HeaderValue> {
    let text = format!("{}={value}; Path={FLOW}; HttpOnly; SameSite=Lax", flow_name(port, http));
    written(&text, port, http, seconds)
}

fn written(text: &str, port: Port, http: &Http, seconds: u64) -> Option<HeaderValue> {
    let secure = if is_secure(port, http) { "; Secure" } else { "" };
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
            shown(&headers, port(), &Http::default()).map(str::to_owned)
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
        for (port, http) in [(port(), &proxied), (over_tls, &tls)] {
            let value = set(port, http, "x", 1).unwrap();
            let whole = "__Host-covenant_8421=x; Path=/; HttpOnly; SameSite=Strict; Max-Age=1; Secure";
            assert_eq!(value, whole);
            let flow = set_flow(port, http, "x", 1).unwrap();
            assert!(flow.to_str().unwrap().starts_with("__Secure-covenant_8421_oidc=x; Path=/auth/oidc; "));
            let bare = HeaderMap::from_iter([(COOKIE, HeaderValue::from_static("covenant_8421=x"))]);
            assert_eq!(shown(&bare, port, http), None, "what anybody could have set");
        }
    }

    #[test]
    fn the_cookie_is_ours_alone_where_it_is_encrypted_or_the_name_is_our_own() {
        let at = |public_url: &str, behind_proxy| {
            let http = Http { public_url: public_url.to_owned(), behind_proxy, ..Http::default() };
            ground(Port::new("127.0.0.1:8421".parse().unwrap(), &http), &http)
        };
        for shared in ["", "http://localhost:8421", "http://127.0.0.1:8421"] {
            assert_eq!(at(shared, false), Ground::Shared, "{shared}");
        }
        assert_eq!(at("http://covenant.example.org", false), Ground::Own);
        assert_eq!(at("", true), Ground::Own);
    }
}
