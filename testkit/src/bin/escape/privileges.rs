//! Ways to more rights than one was given, and what was left lying around by whoever started us.

use std::io;

use crate::answer::Attack;
use crate::kernel::{address, address_mut, call, flag, in_a_copy};

pub(crate) const ATTACKS: &[(&str, Attack)] = &[
    ("am-root", |_| am_root()),
    ("become-root", |_| become_root()),
    ("setuid-binary", setuid_binary),
    ("plant-setuid", plant),
    ("capabilities", |_| capabilities()),
    ("groups", |_| groups()),
    ("new-privileges", |_| {
        const PR_GET_NO_NEW_PRIVS: i32 = libc::PR_GET_NO_NEW_PRIVS;
        let never = call(libc::SYS_prctl, &[flag(PR_GET_NO_NEW_PRIVS)])? == 1;
        if never { Err(io::Error::other("no new privileges")) } else { Ok("may gain privileges".to_owned()) }
    }),
    ("environment", |canary| {
        let found = std::env::vars_os().find(|(_, value)| value.to_string_lossy().contains(canary));
        found
            .map(|(name, _)| name.to_string_lossy().into_owned())
            .ok_or_else(|| io::Error::other("not there"))
    }),
    ("descriptors", |_| descriptors()),
    ("raise-limit", raise_limit),
    ("raise-priority", |_| {
        call(libc::SYS_setpriority, &[0, 0, flag(-5)]).map(|_| "ahead of everyone".to_owned())
    }),
    ("real-time", |_| {
        let priority = 1_i32;
        let arguments = [0, flag(libc::SCHED_FIFO), address(&priority)];
        in_a_copy(|| call(libc::SYS_sched_setscheduler, &arguments).map(drop))
            .map(|()| "real time".to_owned())
    }),
];

fn am_root() -> io::Result<String> {
    let user = call(libc::SYS_geteuid, &[])?;
    if user == 0 { Ok("root".to_owned()) } else { Err(io::Error::other(format!("user {user}"))) }
}

fn become_root() -> io::Result<String> {
    in_a_copy(|| {
        call(libc::SYS_setresuid, &[0, 0, 0])?;
        call(libc::SYS_setresgid, &[0, 0, 0]).map(drop)
    })?;
    Ok("became root".to_owned())
}

/// Runs a copy of ourselves that belongs to root and says so.
#[expect(clippy::disallowed_methods, reason = "a hostile program starts others")]
fn setuid_binary(path: &str) -> io::Result<String> {
    let ran = std::process::Command::new(path).arg("am-root").output()?;
    let said = String::from_utf8_lossy(&ran.stdout).trim().to_owned();
    if said.contains("\"escaped\":true") {
        Ok(said)
    } else {
        Err(io::Error::other("it ran without root's rights"))
    }
}

/// Leaves a program where it may write that runs with the rights of whoever owns it there, by every call that can.
fn plant(directory: &str) -> io::Result<String> {
    use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
    const FCHMODAT2: i64 = 452;
    let path = std::path::Path::new(directory).join("planted");
    let there = std::ffi::CString::new(path.as_os_str().as_encoded_bytes())?;
    let here = flag(libc::AT_FDCWD);
    let mut stopped = io::Error::other("no such bit");
    for way in 0..5 {
        let _ = std::fs::remove_file(&path);
        let attempt = if way == 0 {
            std::fs::OpenOptions::new().create_new(true).write(true).mode(0o6755).open(&path).map(drop)
        } else if way == 1 {
            call(libc::SYS_mknodat, &[here, address(there.as_c_str()), 0o106_755, 0]).map(drop)
        } else {
            std::fs::write(&path, "#!/bin/sh\n")?;
            match way {
                2 => std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o6755)),
                3 => call(FCHMODAT2, &[here, address(there.as_c_str()), 0o6755, 0]).map(drop),
                _ => std::fs::File::open(&path)?.set_permissions(std::fs::Permissions::from_mode(0o6755)),
            }
        };
        match attempt.and_then(|()| std::fs::metadata(&path)) {
            Ok(found) if found.mode() & 0o6000 != 0 => {
                return Ok(format!("way {way}: mode {:o}", found.mode()));
            }
            Ok(_) => {}
            Err(error) => stopped = error,
        }
    }
    let _ = std::fs::remove_file(&path);
    Err(stopped)
}

fn capabilities() -> io::Result<String> {
    let header = [0x2008_0522_u32, 0];
    let mut sets = [0_u32; 6];
    call(libc::SYS_capget, &[address(&header), address_mut(&mut sets)])?;
    if sets.iter().any(|set| *set != 0) {
        return Ok(format!("{sets:x?}"));
    }
    for capability in 0..64 {
        // PR_CAPBSET_READ: what a setuid program could bring back.
        let bounded = call(libc::SYS_prctl, &[flag(libc::PR_CAPBSET_READ), capability]).unwrap_or_default();
        let gainable = call(libc::SYS_prctl, &[flag(libc::PR_GET_NO_NEW_PRIVS)])? == 0;
        if bounded == 1 && gainable {
            return Ok(format!("capability {capability} can be had"));
        }
    }
    Err(io::Error::other("none"))
}

fn groups() -> io::Result<String> {
    let mut list = [0_u32; 64];
    let count = call(libc::SYS_getgroups, &[list.len(), address_mut(&mut list)])?;
    let member = list.iter().take(count).any(|group| *group == 0) || call(libc::SYS_getegid, &[])? == 0;
    if member { Ok("in root's group".to_owned()) } else { Err(io::Error::other("not in root's group")) }
}

/// Descriptors that nobody meant to pass on.
fn descriptors() -> io::Result<String> {
    let open = (3..1024).filter(|number| call(libc::SYS_fcntl, &[*number, flag(libc::F_GETFD)]).is_ok());
    let open: Vec<String> = open
        .map(|number| {
            let to = std::fs::read_link(format!("/proc/self/fd/{number}")).unwrap_or_default();
            format!("{number} is {}", to.display())
        })
        .collect();
    if open.is_empty() { Err(io::Error::other("none")) } else { Ok(open.join(", ")) }
}

/// Raises every limit that was lowered.
fn raise_limit(_: &str) -> io::Result<String> {
    let mut stopped = io::Error::other("nothing was lowered");
    for limit in
        [libc::RLIMIT_NPROC, libc::RLIMIT_AS, libc::RLIMIT_FSIZE, libc::RLIMIT_NOFILE, libc::RLIMIT_CORE]
    {
        let mut old = [0_u64; 2];
        let limit = flag(limit.cast_signed());
        call(libc::SYS_prlimit64, &[0, limit, 0, address_mut(&mut old)])?;
        let [_, hard] = old;
        if hard == u64::MAX {
            continue;
        }
        let new = [hard.saturating_add(1); 2];
        if let Err(error) = call(libc::SYS_prlimit64, &[0, limit, address(&new)]) {
            stopped = error;
            continue;
        }
        // What is said to be done need not be.
        call(libc::SYS_prlimit64, &[0, limit, 0, address_mut(&mut old)])?;
        if old == new {
            return Ok(format!("limit {limit} raised above {hard}"));
        }
    }
    Err(stopped)
}
