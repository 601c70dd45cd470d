//! Programs in the sandbox, seen from their host: the doors that come out of it, and that it ends as a whole.

use std::fs;

use covenant_runner::ending::Status;
use covenant_runner::nursery::Nursery;
use covenant_runner::order::{Door, Network, Order, Sandbox};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::stage::{ALL, carriers, daemons, entries, launcher, lines, output, scrub, shell, start, token};

/// That program in a sandbox without a network of others.
fn sandboxed(order: Order, scratch: &std::path::Path) -> Order {
    let door = Door { url: "http://127.0.0.1:8421".into(), token: "the-token".into() };
    let sandbox = Sandbox { network: Network::Off, door: Some(door), ..Sandbox::new(scratch.to_owned()) };
    Order { sandbox: Some(sandbox), ..order }
}

#[tokio::test]
async fn what_it_says_at_its_door_is_heard_outside() {
    let scratch = tempfile::tempdir().unwrap();
    let script = "import os, socket, urllib.parse\n\
        url = urllib.parse.urlparse(os.environ['COVENANT_URL'])\n\
        s = socket.create_connection((url.hostname, url.port))\n\
        s.sendall(b'hello from inside')\n\
        s.shutdown(socket.SHUT_WR)\n\
        print(s.recv(100).decode(), os.environ['COVENANT_TOKEN'])";
    let python = crate::stage::program("/usr/bin/python3", &["-c", script]);
    let mut child = start(sandboxed(python, scratch.path())).await;
    let doors = child.take_doors();
    assert!(doors.proxy.is_none(), "there is no proxy where there is no network");
    let listener = TcpListener::from_std(doors.door.unwrap()).unwrap();
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).await.unwrap();
    assert_eq!(said, "hello from inside");
    stream.write_all(b"hello from outside").await.unwrap();
    drop(stream);
    assert_eq!(output(&mut child).await, "hello from outside the-token\n", "{}", child.errors());
    assert!(child.wait().await.status.is_success());
    assert!(child.take_doors().door.is_none(), "once");
    assert_eq!(entries(scratch.path()), 0);
}

#[tokio::test]
async fn daemons_in_the_sandbox_end_with_their_launcher() {
    let (directory, scratch, token) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), token());
    let (nursery, _) = Nursery::with_ledger(launcher(), directory.path()).unwrap();
    let order = sandboxed(shell(&format!("{} read line", daemons(&token, &ALL))), scratch.path());
    let mut child = nursery.start(order, scrub()).await.unwrap();
    let mut lines = lines(&mut child);
    for _ in ALL {
        lines.next().await.unwrap().unwrap();
    }
    assert!(carriers(&token).len() > ALL.len());
    let path = directory.path().join(format!("{}.json", child.id()));
    let record: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    assert!(record["program"]["pid"].is_number(), "{record}");
    let launcher = i32::try_from(record["launcher"]["pid"].as_i64().unwrap()).unwrap();
    kill_process(Pid::from_raw(launcher).unwrap(), Signal::KILL).unwrap();
    assert_eq!(child.wait().await.status, Status::Unknown);
    assert_eq!(carriers(&token), [].into(), "also what shed its mark");
    assert_eq!((entries(directory.path()), entries(scratch.path())), (0, 0));
}
