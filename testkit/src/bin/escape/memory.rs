//! Ways to more memory than one was given: in the open, spread over children, and where nobody counts it.

use std::io;
use std::time::Duration;

use crate::answer::Attack;
use crate::kernel::{address, call, flag, fork};
use crate::processes::counted;

const MEGABYTE: usize = 1024 * 1024;
/// How much is taken at a time.
const PIECE: usize = 4;
/// Long enough to be noticed by whoever watches.
pub(crate) const HELD: Duration = Duration::from_secs(1);

pub(crate) const ATTACKS: &[(&str, Attack)] = &[
    ("memory", |most| {
        taken(most, &mut |held: &mut Vec<Vec<u8>>| {
            held.push(vec![1; PIECE * MEGABYTE]);
            Ok(())
        })
    }),
    ("memory-children", |most| {
        let rest: usize = most.parse().map_err(|_| io::Error::other("how much?"))?;
        for _ in 0..rest.div_ceil(32) {
            if fork()? == 0 {
                let _held = vec![1_u8; 32 * MEGABYTE];
                std::thread::sleep(HELD);
                std::process::exit(0);
            }
        }
        std::thread::sleep(HELD);
        Ok(format!("{most} MB"))
    }),
    ("memory-shared", |most| taken(most, &mut |_| shared().map(drop))),
    ("memory-hidden", |most| {
        taken(most, &mut |_| {
            let piece = shared()?;
            // The pages stay, but are nobody's any more.
            call(libc::SYS_madvise, &[piece, PIECE * MEGABYTE, flag(libc::MADV_DONTNEED)]).map(drop)
        })
    }),
    ("memory-file", |most| {
        taken(most, &mut |_| {
            let file = call(libc::SYS_memfd_create, &[address(c"escape"), 0])?;
            let piece = vec![1_u8; PIECE * MEGABYTE];
            call(libc::SYS_write, &[file, address(piece.as_slice()), piece.len()]).map(drop)
        })
    }),
    ("memory-sysv", |most| {
        taken(most, &mut |_| {
            let piece = call(libc::SYS_shmget, &[0, PIECE * MEGABYTE, 0o1600])?;
            let place = call(libc::SYS_shmat, &[piece, 0, 0])?;
            zeroed(place)?;
            // Goes with the last process that has it: us.
            call(libc::SYS_shmctl, &[piece, 0]).map(drop)
        })
    }),
    ("memory-sockets", |most| {
        taken(most, &mut |_| {
            let mut sent = 0;
            while sent < PIECE * MEGABYTE {
                sent += stuffed()?;
            }
            Ok(())
        })
    }),
];

/// Takes pieces until there are that many megabytes, and keeps them for a while.
fn taken(most: &str, take: &mut dyn FnMut(&mut Vec<Vec<u8>>) -> io::Result<()>) -> io::Result<String> {
    let most: usize = most.parse().map_err(|_| io::Error::other("how much?"))?;
    let mut held = Vec::new();
    for piece in 0..most.div_ceil(PIECE) {
        take(&mut held).map_err(|error| counted(&error, piece * PIECE))?;
    }
    std::thread::sleep(HELD);
    Ok(format!("{most} MB"))
}

/// A piece of memory that children would share, every page of it in use.
fn shared() -> io::Result<usize> {
    let protection = flag(libc::PROT_READ | libc::PROT_WRITE);
    let kind = flag(libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    let place = call(libc::SYS_mmap, &[0, PIECE * MEGABYTE, protection, kind, usize::MAX, 0])?;
    zeroed(place)?;
    Ok(place)
}

/// Has the kernel write every byte of a piece.
fn zeroed(place: usize) -> io::Result<()> {
    let zeroes = std::fs::File::open("/dev/zero")?;
    let descriptor = flag(std::os::fd::AsRawFd::as_raw_fd(&zeroes));
    call(libc::SYS_read, &[descriptor, place, PIECE * MEGABYTE]).map(drop)
}

/// A pair of sockets, as full as they get; how much that is.
fn stuffed() -> io::Result<usize> {
    use std::io::Write as _;
    use std::os::fd::IntoRawFd as _;
    let (mut one, other) = std::os::unix::net::UnixStream::pair()?;
    one.set_nonblocking(true)?;
    let mut sent = 0;
    while let Ok(count) = one.write(&[1; 8192]) {
        sent += count;
    }
    // Kept open until the end.
    let _ = (one.into_raw_fd(), other.into_raw_fd());
    Ok(sent)
}
