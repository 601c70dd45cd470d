//! Who lives beside a sandbox: servers that count who comes, and a process with something to hide.

use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::stage::Stage;

/// Servers of every kind, and a process.
pub(crate) struct Neighbours {
    /// TCP on loopback.
    pub(crate) tcp: String,
    /// TCP on loopback of the newer protocol.
    pub(crate) tcp6: Option<String>,
    /// TCP on loopback, on port 80 where we may.
    pub(crate) web: String,
    /// TCP on the address that others see.
    pub(crate) public: Option<String>,
    /// UDP on loopback, with an echo.
    pub(crate) udp: String,
    /// An abstract Unix socket for streams, and one for datagrams.
    pub(crate) streams: String,
    pub(crate) datagrams: String,
    /// A process of the same user.
    pub(crate) process: Process,
    seen: Arc<AtomicUsize>,
}

/// A process that waits, ended with the test.
pub(crate) struct Process(Child);

impl Neighbours {
    pub(crate) fn of(stage: &Stage) -> Self {
        let seen = Arc::new(AtomicUsize::new(0));
        let tcp = |address: &str| {
            let listener = TcpListener::bind(address).ok()?;
            let address = listener.local_addr().unwrap().to_string();
            let seen = Arc::clone(&seen);
            std::thread::spawn(move || {
                for _ in listener.incoming() {
                    seen.fetch_add(1, Ordering::SeqCst);
                }
            });
            Some(address)
        };
        let name = |kind: &str| format!("covenant-{kind}-{}", stage.canary);
        let streams =
            UnixListener::bind_addr(&SocketAddr::from_abstract_name(name("streams")).unwrap()).unwrap();
        let datagrams =
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name("datagrams")).unwrap()).unwrap();
        for listener in [
            streams,
            UnixListener::bind(stage.path("outside/sock")).unwrap(),
            UnixListener::bind(stage.path("named/sock")).unwrap(),
        ] {
            let seen = Arc::clone(&seen);
            std::thread::spawn(move || {
                for _ in listener.incoming() {
                    seen.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        for socket in ["outside/sock", "named/sock"] {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(stage.path(socket), std::fs::Permissions::from_mode(0o777)).unwrap();
        }
        count(&seen, move || datagrams.recv(&mut [0; 16]).is_ok());
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let udp = socket.local_addr().unwrap().to_string();
        count(&seen, move || {
            socket.recv_from(&mut [0; 16]).is_ok_and(|(_, from)| socket.send_to(b"echo", from).is_ok())
        });
        Self {
            tcp: tcp("127.0.0.1:0").unwrap(),
            tcp6: tcp("[::1]:0"),
            // Another test may have port 80 of the usual address.
            web: tcp(&format!("127.{}:80", loopback())).or_else(|| tcp("127.0.0.1:0")).unwrap(),
            public: public().and_then(|address| tcp(&format!("{address}:0"))),
            udp,
            streams: name("streams"),
            datagrams: name("datagrams"),
            process: Process::start(stage),
            seen,
        }
    }

    /// How many have come so far.
    pub(crate) fn visits(&self) -> usize {
        self.seen.load(Ordering::SeqCst)
    }
}

/// Counts every time it happens, for as long as it does.
fn count(seen: &Arc<AtomicUsize>, mut happens: impl FnMut() -> bool + Send + 'static) {
    let seen = Arc::clone(seen);
    std::thread::spawn(move || {
        while happens() {
            seen.fetch_add(1, Ordering::SeqCst);
        }
    });
}

/// An address of loopback that only this process uses.
fn loopback() -> String {
    let number = std::process::id();
    format!("{}.{}.{}", 1 + (number >> 16) % 250, (number >> 8) % 256, 1 + number % 250)
}

/// The address by which others reach this machine. Nothing is sent to find out.
fn public() -> Option<String> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    let address = socket.local_addr().ok()?.ip();
    (!address.is_loopback() && !address.is_unspecified()).then(|| address.to_string())
}

impl Process {
    fn start(stage: &Stage) -> Self {
        use std::os::unix::process::CommandExt as _;
        let mut command = std::process::Command::new(stage.path("package/escape"));
        command.arg("wait-for-input").env("COVENANT_CANARY", &stage.canary);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        if let Some(uid) = stage.who.uid() {
            command.uid(uid).gid(uid);
        }
        Self(command.spawn().unwrap())
    }

    pub(crate) fn pid(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}
