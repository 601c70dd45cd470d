//! Homes that are fit to be used, and homes that are not. Ownership by others needs root and is tested where we are it.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

use super::*;

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().mode() & 0o777
}

#[test]
fn a_missing_home_is_made_for_its_owner_alone() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(&dir.path().join("deep/down/home")).unwrap();
    assert!(!home.exists());
    assert!(home.prepare().unwrap().is_empty());
    for directory in [home.root().to_owned(), home.identity(), home.audit(), home.logs()] {
        assert_eq!(mode(&directory), 0o700, "{}", directory.display());
    }
    assert!(home.prepare().unwrap().is_empty(), "a second start finds it as it is");
}

#[test]
fn what_programs_need_is_made_for_its_owner_alone_even_without_a_daemon() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(&dir.path().join("home")).unwrap();
    home.prepare_runs().unwrap();
    for directory in [home.root().to_owned(), home.root().join("run"), home.children(), home.scratch()] {
        assert_eq!(mode(&directory), 0o700, "{}", directory.display());
    }
    fs::set_permissions(home.scratch(), Permissions::from_mode(0o777)).unwrap();
    assert!(home.prepare_runs().unwrap_err().to_string().contains("chmod 700"));
}

#[test]
fn a_workspace_in_the_home_is_made_and_one_elsewhere_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(&dir.path().join("home")).unwrap();
    home.prepare().unwrap();
    for inside in [home.workspace(), home.root().join("files/of/tools")] {
        assert_eq!(home.prepare_workspace(&inside), None);
        assert_eq!(mode(&inside), 0o700);
        assert_eq!(home.prepare_workspace(&inside), None, "a second start finds it as it is");
    }
    for outside in [dir.path().join("disk"), home.root().join("../beside")] {
        let remark = home.prepare_workspace(&outside).unwrap();
        assert!(remark.contains(outside.to_str().unwrap()) && remark.contains("workspace.path"), "{remark}");
        assert!(!outside.exists());
        fs::create_dir(&outside).unwrap();
        assert_eq!(home.prepare_workspace(&outside), None);
    }
    let file = home.root().join("file");
    fs::write(&file, "").unwrap();
    for wrong in [file.clone(), file.join("below")] {
        let remark = home.prepare_workspace(&wrong).unwrap();
        assert!(remark.contains(wrong.to_str().unwrap()), "{remark}");
    }
}

#[test]
fn a_home_that_others_may_write_is_refused_with_the_command_that_closes_it() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path()).unwrap();
    for (bits, part) in [(0o770, "770"), (0o777, "777"), (0o707, "707")] {
        fs::set_permissions(dir.path(), Permissions::from_mode(bits)).unwrap();
        let refused = home.prepare().unwrap_err().to_string();
        assert!(refused.contains("chmod 700") && refused.contains(part), "{refused}");
    }
}

#[test]
fn a_home_that_others_may_read_is_remarked_on() {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    let remarks = Home::at(dir.path()).unwrap().prepare().unwrap();
    assert!(remarks.iter().any(|remark| remark.contains("chmod 700")), "{remarks:?}");
}

#[test]
fn an_open_agents_directory_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(dir.path()).unwrap();
    fs::create_dir(home.agents()).unwrap();
    fs::set_permissions(home.agents(), Permissions::from_mode(0o777)).unwrap();
    assert!(matches!(home.prepare(), Err(HomeError::Writable { .. })));
}

#[test]
fn a_file_in_place_of_the_home_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, "").unwrap();
    assert!(matches!(Home::at(&path).unwrap().prepare(), Err(HomeError::NotADirectory(_))));
}

#[test]
fn a_link_to_a_home_of_ours_is_that_home() {
    let dir = tempfile::tempdir().unwrap();
    let (real, link) = (dir.path().join("real"), dir.path().join("link"));
    fs::create_dir(&real).unwrap();
    symlink(&real, &link).unwrap();
    let (through, direct) = (Home::at(&link).unwrap(), Home::at(&real).unwrap());
    through.prepare().unwrap();
    assert_eq!(through.socket_to_bind().unwrap(), direct.socket_to_bind().unwrap());
}

#[test]
fn a_dangling_link_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("link");
    symlink(dir.path().join("nowhere"), &link).unwrap();
    assert!(matches!(Home::at(&link).unwrap().prepare(), Err(HomeError::Io { .. })));
}

#[test]
fn a_home_of_someone_else_is_refused_even_to_root() {
    if user() != 0 {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let theirs = dir.path().join("theirs");
    fs::create_dir(&theirs).unwrap();
    fs::set_permissions(&theirs, Permissions::from_mode(0o700)).unwrap();
    chown(&theirs, Some(12345), None).unwrap();
    let link = dir.path().join("link");
    symlink(&theirs, &link).unwrap();
    for path in [theirs, link] {
        let refused = Home::at(&path).unwrap().prepare().unwrap_err().to_string();
        assert!(refused.contains("12345") && refused.contains("--home"), "{refused}");
    }
}

#[test]
fn a_long_path_moves_the_socket_to_where_it_fits() {
    let dir = tempfile::tempdir().unwrap();
    let home = Home::at(&dir.path().join("x".repeat(150))).unwrap();
    home.prepare().unwrap();
    let socket = home.socket_to_bind().unwrap();
    assert!(!socket.starts_with(home.root()) && socket.as_os_str().len() <= 107);
    assert_eq!(socket, home.socket().unwrap());
    assert_eq!(mode(socket.parent().unwrap()) & 0o022, 0);
    let short = Home::at(dir.path()).unwrap();
    assert_eq!(short.socket().unwrap(), dir.path().join("sock"));
}
