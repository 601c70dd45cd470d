//! What is checked before any route is looked at: to whom the request speaks, where it comes from, and that it says so
//! once. A page in a browser can make requests to localhost; it cannot choose their Host and Origin.

use std::net::IpAddr;

use http::header::{AUTHORIZATION, HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, HeaderName, StatusCode, Uri, Version};

use super::reply::Failure;
use super::via::{Port, Via};
use crate::config::http::Http;

/// Headers of which two would mean two things. `Content-Length` need not be here: two that differ are refused where the
/// head is parsed, and two that agree come from there as one, which no request can be told apart by any more.
const SINGLE: [HeaderName; 7] = [
    HOST,
    AUTHORIZATION,
    ORIGIN,
    HeaderName::from_static("mcp-protocol-version"),
    HeaderName::from_static("mcp-session-id"),
    HeaderName::from_static("mcp-method"),
    HeaderName::from_static("mcp-name"),
];

/// How the headers begin that repeat an argument of a call; each is single too.
const ARGUMENT: &str = "mcp-param-";

/// Whether the request may go on.
pub(crate) fn check(parts: &Parts, via: &Via, config: &Http) -> Result<(), Failure> {
    check_single(&parts.headers)?;
    match via {
        // No browser reaches the socket. Whoever forwards one to it would hand every page the operator's rights.
        Via::Socket(_) if parts.headers.contains_key(ORIGIN) => {
            Err(foreign("a request from a web page came by the socket"))
        }
        Via::Socket(_) => Ok(()),
        Via::Tcp(port) => {
            check_host(parts, *port, config)?;
            check_origin(parts, via, *port, config)
        }
    }
}

fn check_single(headers: &HeaderMap) -> Result<(), Failure> {
    // As many values as names: nothing stands twice.
    if headers.len() == headers.keys_len() {
        return Ok(());
    }
    let single = |name: &&HeaderName| SINGLE.contains(*name) || name.as_str().starts_with(ARGUMENT);
    match headers.keys().filter(single).find(|name| headers.get_all(*name).iter().nth(1).is_some()) {
        Some(name) => Err(Failure::malformed(format!("the header `{name}` stands twice"))),
        None => Ok(()),
    }
}

fn check_host(parts: &Parts, port: Port, config: &Http) -> Result<(), Failure> {
    let header = parts.headers.get(HOST).map(|value| value.to_str().unwrap_or_default());
    let hosts = [parts.uri.authority().map(http::uri::Authority::as_str), header];
    let mut named = hosts.into_iter().flatten().peekable();
    if named.peek().is_none() && parts.version != Version::HTTP_10 {
        return Err(foreign("the request names no host"));
    }
    match named.find(|host| !is_ours(host, port, config)) {
        Some(_) => Err(foreign("this daemon does not answer to that host name")),
        None => Ok(()),
    }
}

/// A page of localhost is one of ours only where none but this machine can ask. Elsewhere ours are those of `public_url`.
fn check_origin(parts: &Parts, via: &Via, port: Port, config: &Http) -> Result<(), Failure> {
    let Some(value) = parts.headers.get(ORIGIN) else { return Ok(()) };
    let origin = value.to_str().unwrap_or_default();
    let public = config.public_origin().is_some_and(|(scheme, host)| origin == format!("{scheme}://{host}"));
    let scheme = origin.strip_prefix(port.scheme).and_then(|rest| rest.strip_prefix("://"));
    let local = scheme.is_some_and(|host| {
        let (name, given) = split(host);
        via.is_local() && is_local(name) && given.unwrap_or(port.usual()) == port.number
    });
    if public || local { Ok(()) } else { Err(foreign("the request comes from another web page")) }
}

/// Whether a page says that it is of the very address that is asked, or of `public_url`. Browsers keep what they know of
/// `localhost` and of `127.0.0.1` apart, and so do we where a cookie decides.
pub(crate) fn is_same_place(headers: &HeaderMap, uri: &Uri, config: &Http) -> bool {
    let Some(origin) = headers.get(ORIGIN).and_then(|value| value.to_str().ok()) else { return false };
    if config.public_origin().is_some_and(|(scheme, host)| origin == format!("{scheme}://{host}")) {
        return true;
    }
    let header = headers.get(HOST).and_then(|value| value.to_str().ok());
    let asked = uri.authority().map(http::uri::Authority::as_str).or(header);
    let page = origin.split_once("://").map(|(_, host)| host);
    page.zip(asked).is_some_and(|(page, asked)| page.eq_ignore_ascii_case(asked))
}

fn is_ours(host: &str, port: Port, config: &Http) -> bool {
    let (name, given) = split(host);
    let right_port = given.is_none_or(|given| given == port.number);
    let listed = |known: &str| known.eq_ignore_ascii_case(host) || known.eq_ignore_ascii_case(name);
    (is_local(name) && right_port)
        || config.public_origin().is_some_and(|(_, public)| listed(public))
        || config.allowed_hosts.iter().any(|allowed| listed(allowed))
}

/// Whether that host, with or without a port, is this machine whoever asks.
pub(crate) fn is_this_machine(host: &str) -> bool {
    is_local(split(host).0)
}

fn is_local(name: &str) -> bool {
    let bare = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    name.eq_ignore_ascii_case("localhost")
        || bare
            .unwrap_or(name)
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback() && (bare.is_some() == address.is_ipv6()))
}

/// A host and the port behind it.
fn split(host: &str) -> (&str, Option<u16>) {
    let colon = host.rfind(':').filter(|colon| host.rfind(']').is_none_or(|bracket| bracket < *colon));
    match colon.and_then(|colon| Some((host.get(..colon)?, host.get(colon + 1..)?))) {
        Some((name, port)) => match port.parse() {
            Ok(port) => (name, Some(port)),
            Err(_) => (host, None),
        },
        None => (host, None),
    }
}

fn foreign(message: &str) -> Failure {
    let action = "use an address of `covenant status`, or name the host in [http] allowed_hosts, and the origin in public_url";
    Failure::new(StatusCode::FORBIDDEN, "foreign", message, action)
}

#[cfg(test)]
mod tests {
    use axum::response::IntoResponse as _;
    use http::Request;

    use super::*;

    fn outcome(via: &Via, headers: &[(&str, &str)], uri: &str) -> bool {
        refusal(via, headers, uri).is_none()
    }

    fn refusal(via: &Via, headers: &[(&str, &str)], uri: &str) -> Option<StatusCode> {
        let request = headers
            .iter()
            .fold(Request::builder().uri(uri), |request, (name, value)| request.header(*name, *value));
        let config = Http {
            public_url: "https://covenant.example.org".to_owned(),
            allowed_hosts: vec!["inside.example.org".to_owned()],
            ..Http::default()
        };
        let checked = check(&request.body(()).unwrap().into_parts().0, via, &config);
        checked.err().map(|failure| failure.into_response().status())
    }

    fn port(http: &Http) -> Via {
        Via::Tcp(Port::new("127.0.0.1:8421".parse().unwrap(), http))
    }

    fn host(host: &str) -> bool {
        outcome(&port(&Http::default()), &[("host", host)], "/")
    }

    #[test]
    fn only_our_own_names_are_answered_to() {
        for ours in [
            "localhost",
            "LocalHost:8421",
            "127.0.0.1",
            "127.0.0.1:8421",
            "[::1]",
            "[::1]:8421",
            "covenant.example.org",
            "inside.example.org",
            "inside.example.org:443",
        ] {
            assert!(host(ours), "{ours}");
        }
        for other in [
            "",
            "evil.example.org",
            "localhost:80",
            "localhost.evil.example.org",
            "127.0.0.1.evil.example.org",
            "::1",
            "[::1",
            "localhost:8421:8421",
            "0.0.0.0:8421",
            "localhost:",
            "192.168.0.1",
            "evil@localhost",
        ] {
            assert!(!host(other), "{other}");
        }
    }

    #[test]
    fn a_request_without_a_host_is_refused() {
        assert!(!outcome(&port(&Http::default()), &[], "/"));
        assert!(!outcome(&port(&Http::default()), &[("host", "localhost")], "http://evil.example.org/"));
        assert!(outcome(&port(&Http::default()), &[("host", "localhost")], "http://localhost:8421/"));
    }

    #[test]
    fn only_our_own_pages_may_ask() {
        let origin = |origin: &str| {
            outcome(&port(&Http::default()), &[("host", "localhost"), ("origin", origin)], "/")
        };
        for ours in [
            "http://localhost:8421",
            "http://127.0.0.1:8421",
            "http://[::1]:8421",
            "https://covenant.example.org",
        ] {
            assert!(origin(ours), "{ours}");
        }
        for other in [
            "null",
            "",
            "http://localhost",
            "https://localhost:8421",
            "http://localhost:3000",
            "http://evil.example.org",
            "file://",
        ] {
            assert!(!origin(other), "{other}");
        }
    }

    #[test]
    fn a_page_of_ours_has_the_scheme_of_the_port_and_none_is_local_behind_a_proxy() {
        let from = |http: &Http, origin: &str| {
            outcome(&port(http), &[("host", "localhost:8421"), ("origin", origin)], "/")
        };
        let tls = Http { tls_cert: "c.pem".to_owned(), tls_key: "k.pem".to_owned(), ..Http::default() };
        assert!(from(&tls, "https://localhost:8421") && from(&tls, "https://covenant.example.org"));
        assert!(!from(&tls, "http://localhost:8421") && !from(&tls, "https://localhost"));
        let usual = Via::Tcp(Port::new("127.0.0.1:443".parse().unwrap(), &tls));
        assert!(outcome(&usual, &[("host", "localhost"), ("origin", "https://localhost")], "/"));
        let proxied = Http { behind_proxy: true, ..Http::default() };
        assert!(from(&proxied, "https://covenant.example.org") && !from(&proxied, "http://localhost:8421"));
    }

    #[test]
    fn what_a_proxy_says_about_a_request_opens_nothing() {
        let forwarded = [
            ("x-forwarded-for", "127.0.0.1"),
            ("x-forwarded-host", "localhost"),
            ("forwarded", "for=127.0.0.1"),
        ];
        let with = |host| [&[("host", host)], &forwarded[..]].concat();
        let behind_proxy = port(&Http { behind_proxy: true, ..Http::default() });
        assert!(!outcome(&behind_proxy, &with("evil.example.org"), "/"));
        assert!(outcome(&behind_proxy, &with("covenant.example.org"), "/") && !behind_proxy.is_local());
    }

    #[test]
    fn a_header_of_mcp_that_stands_twice_is_malformed_and_others_may() {
        let twice = |name: &str| {
            let headers = [("host", "localhost"), (name, "a"), (name, "a")];
            refusal(&port(&Http::default()), &headers, "/")
        };
        for name in [
            "mcp-protocol-version",
            "Mcp-Session-Id",
            "mcp-method",
            "mcp-name",
            "mcp-param-city",
            "Mcp-Param-x",
            "authorization",
            "origin",
        ] {
            assert_eq!(twice(name), Some(StatusCode::BAD_REQUEST), "{name}");
        }
        assert_eq!(twice("accept"), None);
        assert_eq!(twice("mcp-parameter"), None);
        let both = [
            ("host", "localhost"),
            ("mcp-param-a", "1"),
            ("mcp-param-b", "1"),
            ("accept", "x"),
            ("accept", "y"),
        ];
        assert!(outcome(&port(&Http::default()), &both, "/"), "two of them are not one twice");
    }

    #[test]
    fn a_header_that_stands_twice_is_refused_everywhere() {
        let socket = Via::socket(0, None);
        assert!(!outcome(&socket, &[("authorization", "Bearer a"), ("authorization", "Bearer b")], "/"));
        assert!(!outcome(&port(&Http::default()), &[("host", "localhost"), ("host", "localhost")], "/"));
    }

    #[test]
    fn a_page_is_of_the_address_it_asks_or_of_the_public_one() {
        let public = Http { public_url: "https://covenant.example.org".to_owned(), ..Http::default() };
        for (origin, host, http, same) in [
            ("http://127.0.0.1:8421", "127.0.0.1:8421", &Http::default(), true),
            ("http://localhost:8421", "LocalHost:8421", &Http::default(), true),
            ("http://localhost:8421", "127.0.0.1:8421", &Http::default(), false),
            ("http://127.0.0.1:9000", "127.0.0.1:8421", &Http::default(), false),
            ("null", "127.0.0.1:8421", &Http::default(), false),
            ("https://covenant.example.org", "127.0.0.1:8421", &public, true),
            ("https://evil.example.org", "127.0.0.1:8421", &public, false),
        ] {
            let headers = HeaderMap::from_iter([
                (ORIGIN, origin.parse().unwrap()),
                (HOST, host.parse::<http::HeaderValue>().unwrap()),
            ]);
            assert_eq!(is_same_place(&headers, &Uri::from_static("/signin"), http), same, "{origin} {host}");
        }
    }

    #[test]
    fn the_socket_needs_no_host_and_takes_no_web_page() {
        let socket = Via::socket(0, None);
        assert!(outcome(&socket, &[], "/") && outcome(&socket, &[("host", "anything")], "/"));
        assert!(!outcome(&socket, &[("origin", "http://localhost:8421")], "/"));
    }
}
