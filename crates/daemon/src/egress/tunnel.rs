//! The bytes of a connection that was let out: both ways, each with an end of its own, until nothing moves any more.

use std::io;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until};

/// How long nothing may move before both ends are closed.
const IDLE: Duration = Duration::from_mins(10);

/// How many bytes are carried at a time.
const CHUNK: usize = 16 * 1024;

/// Carries bytes both ways, `start` first, until both ends have closed, one has failed, or nothing moves.
pub(super) async fn run(mut inside: TcpStream, mut outside: TcpStream, start: &[u8]) {
    let moved = Mutex::new(Instant::now());
    let (from_inside, to_inside) = inside.split();
    let (from_outside, to_outside) = outside.split();
    let both = async {
        tokio::try_join!(
            carry(start, from_inside, to_outside, &moved),
            carry(&[], from_outside, to_inside, &moved)
        )
    };
    tokio::select! {
        _ = both => {}
        () = idle(&moved) => {}
    }
}

async fn carry(
    start: &[u8],
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    moved: &Mutex<Instant>,
) -> io::Result<()> {
    to.write_all(start).await?;
    let mut chunk = vec![0; CHUNK];
    loop {
        let count = from.read(&mut chunk).await?;
        if count == 0 {
            return to.shutdown().await;
        }
        to.write_all(chunk.get(..count).unwrap_or_default()).await?;
        *moved.lock() = Instant::now();
    }
}

/// Ends when nothing has moved for long enough.
async fn idle(moved: &Mutex<Instant>) {
    loop {
        let end = *moved.lock() + IDLE;
        if end <= Instant::now() {
            return;
        }
        sleep_until(end).await;
    }
}
