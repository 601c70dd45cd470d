//! stub
pub(super) struct Calls { pub(super) network: crate::order::Network, pub(super) unix_sockets: bool }
pub(super) fn program(_: &Calls) -> std::io::Result<Vec<libc::sock_filter>> { Ok(vec![libc::sock_filter { code: 6, jt: 0, jf: 0, k: 0x7fff_0000 }]) }
