//! A proxy, the servers it is asked for, and the programs that ask.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use covenant_model::secret::Secret;
use covenant_model::token;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::client::TlsStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use super::super::lookup::{self, Resolver};
use super::super::{Allows, Pass, serve};

/// The token of the run in these tests.
pub(super) fn token() -> Secret {
    token::from_random([7; 32])
}

/// A running proxy.
pub(super) struct Proxy {
    address: SocketAddr,
    pub(super) task: JoinHandle<()>,
}

impl Proxy {
    /// One that asks this machine's resolver, and lets those names through.
    pub(super) async fn new(allowed: &'static [&'static str]) -> Self {
        Self::with(allowed, lookup::system()).await
    }

    /// One for which names lead where the table says.
    pub(super) async fn knowing(allowed: &'static [&'static str], names: &[(&str, &[IpAddr])]) -> Self {
        let names: HashMap<String, Vec<IpAddr>> =
            names.iter().map(|(name, found)| ((*name).to_owned(), found.to_vec())).collect();
        let unknown = || io::Error::other("no such name");
        Self::with(allowed, Arc::new(move |name| names.get(name).cloned().ok_or_else(unknown))).await
    }

    pub(super) async fn with(allowed: &'static [&'static str], resolver: Resolver) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let allows: Allows = Arc::new(|name| allowed.contains(&name));
        let task = tokio::spawn(serve(listener, Pass::with("tested", &token(), allows, resolver)));
        Self { address, task }
    }

    pub(super) async fn connect(&self) -> TcpStream {
        self.try_connect().await.unwrap()
    }

    pub(super) async fn try_connect(&self) -> io::Result<TcpStream> {
        TcpStream::connect(self.address).await
    }

    /// Asks for that, with the token, and gives the connection once it is let through.
    pub(super) async fn tunnel(&self, target: &str) -> TcpStream {
        let mut stream = self.connect().await;
        stream.write_all(request(target, &token()).as_bytes()).await.unwrap();
        let answer = head(&mut stream).await;
        assert_eq!(answer, "HTTP/1.1 200 Connection established\r\n\r\n");
        stream
    }

    /// Everything that is answered to those bytes.
    pub(super) async fn answer(&self, bytes: impl AsRef<[u8]>) -> String {
        let mut stream = self.connect().await;
        stream.write_all(bytes.as_ref()).await.unwrap();
        read(&mut stream).await
    }

    /// What is answered to a program with the token that asks for that.
    pub(super) async fn ask(&self, target: &str) -> String {
        self.answer(request(target, &token())).await
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// CONNECT as clients send it.
pub(super) fn request(target: &str, token: &Secret) -> String {
    let basic = STANDARD.encode(format!("run:{}", token.reveal()));
    format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\nProxy-Authorization: Basic {basic}\r\n\r\n")
}

/// All that comes until the end, however it ends.
pub(super) async fn read(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes).await;
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The head of an answer and not a byte more.
async fn head(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        bytes.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(bytes).unwrap()
}

/// An address of this machine that no other test uses.
pub(super) fn own_address() -> Ipv4Addr {
    static GIVEN: AtomicU8 = AtomicU8::new(1);
    let [high, low, ..] = std::process::id().to_le_bytes();
    Ipv4Addr::new(127, high | 0x80, low, GIVEN.fetch_add(1, Ordering::Relaxed))
}

/// Listens on port 443 there; `None` without the right to (where `CI` is set, the test stops instead).
pub(super) async fn listen(ip: Ipv4Addr) -> Option<TcpListener> {
    loop {
        match TcpListener::bind((ip, 443)).await {
            Ok(listener) => return Some(listener),
            // Another test program has it: the next moment is ours.
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => tokio::task::yield_now().await,
            Err(error) => {
                assert!(std::env::var_os("CI").is_none(), "CI must be able to listen on port 443: {error}");
                #[expect(clippy::print_stderr, reason = "a skipped part is one loud line")]
                {
                    eprintln!("SKIPPED: the test of a way out needs to listen on port 443: {error}");
                }
                return None;
            }
        }
    }
}

/// A server that answers over TLS what it was told, once it was told all.
pub(super) struct Echo {
    certificate: CertificateDer<'static>,
    task: JoinHandle<()>,
}

impl Echo {
    pub(super) fn new(listener: TcpListener, name: &str) -> Self {
        crate::tls::provide();
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        let key = PrivatePkcs8KeyDer::from(made.key_pair.serialize_der()).into();
        let config = ServerConfig::builder().with_no_client_auth();
        let config = config.with_single_cert(vec![made.cert.der().clone()], key).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(echo(acceptor.clone(), stream));
            }
        });
        Self { certificate: made.cert.der().clone(), task }
    }

    /// Speaks TLS over that connection, and trusts this server alone.
    pub(super) async fn shake(&self, stream: TcpStream, name: &str) -> TlsStream<TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.clone()).unwrap();
        let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let name = ServerName::try_from(name.to_owned()).unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
    }

    /// Asks it by way of the proxy, and gives what it answers.
    pub(super) async fn by(&self, proxy: &Proxy, name: &str, text: &str) -> String {
        let mut tls = self.shake(proxy.tunnel(&format!("{name}:443")).await, name).await;
        tls.write_all(text.as_bytes()).await.unwrap();
        tls.shutdown().await.unwrap();
        let mut answer = String::new();
        tls.read_to_string(&mut answer).await.unwrap();
        answer
    }
}

impl Drop for Echo {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn echo(acceptor: TlsAcceptor, stream: TcpStream) -> io::Result<()> {
    let mut tls = acceptor.accept(stream).await?;
    let mut told = Vec::new();
    tls.read_to_end(&mut told).await?;
    tls.write_all(&told).await?;
    tls.shutdown().await
}
