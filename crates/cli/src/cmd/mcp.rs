//! `covenant --mcp`: MCP on standard input and output, bridged to the daemon, which is started if none runs.

mod upgrade;

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use covenant_daemon::home::Home;
use covenant_mcp::bridge::{self, ExitReason, Unreached};
use covenant_model::secret::Secret;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::UnixStream;

use crate::autostart;
use crate::client;
use crate::exit::{Exit, Failure};
use crate::print;
use crate::setting::{Setting, Start};

/// How long the last bytes to a file may take.
const LAST_WRITE: Duration = Duration::from_secs(1);

/// How the bridge reaches a daemon, as often as it has to.
struct Way {
    home: Home,
    start: Start,
    token: Option<Secret>,
}

/// Bridges until the client goes away.
pub(crate) fn run(setting: &Setting) -> Result<Exit, Failure> {
    if std::io::stdin().is_terminal() {
        print::note(
            "speaking MCP with this terminal: one JSON-RPC message per line, Ctrl-D ends; \
             it is MCP clients that start this",
        );
    }
    let way = Arc::new(Way { home: setting.home.clone(), start: setting.start, token: token(setting) });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("no event loop could be made: {error}"), ""))?;
    let ended = runtime.block_on(async {
        let (input, output) = bridge::stdio()?;
        let connect = || {
            let way = Arc::clone(&way);
            async move { way.open().await.map_err(|failure| unreached(&failure)) }
        };
        Ok(bridge::run(input, output, connect, bridge::Options::default()).await)
    });
    // The last write to a file ends; a read of a terminal that still waits must not keep the process alive.
    runtime.shutdown_timeout(LAST_WRITE);
    match ended {
        Ok(ExitReason::InputClosed | ExitReason::OutputClosed) => Ok(Exit::Done),
        Ok(ExitReason::Abandoned) => Ok(Exit::Failed),
        Ok(ExitReason::Failed(error)) | Err(error) => Err(broken(&error)),
    }
}

/// Who the client acts as: its own token, by either name; none is the operator, for calls only.
fn token(setting: &Setting) -> Option<Secret> {
    let other = || std::env::var("COVIBE_MCP_TOKEN").ok().filter(|token| !token.is_empty()).map(Secret::new);
    setting.token.clone().or_else(other)
}

/// A token nobody knows is answered as such; everything else means that there is no daemon to speak to.
fn unreached(failure: &Failure) -> Unreached {
    match failure.exit() {
        Exit::Refused => Unreached::stranger(failure.sentence()),
        _ => Unreached::silent(failure.sentence()),
    }
}

fn broken(error: &std::io::Error) -> Failure {
    Failure::failed(
        format!("standard input or output broke: {error}"),
        "`covenant --mcp` is started by an MCP client, which speaks JSON-RPC to it; see `covenant up` for how",
    )
}

impl Way {
    /// A fresh connection that speaks MCP.
    async fn open(&self) -> Result<impl AsyncRead + AsyncWrite + Unpin + Send + use<>, Failure> {
        let stream = match self.connect().await? {
            Some(stream) => stream,
            None => self.start().await?,
        };
        upgrade::upgrade(stream, self.token.as_ref()).await
    }

    async fn connect(&self) -> Result<Option<UnixStream>, Failure> {
        let socket = self.home.socket().map_err(|error| Failure::told(Exit::NoDaemon, &error))?;
        client::connect(&socket).await
    }

    async fn start(&self) -> Result<UnixStream, Failure> {
        let none = || Failure::no_daemon("no daemon runs for this home", "start one: covenant up --detach");
        if self.start == Start::Forbidden {
            return Err(none());
        }
        let home = self.home.clone();
        // Not on the event loop: the client is read, and answered, while a daemon starts.
        let started = tokio::task::spawn_blocking(move || autostart::start_for_a_command(&home)).await;
        started.map_err(|error| Failure::no_daemon(format!("the start was given up: {error}"), ""))??;
        self.connect().await?.ok_or_else(none)
    }
}
