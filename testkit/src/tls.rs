//! TLS for tests: a certificate of one's own, and a client that trusts it and nothing else.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConfig, ServerConnection, StreamOwned};

use crate::home::Home;
use crate::wait::LONG;

/// A certificate for localhost that signs itself.
pub struct Certificate {
    /// As it stands in a file.
    pub pem: String,
    /// Its private key, as it stands in a file.
    pub key: String,
    der: CertificateDer<'static>,
}

impl Certificate {
    /// A new one.
    ///
    /// # Panics
    /// If none can be made.
    pub fn new() -> Self {
        let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        let CertifiedKey { cert, key_pair } = generate_simple_self_signed(names).expect("a certificate");
        Self { pem: cert.pem(), key: key_pair.serialize_pem(), der: cert.der().clone() }
    }

    /// Writes it to `cert.pem` and `key.pem` of that home.
    pub fn write(&self, home: &Home) {
        home.write("cert.pem", &self.pem);
        home.write("key.pem", &self.key);
    }

    /// Sends bytes over TLS to a port of that address and gives all that comes back, or why there is no TLS.
    ///
    /// # Panics
    /// If nobody listens.
    pub fn exchange(&self, address: (&str, u16), request: &str) -> Result<String, String> {
        let stream = TcpStream::connect(address).expect("the daemon listens");
        stream.set_read_timeout(Some(LONG)).expect("a timeout");
        let name = ServerName::try_from(address.0.to_owned()).expect("a name");
        let connection = ClientConnection::new(Arc::new(self.client()), name).expect("a client");
        let mut stream = StreamOwned::new(connection, stream);
        stream.write_all(request.as_bytes()).map_err(|error| error.to_string())?;
        let mut answer = Vec::new();
        // An end without a goodbye is as good as an end.
        let _ = stream.read_to_end(&mut answer);
        assert_eq!(stream.conn.alpn_protocol(), Some(&b"http/1.1"[..]), "the protocol is agreed on");
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// A server that shows it and answers every request with that body, or why there is none. It serves until it is dropped.
    ///
    /// # Panics
    /// If the certificate is not sound.
    pub fn serve(&self, address: (&str, u16), body: &'static str) -> std::io::Result<Server> {
        let listener = TcpListener::bind(address)?;
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).expect("a sound key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = builder.expect("versions").with_no_client_auth();
        let config = Arc::new(config.with_single_cert(vec![self.der.clone()], key).expect("a certificate"));
        let address = listener.local_addr()?;
        let over = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let over = Arc::clone(&over);
            move || {
                for stream in listener.incoming() {
                    if over.load(Ordering::Relaxed) {
                        return;
                    }
                    let connection = ServerConnection::new(Arc::clone(&config)).expect("a server");
                    // Whoever does not speak TLS, or goes, is none of our business.
                    let _ = stream.map(|stream| answer(StreamOwned::new(connection, stream), body));
                }
            }
        });
        Ok(Server { address, over, thread: Some(thread) })
    }

    fn client(&self) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.der.clone()).expect("a sound certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let mut client = builder.expect("versions").with_root_certificates(roots).with_no_client_auth();
        client.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        client
    }
}

impl Default for Certificate {
    fn default() -> Self {
        Self::new()
    }
}

/// A server for tests; see [`Certificate::serve`].
pub struct Server {
    address: SocketAddr,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // Wakes it.
        let _ = TcpStream::connect(self.address);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn answer(mut stream: StreamOwned<ServerConnection, TcpStream>, body: &str) -> std::io::Result<()> {
    stream.sock.set_read_timeout(Some(LONG))?;
    let mut head = Vec::new();
    let mut chunk = [0; 1024];
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let count = stream.read(&mut chunk)?;
        if count == 0 {
            return Ok(());
        }
        head.extend_from_slice(chunk.get(..count).unwrap_or_default());
    }
    let length = body.len();
    write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}")?;
    stream.conn.send_close_notify();
    stream.flush()
}
