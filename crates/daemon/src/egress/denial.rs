//! Why a connection is not let out, in the sentence its developer reads.
//!
//! The sentence stands in the body and in the status line: Python and Go show the one, curl the other. It says what kind
//! of address a name leads to and never which: what is in the operator's network is not the program's business.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::host::Host;

/// How long a program may take to send a request, and then to begin TLS.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// How long, and how many bytes, a program that was refused is listened to, so that it gets to read the answer.
const FAREWELL: Duration = Duration::from_secs(2);
const FAREWELL_BYTES: u64 = 64 * 1024;

/// Why a connection is not let out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Denial {
    #[error("the program closed the connection")]
    Gone,
    #[error("the request took more than 10 seconds to arrive; send it at once")]
    Late,
    #[error("the request has more than 8 KiB or 64 headers; send CONNECT with few of them")]
    TooLarge,
    #[error("this is no HTTP/1.1 request; this proxy takes CONNECT HOST:443")]
    Malformed,
    #[error("plain HTTP is not let out of this sandbox; use https://, for which clients send CONNECT")]
    Method,
    #[error(
        "this proxy wants the token of the run; use HTTPS_PROXY as the environment has it, with its user and password"
    )]
    Token,
    #[error("CONNECT wants a host name or an address in its usual form, and a port, such as example.org:443")]
    Target,
    #[error(
        "port {port} of {host} is not let out of this sandbox, only TLS on port 443; use that, or ask for the network \"full\""
    )]
    Port { host: Host, port: u16 },
    #[error(
        "{host} leads to {what}, and only public addresses are let out of this sandbox; to let it through, name it under \
         allow_hosts in [web] of config.toml"
    )]
    Private { host: Host, what: &'static str },
    #[error(
        "{host} is {what}, and only public addresses are let out of this sandbox; names can be let through by allow_hosts \
         in [web] of config.toml, addresses cannot"
    )]
    PrivateAddress { host: Host, what: &'static str },
    #[error("{host} could not be looked up: {reason}; check how it is spelt, and this machine's name server")]
    Unknown { host: Host, reason: String },
    #[error("{host} could not be looked up within 5 seconds; try again, or check this machine's name server")]
    LookedUpLate { host: Host },
    #[error("{host} could not be reached on port 443: {reason}; check that it serves there")]
    Unreachable { host: Host, reason: String },
    #[error("this run has 64 connections open already; close some, and try again")]
    Full,
    #[error(
        "what the program sent first was no TLS hello, or did not come within 10 seconds; only TLS is let out of this sandbox"
    )]
    NotTls { host: Host },
}

impl Denial {
    /// Where the program wanted to go, as far as it is known.
    pub(super) fn host(&self) -> Option<&Host> {
        match self {
            Self::Port { host, .. }
            | Self::Private { host, .. }
            | Self::PrivateAddress { host, .. }
            | Self::Unknown { host, .. }
            | Self::LookedUpLate { host }
            | Self::Unreachable { host, .. }
            | Self::NotTls { host } => Some(host),
            Self::Gone
            | Self::Late
            | Self::TooLarge
            | Self::Malformed
            | Self::Method
            | Self::Token
            | Self::Target
            | Self::Full => None,
        }
    }

    fn status(&self) -> u16 {
        match self {
            Self::Gone | Self::Malformed | Self::Target => 400,
            Self::Port { .. } | Self::Private { .. } | Self::PrivateAddress { .. } | Self::NotTls { .. } => {
                403
            }
            Self::Method => 405,
            Self::Token => 407,
            Self::Late => 408,
            Self::TooLarge => 431,
            Self::Unknown { .. } | Self::Unreachable { .. } => 502,
            Self::Full => 503,
            Self::LookedUpLate { .. } => 504,
        }
    }

    fn header(&self) -> &'static str {
        match self {
            Self::Token => "proxy-authenticate: Basic realm=\"covenant\"\r\n",
            Self::Method => "allow: CONNECT\r\n",
            _ => "",
        }
    }

    fn answer(&self) -> String {
        let sentence = format!("covenant: {self}");
        // A reason of the system's could hold anything, and one line is one line.
        let line: String = sentence.chars().filter(|c| c.is_ascii() && !c.is_ascii_control()).collect();
        format!(
            "HTTP/1.1 {} {line}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\n{}connection: close\r\n\r\n{line}\n",
            self.status(),
            line.len() + 1,
            self.header(),
        )
    }

    /// Answers and closes. What the program still sends is taken and dropped for a while: to close before it was read
    /// would take the answer from it as well.
    pub(super) async fn tell(&self, mut stream: TcpStream) {
        let answer = self.answer();
        let farewell = async {
            stream.write_all(answer.as_bytes()).await?;
            stream.shutdown().await?;
            tokio::io::copy(&mut stream.take(FAREWELL_BYTES), &mut tokio::io::sink()).await
        };
        let _ = timeout(FAREWELL, farewell).await;
    }
}
