//! How a connection to a port with a certificate begins: TLS within a few seconds, or a word to who speaks HTTP instead.

use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// How long it may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The first byte of everyone who speaks TLS.
const HANDSHAKE: u8 = 22;

/// What everyone else is told.
const PLAIN: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\ncontent-length: 39\r\nconnection: close\r\n\r\n\
    this port speaks TLS: use https:// here";

/// The stream inside TLS, of which that byte has come and was not read; `None` if it came to nothing.
pub(crate) async fn handshake(
    stream: TcpStream,
    first: [u8; 1],
    config: Arc<ServerConfig>,
) -> Option<TlsStream<TcpStream>> {
    let shaken = async {
        if first != [HANDSHAKE] {
            refuse(stream).await;
            return None;
        }
        let accepted = TlsAcceptor::from(config).accept(stream).await;
        accepted
            .inspect_err(|error| tracing::debug!(target: "covenant::http", "no TLS was agreed on: {error}"))
            .ok()
    };
    timeout(PATIENCE, shaken).await.ok().flatten()
}

/// Says that this port speaks TLS. What was sent is read first, as far as it is there: closing with unread bytes would
/// take the answer back.
async fn refuse(mut stream: TcpStream) {
    let _ = stream.try_read(&mut [0; 8192]);
    if stream.write_all(PLAIN).await.is_ok() {
        let _ = stream.shutdown().await;
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;
    use tokio::net::TcpListener;
    use tokio::time::Instant;

    use super::*;

    /// Both ends of a connection, and something to show on one of them.
    async fn meeting() -> (TcpStream, TcpStream, Arc<ServerConfig>) {
        super::super::provide();
        let rcgen::CertifiedKey { cert, key_pair } =
            rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = rustls::pki_types::PrivatePkcs8KeyDer::from(key_pair.serialize_der()).into();
        let config = ServerConfig::builder().with_no_client_auth();
        let config = config.with_single_cert(vec![cert.der().clone()], key).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        (client, server, Arc::new(config))
    }

    #[tokio::test(start_paused = true)]
    async fn who_says_half_a_greeting_is_given_up_after_ten_seconds() {
        let (mut client, server, config) = meeting().await;
        client.write_all(b"\x16\x03\x01\x02\x00\x01\x00").await.unwrap();
        let begun = Instant::now();
        assert!(handshake(server, [HANDSHAKE], config).await.is_none());
        assert_eq!(begun.elapsed().as_secs(), 10);
    }

    #[tokio::test]
    async fn who_speaks_plain_http_is_told_and_closed() {
        let (mut client, server, config) = meeting().await;
        client.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
        server.readable().await.unwrap();
        assert!(handshake(server, *b"G", config).await.is_none());
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 400") && head.contains("connection: close"), "{answer}");
        assert!(head.contains(&format!("content-length: {}", body.len())), "{answer}");
        assert!(body.contains("speaks TLS"), "{answer}");
    }

    #[tokio::test]
    async fn who_goes_away_is_not_waited_for() {
        let (client, server, config) = meeting().await;
        drop(client);
        assert!(handshake(server, [HANDSHAKE], config).await.is_none());
    }
}
