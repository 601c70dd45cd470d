//! The numbers of system calls: those `libc` names, and those it does not name yet, or not for every C library.
#![expect(non_upper_case_globals, reason = "spelled as `libc` spells the others")]

use libc::c_long;
pub(super) use libc::*;

#[cfg(target_arch = "x86_64")]
pub(super) const SYS_kexec_file_load: c_long = 320;
#[cfg(not(target_arch = "x86_64"))]
pub(super) const SYS_kexec_file_load: c_long = 294;

// From 424 on, a call has the same number everywhere.
pub(super) const SYS_statmount: c_long = 457;
pub(super) const SYS_listmount: c_long = 458;
pub(super) const SYS_lsm_set_self_attr: c_long = 460;
pub(super) const SYS_open_tree_attr: c_long = 467;
pub(super) const SYS_listns: c_long = 470;
