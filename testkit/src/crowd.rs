//! Many connections at once, and what they cost the daemon.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;

use rustix::process::{Resource, getrlimit, setrlimit};

use crate::daemon::Daemon;
use crate::wait::LONG;

/// Files this process needs beside a crowd: other tests run in it.
const SPARE: u64 = 1000;

/// Connections to one port, oldest first.
pub struct Crowd(Vec<TcpStream>);

impl Crowd {
    /// Opens that many connections to a port of loopback; each says that much. As many as the machine lets one process
    /// have open, if that is fewer.
    ///
    /// # Panics
    /// If a connection is refused.
    pub fn gather(port: u16, count: usize, says: &str) -> Self {
        let room = usize::try_from(raise_file_limit().saturating_sub(SPARE)).unwrap_or(usize::MAX);
        if room < count {
            #[expect(clippy::print_stderr, reason = "a smaller test is one loud line")]
            {
                eprintln!("SMALLER: a crowd of {room} instead of {count}; raise the limit of open files");
            }
        }
        let connect = |_| {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("the daemon listens");
            stream.write_all(says.as_bytes()).expect("the daemon takes it");
            stream
        };
        Self((0..count.min(room)).map(connect).collect())
    }

    /// How many there are, closed ones included.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// How many of them the daemon has closed.
    ///
    /// # Panics
    /// If one cannot be looked at.
    pub fn closed(&mut self) -> usize {
        self.0.iter_mut().filter_map(|stream| is_closed(stream).then_some(())).count()
    }

    /// Whether the daemon answers and closes each of them.
    pub fn answered_and_closed(&mut self) -> bool {
        self.0.iter_mut().all(|stream| {
            let mut answer = Vec::new();
            stream.set_read_timeout(Some(LONG)).is_ok()
                && stream.read_to_end(&mut answer).is_ok()
                && answer.starts_with(b"HTTP/1.1 ")
        })
    }

    /// Says that much on each that takes it.
    pub fn say(&mut self, text: &str) {
        for stream in &mut self.0 {
            // One that was closed takes nothing.
            let _ = stream.write_all(text.as_bytes());
        }
    }

    /// The newest of them.
    pub fn newest(&mut self) -> Option<&mut TcpStream> {
        self.0.last_mut()
    }
}

fn is_closed(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).expect("a socket");
    let closed = match stream.read(&mut [0; 1]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    };
    stream.set_nonblocking(false).expect("a socket");
    closed
}

/// Lets this process open as many files as it may; how many that is.
fn raise_file_limit() -> u64 {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

impl Daemon<'_> {
    /// How much memory it has in use, in KiB.
    ///
    /// # Panics
    /// If the system does not say.
    pub fn resident(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("the daemon runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line for memory");
        line.trim().trim_end_matches(" kB").parse().expect("a number")
    }

    /// How many files and connections it has open.
    ///
    /// # Panics
    /// If the system does not say.
    pub fn open_files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.pid())).expect("the daemon runs").count()
    }
}
