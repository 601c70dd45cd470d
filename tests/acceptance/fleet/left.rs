//! What is left of servers when the daemon has ended, however it ended: nothing.

use std::path::Path;

use covenant_testkit::Upstream;
use covenant_testkit::wait::until;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::stage::{Stage, text};
use crate::home;

/// Processes that have that word on their command line.
pub(super) fn alive(mark: &str) -> Vec<u32> {
    let pids = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let shows = |pid: &u32| {
        let line =
            std::fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).split('\0').any(|word| word == mark)
    };
    pids.filter(shows).collect()
}

/// They ignore the end of their input and the request to end; some run in a sandbox, one has children of its own.
#[test]
fn servers_that_cling_to_life_end_with_the_daemon() {
    for signal in [Signal::TERM, Signal::KILL] {
        let home = home();
        let mark = format!("name=clings-{}-{}", std::process::id(), signal.as_raw());
        let plain = Upstream::stdio(&home, "plain", &["sticky", &mark]);
        let program = home.program().with_file_name("server");
        let line =
            format!("'{0}' stdio sticky '{mark}' & exec '{0}' stdio sticky '{mark}'", program.display());
        let parent = Upstream::command(&home, "parent", "sh", &["-c", &line]);
        let hung = Upstream::stdio(&home, "hung", &["sticky", "never@start", &mark]);
        let stage = Stage::with(&home, &[&plain, &parent, &hung]);
        stage.ready("plain");
        stage.ready("parent");
        until("all four run", || (alive(&mark).len() >= 4).then_some(()));
        stage.daemon.signal(signal);
        let (code, printed) = stage.daemon.ended();
        assert_eq!(code, if signal == Signal::TERM { 0 } else { -1 }, "{printed}");
        until("nothing is left", || alive(&mark).is_empty().then_some(()));
    }
}

/// One that is removed, disconnected or replaced leaves nothing either, and one that ends in order is let.
#[test]
fn a_server_that_goes_is_gone() {
    let home = home();
    let mark = format!("name=goes-{}", std::process::id());
    let sticky = Upstream::stdio(&home, "sticky", &["sticky", &mark]);
    let polite = Upstream::stdio(&home, "polite", &[&mark]);
    let stage = Stage::with(&home, &[&sticky, &polite]);
    stage.ready("sticky");
    stage.ready("polite");
    for name in ["sticky", "polite"] {
        let (status, now) = stage.ask("POST", &format!("mcp/servers/{name}/disconnect"), &Value::Null);
        assert_eq!((status, &now["state"]), (200, &json!("disabled")), "{now}");
    }
    until("nothing is left", || alive(&mark).is_empty().then_some(()));
    assert_eq!(polite.count("ended"), 1, "its input was closed first");
}

/// With a sandbox in its entry a server sees what is named there, and without one all that its user does.
#[test]
fn a_server_is_sandboxed_by_its_entry() {
    let home = home();
    let (private, lent) = (home.beside("private.txt"), home.beside("lent"));
    std::fs::write(&private, "private").unwrap();
    std::fs::create_dir(&lent).unwrap();
    std::fs::write(lent.join("lent.txt"), "lent").unwrap();
    let program = home.program().with_file_name("server");
    let sandbox = format!("{{ network = \"off\", read = [{}, {}] }}", json!(program), json!(lent));
    let boxed = Upstream::stdio(&home, "boxed", &[]).key("sandbox", sandbox);
    let plain = Upstream::stdio(&home, "plain", &[]);
    let stage = Stage::with(&home, &[&boxed, &plain]);
    let mut client = stage.client();
    for name in ["boxed", "plain"] {
        stage.ready(name);
    }
    let mut read = |name: &str, path: &Path| {
        text(&client.call(&format!("{name}__read"), json!({ "path": path }))).to_owned()
    };
    assert_eq!(
        (read("plain", &private), read("plain", &lent.join("lent.txt"))),
        ("private".to_owned(), "lent".to_owned())
    );
    assert_eq!(read("boxed", &lent.join("lent.txt")), "lent");
    assert_ne!(read("boxed", &private), "private");
}
