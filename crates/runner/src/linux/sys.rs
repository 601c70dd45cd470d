//! The system calls that no safe crate offers. The only file with `unsafe` in it.
#![expect(unsafe_code, reason = "the only home of unsafe code; each block says why it is sound")]

use rustix::process::Pid;

/// `KCMP_VM` of `linux/kcmp.h`: compare address spaces.
const KCMP_VM: libc::c_long = 1;

/// Whether two processes have one address space between them, as after `vfork`. Nothing where the kernel does not say.
pub(super) fn share_memory(one: Pid, other: Pid) -> Option<bool> {
    let (one, other) = (libc::c_long::from(one.as_raw_pid()), libc::c_long::from(other.as_raw_pid()));
    let zero: libc::c_long = 0;
    // SAFETY: kcmp takes five integers, reads no memory of ours and writes none.
    let order = unsafe { libc::syscall(libc::SYS_kcmp, one, other, KCMP_VM, zero, zero) };
    match order {
        0 => Some(true),
        1.. => Some(false),
        _ => None,
    }
}
