//! The routes and their description are one set, asked of a daemon that serves.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use super::routes;
use crate::http::openapi;
use crate::{Home, Options, Running, start};

async fn daemon(dir: &tempfile::TempDir) -> Running {
    let mut options = Options::new(Home::at(&dir.path().join("home")).unwrap());
    options.overrides.listen = Some("127.0.0.1:0".to_owned());
    start(options).await.unwrap()
}

/// The status of an answer, and the methods its `Allow` names.
async fn ask(at: SocketAddr, method: &str, path: &str) -> (u16, Option<BTreeSet<String>>) {
    let request = format!("{method} {} HTTP/1.0\r\n\r\n", path.replace(['{', '}'], ""));
    let asked = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(at).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    });
    let answer = asked.await.unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let allow = answer.lines().find_map(|line| line.strip_prefix("allow: "));
    (status, allow.map(|methods| methods.split(',').map(|method| method.trim().to_owned()).collect()))
}

#[tokio::test]
async fn what_is_routed_is_described_and_what_is_described_is_routed() {
    let dir = tempfile::tempdir().unwrap();
    let running = daemon(&dir).await;
    let at = running.addresses()[0];
    let mut routed: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, _) in routes() {
        let (status, allow) = ask(at, "OPTIONS", path).await;
        assert_eq!(status, 405, "{path}");
        let methods = allow.unwrap();
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE"] {
            if !methods.contains(method) {
                assert_eq!(ask(at, method, path).await, (405, Some(methods.clone())), "{method} {path}");
            }
        }
        routed.insert(path.to_owned(), methods);
    }
    let mut described: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, method) in openapi::described() {
        let methods = described.entry(path.to_owned()).or_default();
        methods.insert(method.to_uppercase());
        // Nobody can look at a stream without opening it.
        if method == "get" && path != "/mcp" {
            methods.insert("HEAD".to_owned());
        }
    }
    assert_eq!(routed, described);
    assert_eq!(ask(at, "GET", "/api/v1/nothing").await, (404, None));
    running.stop().await;
}
