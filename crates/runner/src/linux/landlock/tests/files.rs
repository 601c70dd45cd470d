//! Files: reading, writing, and the ways round both.

use std::os::unix::fs::symlink;

use super::*;

const EACCES: i32 = libc::EACCES;
const EXDEV: i32 = libc::EXDEV;

/// One attempt in a fresh place without the fence, and one in another behind it.
fn only_without(name: &str, body: impl Fn(&Place) -> io::Result<()>, error: i32) {
    let place = Place::new();
    assert_eq!(attempt(|| body(&place)), Outcome::Fine, "{name}, without the fence");
    let place = Place::new();
    let fenced = attempt(|| {
        within(&place.fence())?;
        body(&place)
    });
    assert_eq!(fenced, Outcome::Failed(error), "{name}, behind the fence");
}

fn behind(name: &str, body: impl Fn(&Place) -> io::Result<()>) {
    let place = Place::new();
    works_behind(name, || within(&place.fence()), || body(&place));
}

fn append(path: &Path) -> io::Result<()> {
    fs::OpenOptions::new().append(true).open(path)?.write_all(b"more")
}

#[test]
fn what_is_outside_is_not_read() {
    only_without("to read a file", |place| fs::read(place.at("secret/file")).map(drop), EACCES);
    only_without("to list a directory", |place| fs::read_dir(place.at("secret")).map(drop), EACCES);
    let up = |place: &Place| fs::read(place.at("own/below/../../secret/file")).map(drop);
    only_without("to go up and read", up, EACCES);
    let moved = |place: &Place| {
        std::env::set_current_dir(place.at("secret"))?;
        fs::read("file").map(drop)
    };
    only_without("to go there and read", moved, EACCES);
    let root = |place: &Place| {
        let name = place.at("secret/file");
        fs::read(Path::new("/proc/self/root").join(name.strip_prefix("/").unwrap_or(&name))).map(drop)
    };
    only_without("to read by way of /proc", root, EACCES);
}

#[test]
fn what_is_outside_is_not_written() {
    only_without("to write a file", |place| append(&place.at("secret/file")), EACCES);
    only_without("to make a file", |place| fs::write(place.at("secret/new"), "x"), EACCES);
    only_without("to make a directory", |place| fs::create_dir(place.at("secret/new")), EACCES);
    only_without("to remove a file", |place| fs::remove_file(place.at("secret/file")), EACCES);
    only_without("to make a link there", |place| symlink("file", place.at("secret/link")), EACCES);
}

#[test]
fn what_may_be_read_is_not_written() {
    behind("to read a file", |place| fs::read(place.at("shown/file")).map(drop));
    behind("to list a directory", |place| fs::read_dir(place.at("shown")).map(drop));
    only_without("to write a file", |place| append(&place.at("shown/file")), EACCES);
    only_without("to make a file", |place| fs::write(place.at("shown/new"), "x"), EACCES);
    only_without("to remove a file", |place| fs::remove_file(place.at("shown/file")), EACCES);
}

#[test]
fn links_lead_nowhere_new() {
    let read = |place: &Place| {
        symlink(place.at("secret/file"), place.at("own/link"))?;
        fs::read(place.at("own/link")).map(drop)
    };
    only_without("to read through a link", read, EACCES);
    let write = |place: &Place| {
        symlink(place.at("secret"), place.at("own/link"))?;
        fs::write(place.at("own/link/new"), "x")
    };
    only_without("to write through a link", write, EACCES);
    let hard = |place: &Place| fs::hard_link(place.at("secret/file"), place.at("own/hard"));
    only_without("to link a file in", hard, EXDEV);
    let shown = |place: &Place| fs::hard_link(place.at("shown/file"), place.at("own/hard"));
    only_without("to link a file in that may only be read", shown, EXDEV);
}

#[test]
fn nothing_is_moved_in_or_out() {
    let inward = |place: &Place| fs::rename(place.at("secret/file"), place.at("own/new"));
    only_without("to move a file in", inward, EACCES);
    let outward = |place: &Place| fs::rename(place.at("own/file"), place.at("secret/new"));
    only_without("to move a file out", outward, EACCES);
    let whole = |place: &Place| fs::rename(place.at("secret"), place.at("own/new"));
    only_without("to move a directory in", whole, EACCES);
    behind("to move within", |place| fs::rename(place.at("own/below/file"), place.at("own/new")));
    behind("to link within", |place| fs::hard_link(place.at("own/below/file"), place.at("own/new")));
}

#[test]
fn what_may_be_written_may_be_written_in_every_way() {
    behind("a file", |place| fs::write(place.at("own/new"), "x"));
    behind("over a file", |place| fs::write(place.at("own/file"), "x"));
    behind("more of a file", |place| append(&place.at("own/below/file")));
    behind("a directory", |place| fs::create_dir_all(place.at("own/a/b/c")));
    behind("a tree less", |place| fs::remove_dir_all(place.at("own/below")));
    behind("a link", |place| symlink("file", place.at("own/link")));
    behind("a socket", |place| std::os::unix::net::UnixListener::bind(place.at("own/socket")).map(drop));
    let shorter = |place: &Place| fs::OpenOptions::new().write(true).open(place.at("own/file"))?.set_len(1);
    behind("a shorter file", shorter);
}

/// Cutting a file short by its path needs no opening, so it has a right of its own.
#[test]
fn what_is_outside_is_not_cut_short() {
    let cut = |place: &Place| {
        let path = std::ffi::CString::new(place.at("secret/file").into_os_string().into_encoded_bytes())?;
        crate::linux::sys::call(libc::SYS_truncate, [path.as_ptr() as usize, 0, 0, 0, 0, 0]).map(drop)
    };
    if Strength::probe().truncate {
        only_without("to cut a file short", cut, EACCES);
    }
}

fn run(program: &Path, arguments: &[PathBuf]) -> io::Result<()> {
    let output = crate::spawn::command(program, arguments, &[]).output()?;
    if output.status.success() { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ECHILD)) }
}

#[test]
fn programs_outside_are_not_started_and_those_within_are_fenced() {
    let place = Place::new();
    let fence = || within(&place.fence());
    fs::copy("/bin/true", place.at("secret/true")).unwrap();
    works_only_without("a program outside", fence, || run(&place.at("secret/true"), &[]), EACCES);
    let own = || {
        fs::copy("/bin/true", place.at("own/true"))?;
        run(&place.at("own/true"), &[])
    };
    works_behind("a program within", fence, own);
    let cat = |name: &str| run(Path::new("/bin/cat"), &[place.at(name)]);
    works_behind("to have what it may read read", fence, || cat("own/file"));
    works_only_without("to have what is outside read", fence, || cat("secret/file"), libc::ECHILD);
}

#[test]
fn a_file_can_be_named_by_itself() {
    let place = Place::new();
    fs::write(place.at("secret/other"), "text").unwrap();
    symlink(place.at("secret/file"), place.at("shown/link")).unwrap();
    let mut fence = place.fence();
    fence.read.push(place.at("shown/link"));
    works_behind("the named file", || within(&fence), || fs::read(place.at("secret/file")).map(drop));
    let beside = || fs::read(place.at("secret/other")).map(drop);
    works_only_without("the one beside it", || within(&fence), beside, EACCES);
    fence.write.push(place.at("secret/file"));
    works_behind("to write it", || within(&fence), || append(&place.at("secret/file")));
}

#[test]
fn commands_to_devices_need_the_device_named() {
    let place = Place::new();
    let ask = || {
        let device = fs::File::options().write(true).open("/dev/null")?;
        // Whether it is a terminal. It is none, and says so if it is asked.
        match rustix::termios::tcgetattr(&device) {
            Err(rustix::io::Errno::NOTTY) => Ok(()),
            Err(other) => Err(other.into()),
            Ok(_) => Err(io::ErrorKind::Other.into()),
        }
    };
    works_behind("the named device", || within(&place.fence()), ask);
    if Strength::probe().abi >= 5 {
        let fence = Fence { write: vec!["/dev".into()], ..place.fence() };
        works_only_without("a device in a directory", || within(&fence), ask, EACCES);
    }
}
