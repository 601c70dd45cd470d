//! What the filter answers: by a reading of its instructions, by the kernel, and to programs of other people.

use std::io;

use super::{Calls, program};
use crate::linux::sys;
use crate::order::Network;

mod kernel;
mod programs;
mod reading;
mod sockets;

/// Every filter there is.
fn filters() -> impl Iterator<Item = Calls> {
    let networks = [Network::Off, Network::OutboundHttpsOnly, Network::Full];
    networks
        .into_iter()
        .flat_map(|network| [false, true].map(|unix_sockets| Calls { network, unix_sockets, listen: true }))
}

/// The one most programs get.
const USUAL: Calls = Calls { network: Network::OutboundHttpsOnly, unix_sockets: false, listen: true };

/// Puts the filter over this process.
fn install(calls: Calls) -> io::Result<()> {
    sys::filter_calls(&program(calls).map_err(io::Error::other)?)
}
