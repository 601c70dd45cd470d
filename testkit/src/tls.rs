//! TLS for tests: a certificate of one's own, and a client that trusts it and nothing else.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

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
