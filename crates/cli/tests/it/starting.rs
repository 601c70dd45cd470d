//! What a program gets, and what is said of one that cannot be started.

use std::os::fd::AsFd as _;

use covenant_runner::report::{Kept, Promise};

use crate::stage::{nursery, output, program, scrub, shell, start};

#[tokio::test]
async fn the_environment_is_what_was_named_and_the_mark() {
    let mut order = program("/usr/bin/env", &[]);
    order.environment = vec![("A".into(), "1".into()), ("B".into(), "two words\nand lines".into())];
    let mut child = start(order).await;
    let mark = format!("COVENANT_RUN={}", child.id());
    let expected = ["A=1", "B=two words\nand lines", &mark].map(|line| format!("{line}\n")).concat();
    assert_eq!(output(&mut child).await, expected);
    assert!(child.wait().await.status.is_success());
}

#[tokio::test]
async fn no_descriptor_of_the_host_is_inherited() {
    // As careless as a library may be: open across exec.
    let careless: Vec<_> = (0..50).map(|_| rustix::io::dup(std::io::stdin().as_fd()).unwrap()).collect();
    let mut child = start(program("/bin/ls", &["/proc/self/fd"])).await;
    // The fourth is the directory that is listed.
    assert_eq!(output(&mut child).await, "0\n1\n2\n3\n");
    drop(careless);
}

#[tokio::test]
async fn it_has_a_session_without_a_terminal_and_a_group_of_its_own() {
    let mut child = start(shell("cut -d' ' -f5,6,7 /proc/$$/stat; echo $$; pwd")).await;
    let own = std::fs::read_to_string("/proc/self/stat").unwrap();
    let own = own.rsplit_once(") ").unwrap().1.split(' ').nth(3).unwrap();
    let text = output(&mut child).await;
    let [facts, pid, directory] = text.lines().collect::<Vec<_>>().try_into().unwrap();
    let [group, session, terminal] = facts.split(' ').collect::<Vec<_>>().try_into().unwrap();
    assert_eq!((group, terminal, directory), (pid, "0", "/"));
    assert_ne!(session, own);
}

#[tokio::test]
async fn a_plain_run_promises_an_end_and_nothing_else() {
    let child = start(shell("exit 0")).await;
    let kept = |promise| child.report().of(promise).unwrap().kept;
    assert_eq!(kept(Promise::Lifetime), Kept::Yes);
    assert!(Promise::ALL[1..].iter().all(|&promise| kept(promise) == Kept::No));
    assert_eq!(child.id().len(), 16);
}

#[tokio::test]
async fn what_cannot_be_started_is_refused_with_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str, mode| {
        let path = directory.path().join(name);
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
        path.display().to_string()
    };
    let plain = file("plain", "#!/bin/sh\n", 0o644);
    let orphan = file("orphan", "#!/no/such/interpreter\n", 0o755);
    for path in ["/no/such/program", &plain, &orphan, "/tmp"] {
        let error = nursery().start(program(path, &[]), scrub()).await.unwrap_err().to_string();
        assert!(error.starts_with(&format!("{path} cannot be run: ")), "{error}");
    }
    let mut order = shell("exit 0");
    order.directory = "/no/such/directory".into();
    let error = nursery().start(order, scrub()).await.unwrap_err().to_string();
    assert!(error.contains("/no/such/directory"), "{error}");
    let error = nursery().start(program("sh", &[]), scrub()).await.unwrap_err().to_string();
    assert!(error.contains("not absolute"), "{error}");
}
