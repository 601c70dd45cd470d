//! The certificate of our ports: read from its two files, and refused with the file and the reason.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use zeroize::Zeroizing;

use crate::config::http::Http;
use crate::home::Home;
use crate::trust::{self, Distrust, Kind};

/// The only protocol we speak over TLS.
const PROTOCOL: &[u8] = b"http/1.1";

/// A certificate with its key, ready to be shown.
pub(crate) struct Certificate {
    chain: Vec<CertificateDer<'static>>,
    config: Arc<ServerConfig>,
}

/// Why a certificate is not used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file is not fit to be used.
    #[error("`http.{key}`: {error}")]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Distrust { key: &'static str, error: Distrust },
    /// A file is not there.
    #[error("`http.{key}` names {}, which is not there; put the file there, or correct the path in config.toml", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Missing { key: &'static str, path: PathBuf },
    /// A file is no PEM.
    #[error("`http.{key}` names {}, which is no sound PEM file: {reason}; write it anew", path.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Malformed { key: &'static str, path: PathBuf, reason: String },
    /// There is no certificate in the file.
    #[error("{} holds no certificate; `http.tls_cert` needs a PEM file with one, and behind it those that lead to its root", .0.display())]
    NoCertificate(PathBuf),
    /// There is no key in the file.
    #[error("{} holds no private key that can be read; `http.tls_key` needs a PEM file with one in PKCS#8, SEC1 or RSA form, not encrypted", .0.display())]
    NoKey(PathBuf),
    /// The key is that of another certificate.
    #[error("the key in {} is not that of the certificate in {}; name files that belong together in `http.tls_cert` and `http.tls_key`", key.display(), certificate.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Mismatch { certificate: PathBuf, key: PathBuf },
    /// They are of a kind we cannot use.
    #[error("the certificate in {} and the key in {} cannot be used: {reason}; make new ones, such as an ECDSA key on P-256", certificate.display(), key.display())]
    #[expect(missing_docs, reason = "the sentence says what each part is")]
    Unusable { certificate: PathBuf, key: PathBuf, reason: String },
}

impl Certificate {
    /// The certificate that the configuration names; `None` if it names none. Paths are relative to the home.
    pub(crate) fn load(home: &Home, http: &Http) -> Result<Option<Self>, CertificateError> {
        if !http.tls() {
            return Ok(None);
        }
        let (at, key_at) = (home.root().join(&http.tls_cert), home.root().join(&http.tls_key));
        let chain = chain(&at, &file("tls_cert", &at, Kind::Program)?)?;
        let key = key(&key_at, &file("tls_key", &key_at, Kind::Private)?)?;
        super::provide();
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain.clone(), key);
        let mut config = config.map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => CertificateError::Mismatch { certificate: at, key: key_at },
            error => CertificateError::Unusable { certificate: at, key: key_at, reason: error.to_string() },
        })?;
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        Ok(Some(Self { chain, config: Arc::new(config) }))
    }

    /// The certificate itself, as it is sent.
    pub(super) fn leaf(&self) -> &[u8] {
        self.chain.first().map(AsRef::as_ref).unwrap_or_default()
    }

    pub(super) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }
}

/// Two are the same if they show the same. Another key cannot belong to the same certificate.
impl PartialEq for Certificate {
    fn eq(&self, other: &Self) -> bool {
        self.chain == other.chain
    }
}

fn file(key: &'static str, path: &Path, kind: Kind) -> Result<Zeroizing<Vec<u8>>, CertificateError> {
    match trust::read(path, kind) {
        Ok(Some(content)) => Ok(Zeroizing::new(content.bytes)),
        Ok(None) => Err(CertificateError::Missing { key, path: path.to_owned() }),
        Err(error) => Err(CertificateError::Distrust { key, error }),
    }
}

fn chain(path: &Path, bytes: &[u8]) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let chain: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(bytes).collect();
    match chain {
        Ok(chain) if chain.is_empty() => Err(CertificateError::NoCertificate(path.to_owned())),
        Ok(chain) => Ok(chain),
        Err(error) => Err(malformed("tls_cert", path, &error)),
    }
}

fn key(path: &Path, bytes: &[u8]) -> Result<PrivateKeyDer<'static>, CertificateError> {
    PrivateKeyDer::from_pem_slice(bytes).map_err(|error| match error {
        pem::Error::NoItemsFound => CertificateError::NoKey(path.to_owned()),
        error => malformed("tls_key", path, &error),
    })
}

/// The reason without what the file holds: the parser quotes lines of it.
fn malformed(key: &'static str, path: &Path, error: &pem::Error) -> CertificateError {
    let reason = match error {
        pem::Error::MissingSectionEnd { .. } => "a section has no end",
        pem::Error::IllegalSectionStart { .. } => "a section begins in a strange way",
        pem::Error::Base64Decode(_) => "a section is not base64",
        _ => "it cannot be read",
    };
    CertificateError::Malformed { key, path: path.to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests;
