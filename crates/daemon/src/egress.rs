//! The way out of a sandbox that may use HTTPS: a proxy for one run, which speaks CONNECT and lets nothing but TLS through.
//!
//! What a program asks for passes five questions, each in a file of its own: is it a request at all ([`head`]), has it
//! the run's token (here), does it name one host ([`host`]) and port 443 (here), does that lead to the public Internet or
//! is it listed ([`lookup`]), and does the program speak TLS to it ([`hello`]). Only then does anything it says leave.
//! Whatever is refused is told in a sentence ([`denial`]).

pub(crate) mod denial;
pub(crate) mod guests;
mod head;
mod hello;
pub(crate) mod host;
pub(crate) mod lookup;
#[cfg(test)]
mod tests;
mod tunnel;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use covenant_model::secret::Secret;
use covenant_model::token::{self, TokenHash};
use subtle::ConstantTimeEq as _;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use self::denial::{Denial, PATIENCE};
use self::head::Head;
use self::host::Host;
use self::lookup::{Lookups, Resolver};

/// How many connections a run may have open.
const CONNECTIONS: usize = 64;

/// How many names of one run are looked up at a time.
const LOOKUPS: usize = 4;

/// How many refusals of one run are written to the log.
const NOTED: u32 = 100;

/// The port that is let out.
const PORT: u16 = 443;

/// Whether a name may be reached wherever it leads, asked anew for each connection.
pub(crate) type Allows = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// What one run may do here.
pub(crate) struct Pass {
    run: String,
    token: Option<TokenHash>,
    allows: Allows,
    lookups: Lookups,
    refused: AtomicU32,
}

/// A program that asked for that and may have it, once it speaks TLS.
struct Admitted {
    host: Host,
    upstream: TcpStream,
    start: Vec<u8>,
}

impl Pass {
    /// For the run of that name, which shows that token.
    pub(crate) fn new(run: &str, token: &Secret, allows: Allows) -> Self {
        Self::with(run, token, allows, lookup::system())
    }

    fn with(run: &str, token: &Secret, allows: Allows, resolver: Resolver) -> Self {
        let token = token::hash(token.reveal());
        Self {
            run: run.to_owned(),
            token,
            allows,
            lookups: Lookups::new(resolver, LOOKUPS),
            refused: AtomicU32::new(0),
        }
    }

    fn admits(&self, shown: Option<&str>) -> bool {
        let shown = shown.and_then(token::hash);
        shown.zip(self.token).is_some_and(|(shown, own)| shown.0.ct_eq(&own.0).into())
    }

    /// Says in the log what was refused. A program that asks without end fills no disk.
    fn note(&self, denial: &Denial) {
        let before = self.refused.fetch_add(1, Ordering::Relaxed);
        let host = denial.host().map(ToString::to_string).unwrap_or_default();
        let run = &self.run;
        match before.cmp(&NOTED) {
            std::cmp::Ordering::Less => {
                tracing::info!(target: "covenant::egress", run, host, "a connection was refused: {denial}");
            }
            std::cmp::Ordering::Equal => tracing::info!(
                target: "covenant::egress", run,
                "more than {NOTED} connections of this run were refused; further ones are not written down"
            ),
            std::cmp::Ordering::Greater => {}
        }
    }
}

/// Serves the proxy of one run until this is dropped, which also closes every connection it made.
pub(crate) async fn serve(listener: TcpListener, pass: Pass) {
    let pass = Arc::new(pass);
    let one = |stream| one(stream, Arc::clone(&pass));
    let surplus = |stream| refuse(stream, Denial::Full, Arc::clone(&pass));
    guests::each(listener, CONNECTIONS, one, surplus).await;
}

async fn one(mut stream: TcpStream, pass: Arc<Pass>) {
    match admit(&mut stream, &pass).await {
        Ok(admitted) => let_out(stream, admitted, &pass).await,
        Err(Denial::Gone) => {}
        Err(denial) => refuse(stream, denial, pass).await,
    }
}

async fn refuse(stream: TcpStream, denial: Denial, pass: Arc<Pass>) {
    pass.note(&denial);
    denial.tell(stream).await;
}

async fn admit(stream: &mut TcpStream, pass: &Pass) -> Result<Admitted, Denial> {
    let head = timeout(PATIENCE, Head::read(stream)).await.map_err(|_| Denial::Late)??;
    if head.method != "CONNECT" {
        return Err(Denial::Method);
    }
    if !pass.admits(head.token.as_deref()) {
        return Err(Denial::Token);
    }
    let host = destination(&head.target)?;
    let addresses = match &host {
        Host::Address(address) => lookup::public(&host, vec![*address])?,
        Host::Name(name) => {
            let found = pass.lookups.find(name).await?;
            if (pass.allows)(name) { found } else { lookup::public(&host, found)? }
        }
    };
    let upstream = lookup::connect(&host, &addresses, PORT).await?;
    Ok(Admitted { host, upstream, start: head.rest })
}

/// The host of `HOST:443`.
fn destination(target: &str) -> Result<Host, Denial> {
    let (host, port) = target.rsplit_once(':').ok_or(Denial::Target)?;
    let host = Host::parse(host).map_err(|_| Denial::Target)?;
    match port.parse() {
        Ok(PORT) => Ok(host),
        Ok(port) => Err(Denial::Port { host, port }),
        Err(_) => Err(Denial::Target),
    }
}

/// Tells the program that it may begin, and passes on what it says if it begins as TLS does.
async fn let_out(mut stream: TcpStream, Admitted { host, upstream, start }: Admitted, pass: &Pass) {
    if stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await.is_err() {
        return;
    }
    match timeout(PATIENCE, hello::read(&mut stream, start)).await {
        Ok(Some(start)) => tunnel::run(stream, upstream, &start).await,
        Ok(None) | Err(_) => pass.note(&Denial::NotTls { host }),
    }
}
