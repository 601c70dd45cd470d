//! `covenant --mcp`: MCP on standard input and output, bridged to the daemon, which is started if none runs, or to one
//! elsewhere.

mod patience;
mod remote;
mod token;
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
    /// Who the client acts as; none is the operator, for calls only.
    token: Option<Secret>,
}

/// Bridges until the client goes away.
pub(crate) fn run(setting: &Setting, url: Option<&str>) -> Result<Exit, Failure> {
    if std::io::stdin().is_terminal() {
        print::note(
            "speaking MCP with this terminal: one JSON-RPC message per line, Ctrl-D ends; \
             it is MCP clients that start this",
        );
    }
    let remote = remote::wanted(setting, url)?;
    let token = match &remote {
        None => token::find(setting, || token::origins_of(&setting.home))?,
        Some(_) => None,
    };
    let mut options = bridge::Options::default();
    if let Some(patience) = patience::said()? {
        options.deadline = patience;
    }
    let way = Arc::new(Way { home: setting.home.clone(), start: setting.start, token });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed(format!("no event loop could be made: {error}"), ""))?;
    let ended = runtime.block_on(async {
        let (input, output) = bridge::stdio()?;
        if let Some(remote) = remote {
            return Ok(bridge::remote::run(input, output, remote).await);
        }
        let connect = || {
            let way = Arc::clone(&way);
            async move { way.open().await.map_err(|failure| unreached(&failure)) }
        };
        Ok(bridge::run(input, output, connect, options).await)
    });
    // The last write to a file ends; a read of a terminal that still waits must not keep the process alive.
    runtime.shutdown_timeout(LAST_WRITE);
    match ended {
        Ok(ExitReason::InputClosed | ExitReason::OutputClosed) => Ok(Exit::Done),
        Ok(ExitReason::Abandoned) => Ok(Exit::Failed),
        Ok(ExitReason::Failed(error)) | Err(error) => Err(broken(&error)),
    }
}

/// A token nobody knows is answered as such; everything else means that there is no daemon to speak to.
fn unreached(failure: &Failure) -> Unreached {
    match failure.exit() {
        Exit::Refused => Unreached::stranger(failure.message(), failure.help()),
        _ => Unreached::silent(failure.message(), failure.help()),
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
