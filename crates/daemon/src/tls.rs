//! TLS: which cryptography everything in this process uses, and what its own ports show of themselves.

mod certificate;
mod handshake;
mod own;
mod shown;

use std::sync::{Arc, Once};

use parking_lot::RwLock;
use rustls::ServerConfig;

pub(crate) use certificate::Certificate;
pub use certificate::CertificateError;
pub(crate) use handshake::handshake;
pub(crate) use own::to_ourselves;
pub use shown::{Shown, inspect_certificate};

/// Makes ring the provider of this process. Whoever builds something that speaks TLS calls this first.
pub(crate) fn provide() {
    static PROVIDED: Once = Once::new();
    PROVIDED.call_once(|| {
        // It fails only where a program that holds us as a library chose another one before: theirs is as good.
        drop(rustls::crypto::ring::default_provider().install_default());
    });
}

/// The certificate in effect. Connections that are open keep the one they began with.
pub(crate) struct Tls(RwLock<Certificate>);

impl Tls {
    pub(crate) fn new(certificate: Certificate) -> Self {
        Self(RwLock::new(certificate))
    }

    /// What a new connection is greeted with.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        self.0.read().config()
    }

    /// Whether that is another certificate than the one in effect.
    pub(crate) fn differs(&self, other: &Certificate) -> bool {
        *self.0.read() != *other
    }

    /// Takes another certificate into effect.
    pub(crate) fn renew(&self, certificate: Certificate) {
        *self.0.write() = certificate;
    }
}
