//! Makes a poorer host of this one for a program: without namespaces, landlock or filters, as some containers,
//! distributions and older kernels are.

use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::ExitCode;

use crate::kernel::{address, call, flag, fork};

/// When a rule of the filter speaks.
enum When {
    Always,
    /// The first argument has one of these bits.
    Bits(u32),
    /// The first argument is this.
    Is(u32),
}

type Rule = (i64, When, i32);

/// Runs the program where something is missing: a list, separated by commas.
pub(crate) fn lacking(what: &str, program: &str, arguments: &[&str]) -> ExitCode {
    let mut rules = Vec::new();
    for thing in what.split(',') {
        rules.extend(match thing {
            "user-namespaces" if without_user_namespaces().is_ok() => Vec::new(),
            "namespaces" => namespaces(),
            "mounts" => mounts(libc::EACCES),
            "landlock" => (444..447).map(|call| (call, When::Always, libc::ENOSYS)).collect(),
            "filters" => filters(),
            _ => return ExitCode::from(99),
        });
    }
    if install(&rules).is_err() {
        return ExitCode::from(98);
    }
    become_program(program, arguments)
}

#[expect(clippy::disallowed_methods, reason = "a host is for a program")]
fn become_program(program: &str, arguments: &[&str]) -> ExitCode {
    let _ = std::process::Command::new(program).args(arguments).exec();
    ExitCode::from(97)
}

/// As the default filter of container engines.
fn namespaces() -> Vec<Rule> {
    let new = libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWNET
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWCGROUP;
    let mut rules = vec![
        (libc::SYS_clone, When::Bits(new.cast_unsigned()), libc::EPERM),
        (libc::SYS_unshare, When::Always, libc::EPERM),
        (libc::SYS_clone3, When::Always, libc::ENOSYS),
        (libc::SYS_setns, When::Always, libc::EPERM),
    ];
    rules.extend(mounts(libc::EPERM));
    rules
}

/// Namespaces, but no rights in them: what some distributions leave to ordinary users.
fn mounts(errno: i32) -> Vec<Rule> {
    let calls = [
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_fsopen,
        libc::SYS_fsmount,
        libc::SYS_open_tree,
        libc::SYS_move_mount,
        libc::SYS_mount_setattr,
        libc::SYS_sethostname,
    ];
    calls.map(|call| (call, When::Always, errno)).into()
}

fn filters() -> Vec<Rule> {
    let prctl = u32::try_from(libc::PR_SET_SECCOMP).unwrap_or_default();
    vec![(libc::SYS_seccomp, When::Always, libc::ENOSYS), (libc::SYS_prctl, When::Is(prctl), libc::EINVAL)]
}

/// A user namespace in which no further one can be made.
fn without_user_namespaces() -> io::Result<()> {
    let (user, group) = (call(libc::SYS_getuid, &[])?, call(libc::SYS_getgid, &[])?);
    let own = std::process::id();
    let (mut reader, writer) = io::pipe()?;
    // Root maps everyone, which only a process that stays outside may write.
    let outside = if user == 0 { fork()? } else { 1 };
    if outside == 0 {
        drop(writer);
        io::Read::read(&mut reader, &mut [0; 1])?;
        fs::write(format!("/proc/{own}/gid_map"), "0 0 65536")?;
        fs::write(format!("/proc/{own}/uid_map"), "0 0 65536")?;
        std::process::exit(0);
    }
    drop(reader);
    call(libc::SYS_unshare, &[flag(libc::CLONE_NEWUSER)])?;
    drop(writer);
    if user == 0 {
        call(libc::SYS_wait4, &[outside])?;
    } else {
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    }
    fs::write("/proc/sys/user/max_user_namespaces", "0")
}

/// Applies the rules to this process and all it becomes.
fn install(rules: &[Rule]) -> io::Result<()> {
    if rules.is_empty() {
        return Ok(());
    }
    let mut program: Vec<[u8; 8]> = vec![loaded(0)];
    for (number, when, errno) in rules {
        let number = u32::try_from(*number).unwrap_or_default();
        let refusal = step(0x06, 0, 0, 0x0005_0000 | errno.cast_unsigned());
        match when {
            When::Always => program.extend([step(0x15, 0, 1, number), refusal]),
            When::Bits(bits) => {
                program.extend([
                    step(0x15, 0, 4, number),
                    loaded(16),
                    step(0x45, 0, 1, *bits),
                    refusal,
                    loaded(0),
                ]);
            }
            When::Is(value) => {
                program.extend([
                    step(0x15, 0, 4, number),
                    loaded(16),
                    step(0x15, 0, 1, *value),
                    refusal,
                    loaded(0),
                ]);
            }
        }
    }
    program.push(step(0x06, 0, 0, 0x7fff_0000));
    let header = [program.len(), address(program.as_slice())];
    call(libc::SYS_prctl, &[flag(libc::PR_SET_NO_NEW_PRIVS), 1]).and_then(|_| {
        let filter = usize::try_from(libc::SECCOMP_MODE_FILTER).unwrap_or_default();
        call(libc::SYS_prctl, &[flag(libc::PR_SET_SECCOMP), filter, address(&header)])
    })?;
    Ok(())
}

/// Loads a word of what describes the call: 0 is its number, 16 its first argument.
fn loaded(offset: u32) -> [u8; 8] {
    step(0x20, 0, 0, offset)
}

/// One instruction: code, jump if true, jump if false, value.
fn step(code: u16, if_true: u8, if_false: u8, value: u32) -> [u8; 8] {
    let ([low, high], [a, b, c, d]) = (code.to_ne_bytes(), value.to_ne_bytes());
    [low, high, if_true, if_false, a, b, c, d]
}
