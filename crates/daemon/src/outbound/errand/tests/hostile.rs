//! Addresses that lead inside, however they are written, and however one gets there.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::Url;

use super::super::Errands;
use super::server::{Server, ok, to};
use super::{errands, public, text};

/// How each is refused.
const ADDRESS: &str = "and only the public Internet is reached; names can be let through by allow_hosts in [web] of \
                       config.toml, addresses cannot";

/// Addresses that lead inside, and what is said of them.
const HOSTILE: &[(&str, &str)] = &[
    ("http://127.0.0.1/", "127.0.0.1 is a loopback address"),
    ("http://127.1/", "127.0.0.1 is a loopback address"),
    ("http://127.0.1/", "127.0.0.1 is a loopback address"),
    ("http://127.0.0.1./", "127.0.0.1 is a loopback address"),
    ("http://127.255.255.254:8080/", "127.255.255.254 is a loopback address"),
    ("http://2130706433/", "127.0.0.1 is a loopback address"),
    ("http://0x7f000001/", "127.0.0.1 is a loopback address"),
    ("http://0x7f.1/", "127.0.0.1 is a loopback address"),
    ("http://0X7F.0.0.0X1/", "127.0.0.1 is a loopback address"),
    ("http://0177.0.0.1/", "127.0.0.1 is a loopback address"),
    ("http://017700000001/", "127.0.0.1 is a loopback address"),
    ("http://%31%32%37.0.0.1/", "127.0.0.1 is a loopback address"),
    ("http://１２７.0.0.1/", "127.0.0.1 is a loopback address"),
    ("http://①②⑦.⓪.⓪.①/", "127.0.0.1 is a loopback address"),
    ("http://127。0。0。1/", "127.0.0.1 is a loopback address"),
    ("http:\\\\127.0.0.1\\", "127.0.0.1 is a loopback address"),
    ("http:127.0.0.1", "127.0.0.1 is a loopback address"),
    ("http://0/", "0.0.0.0 is an address of this network"),
    ("http://0.0.0.0/", "0.0.0.0 is an address of this network"),
    ("http://10.0.0.1/", "10.0.0.1 is a private address"),
    ("http://172.16.0.1/", "172.16.0.1 is a private address"),
    ("http://192.168.1.1/", "192.168.1.1 is a private address"),
    ("http://100.64.0.1/", "100.64.0.1 is an address shared behind a carrier"),
    ("http://169.254.169.254/latest/meta-data/", "169.254.169.254 is a link-local address"),
    ("http://2852039166/latest/meta-data/", "169.254.169.254 is a link-local address"),
    ("http://0xa9fea9fe/", "169.254.169.254 is a link-local address"),
    ("http://0251.0376.0251.0376/", "169.254.169.254 is a link-local address"),
    ("http://168.63.129.16/", "168.63.129.16 is the address of a cloud's platform"),
    ("http://100.100.100.200/", "100.100.100.200 is an address shared behind a carrier"),
    ("http://224.0.0.1/", "224.0.0.1 is a multicast address"),
    ("http://255.255.255.255/", "255.255.255.255 is the broadcast address"),
    ("http://[::1]/", "[::1] is a loopback address"),
    ("http://[0:0:0:0:0:0:0:1]:8080/", "[::1] is a loopback address"),
    ("http://[::]/", "[::] is the unspecified address"),
    ("http://[::ffff:127.0.0.1]/", "[::ffff:127.0.0.1] is a loopback address"),
    ("http://[::ffff:7f00:1]/", "[::ffff:127.0.0.1] is a loopback address"),
    ("http://[::ffff:169.254.169.254]/", "[::ffff:169.254.169.254] is a link-local address"),
    ("http://[::127.0.0.1]/", "[::7f00:1] is an address of no public network"),
    ("http://[64:ff9b::7f00:1]/", "[64:ff9b::7f00:1] is a loopback address"),
    ("http://[64:ff9b:1::a00:1]/", "[64:ff9b:1::a00:1] is an address of a local translation to IPv4"),
    ("http://[2002:7f00:1::]/", "[2002:7f00:1::] is an address of 6to4"),
    ("http://[fe80::1]/", "[fe80::1] is a link-local address"),
    ("http://[fd00:ec2::254]/", "[fd00:ec2::254] is a private address"),
    ("http://[fc00::1]/", "[fc00::1] is a private address"),
];

/// Names that lead inside, and what is said of them.
const NAMED: &[(&str, &str, &str)] = &[
    ("http://localhost/", "localhost", "a loopback address"),
    ("http://LOCALHOST./", "localhost", "a loopback address"),
    ("http://a.localhost:99/", "a.localhost", "a loopback address"),
    ("http://ｌｏｃａｌｈｏｓｔ/", "localhost", "a loopback address"),
    ("http://metadata.google.internal/", "metadata.google.internal", "a link-local address"),
    ("https://intranet.example/", "intranet.example", "a private address"),
    ("https://intranet.example./", "intranet.example", "a private address"),
    ("https://bücher.example/", "xn--bcher-kva.example", "a private address"),
    ("https://mapped.example/", "mapped.example", "a loopback address"),
];

const REST: &[(&str, &str)] = &[
    (
        "http://localhost@intranet.example/",
        "the address of intranet.example holds a user name or a password; write it without",
    ),
    ("http://u:p@localhost/", "the address of localhost holds a user name or a password; write it without"),
    (
        "http://example.org:80@127.0.0.1/",
        "the address of 127.0.0.1 holds a user name or a password; write it without",
    ),
    ("ftp://localhost/", "only addresses that begin with http:// or https:// can be asked for"),
    ("file:///etc/passwd", "only addresses that begin with http:// or https:// can be asked for"),
    ("data:text/plain,hello", "only addresses that begin with http:// or https:// can be asked for"),
    ("javascript:alert(1)", "only addresses that begin with http:// or https:// can be asked for"),
    ("http://a..b/", "the address has no host that could be looked up; check how it is spelt"),
    ("http://-a.example/", "the address has no host that could be looked up; check how it is spelt"),
];

fn world(allowed: &'static [&'static str]) -> Errands {
    let inside = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    let names: &[(&str, &[IpAddr])] = &[
        ("intranet.example", &[inside]),
        ("xn--bcher-kva.example", &[inside]),
        ("metadata.google.internal", &[IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254))]),
        ("mapped.example", &[IpAddr::V6(Ipv4Addr::LOCALHOST.to_ipv6_mapped())]),
    ];
    errands(allowed, names)
}

/// Every address with the answer to it.
fn all() -> Vec<(&'static str, String)> {
    let addresses = HOSTILE.iter().map(|(url, told)| (*url, format!("{told}, {ADDRESS}")));
    let names = NAMED.iter().map(|(url, host, what)| {
        let told = format!(
            "{host} leads to {what}, and only the public Internet is reached; to let it through, add \"{host}\" to \
             allow_hosts in [web] of config.toml"
        );
        (*url, told)
    });
    let rest = REST.iter().map(|(url, told)| (*url, (*told).to_owned()));
    addresses.chain(names).chain(rest).collect()
}

#[tokio::test]
async fn no_way_of_writing_leads_inside() {
    let errands = world(&[]);
    for (url, told) in all() {
        assert_eq!(text(&errands, public(url)).await, told, "{url}");
    }
}

#[tokio::test]
async fn no_redirect_leads_inside() {
    let port = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let turn = Arc::clone(&port);
    let server = Server::new(move |_| {
        let (url, _) = all().swap_remove(turn.load(std::sync::atomic::Ordering::SeqCst));
        // Header values are ASCII; a browser would send other letters so as well.
        to(Url::parse(url).unwrap().as_str())
    });
    let server = server.await;
    let errands = world(&["start.localhost"]);
    for (turn, (url, told)) in all().into_iter().enumerate() {
        port.store(turn, std::sync::atomic::Ordering::SeqCst);
        let start = public(&format!("http://start.localhost:{}/", server.port()));
        let expected = format!("start.localhost redirects elsewhere, and that was refused: {told}");
        assert_eq!(text(&errands, start).await, expected, "{url}");
    }
}

#[tokio::test]
async fn a_listed_name_opens_itself_and_nothing_that_leads_to_the_same_place() {
    let server = Server::saying(ok("inside")).await;
    let home = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let names: &[(&str, &[IpAddr])] = &[("git.example", &[home]), ("alias.example", &[home])];
    let errands = errands(&["git.example", "127.0.0.1", "2130706433"], names);
    for (host, open) in [
        ("git.example", true),
        ("GIT.example.", true),
        ("alias.example", false),
        ("127.0.0.1", false),
        ("2130706433", false),
        ("localhost", false),
        ("a.git.example", false),
    ] {
        let answer = text(&errands, public(&format!("http://{host}:{}/", server.port()))).await;
        assert_eq!(answer == "200 inside", open, "{host}: {answer}");
    }
}

#[tokio::test]
async fn by_a_proxy_everything_is_judged_that_can_be_and_the_rest_is_asked_of_it() {
    let proxy = Server::saying(ok("by the proxy")).await;
    let address = proxy.address;
    let proxies = move || Matcher::builder().all(format!("http://ada:pw@{address}")).build();
    let names = |name: &str| match name {
        "public.example" => Ok(vec![IpAddr::V4(Ipv4Addr::new(8, 8, 8, 8))]),
        "inside.example" | "listed.example" => Ok(vec![IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1))]),
        _ => Err(std::io::Error::other("no name server here")),
    };
    let allows = Arc::new(|name: &str| name == "listed.example");
    let errands = Errands::with(allows, Arc::new(names), Arc::new(proxies));
    for url in
        ["http://public.example/a", "http://listed.example/a", "http://unknown.example/a", "http://8.8.8.8/a"]
    {
        assert_eq!(text(&errands, public(url)).await, "200 by the proxy", "{url}");
        let head = proxy.heads().pop().unwrap();
        assert!(head.starts_with(&format!("get {url} http/1.1\r\n")), "{head}");
        assert!(head.contains("proxy-authorization: basic yw"), "{head}");
    }
    for (url, part) in [
        ("http://inside.example/", "leads to a private address"),
        ("http://127.0.0.1/", "is a loopback address"),
        ("http://localhost/", "leads to a loopback address"),
        ("http://metadata.google.internal/", "is a name of a private network"),
        ("http://intranet/", "is a name of a private network"),
        ("http://printer.local/", "is a name of a private network"),
    ] {
        let told = text(&errands, public(url)).await;
        assert!(told.contains(part), "{url}: {told}");
    }
    assert_eq!(proxy.heads().len(), 4);
}
