//! Where a command works: the home, how answers are written, whether a daemon may be started.

use covenant_daemon::home::Home;
use covenant_gate::clock::{Clock as _, SystemClock};
use covenant_model::secret::Secret;
use covenant_model::time::Timestamp;

use crate::args::Global;
use crate::autostart;
use crate::client::Client;
use crate::exit::{Exit, Failure};

/// For whom answers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    /// Tables and sentences.
    People,
    /// JSON.
    Machines,
}

/// Whether a daemon is started where none runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// Yes, and it is said.
    Allowed,
    /// No.
    Forbidden,
}

/// What a command works with.
#[derive(Debug)]
pub(crate) struct Setting {
    /// The home.
    pub(crate) home: Home,
    /// For whom answers are written.
    pub(crate) output: Output,
    /// Whether a daemon may be started.
    pub(crate) start: Start,
    /// Who the command acts as, where it is not the operator.
    pub(crate) token: Option<Secret>,
    clock: SystemClock,
}

impl Setting {
    /// From what every command takes, and the environment.
    pub(crate) fn new(global: &Global) -> Result<Self, Failure> {
        let home = match &global.home {
            Some(directory) => Home::at(directory),
            None => Home::from_environment(),
        };
        let token = std::env::var("COVENANT_TOKEN").ok().filter(|token| !token.is_empty()).map(Secret::new);
        Ok(Self {
            home: home.map_err(|error| Failure::told(Exit::Usage, &error))?,
            output: global.output(),
            start: if global.no_start { Start::Forbidden } else { Start::Allowed },
            token,
            clock: SystemClock,
        })
    }

    /// A client of the daemon, which is started if none runs.
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        if let Some(client) = self.running()? {
            return Ok(client);
        }
        if self.start == Start::Forbidden {
            return Err(self.no_daemon());
        }
        autostart::start_for_a_command(&self.home)?;
        self.running()?.ok_or_else(|| self.no_daemon())
    }

    /// A client of the daemon, if one runs.
    pub(crate) fn running(&self) -> Result<Option<Client>, Failure> {
        let socket = self.home.socket().map_err(|error| Failure::told(Exit::NoDaemon, &error))?;
        let client = Client::new(&socket, self.token.as_ref().map(Secret::reveal))?;
        Ok(client.is_served()?.then_some(client))
    }

    /// What is said where no daemon runs.
    pub(crate) fn no_daemon(&self) -> Failure {
        Failure::no_daemon(
            format!("no daemon runs for {}", self.home.root().display()),
            "start one: covenant up --detach",
        )
    }

    /// The moment now.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Whether answers are for machines.
    pub(crate) fn json(&self) -> bool {
        self.output == Output::Machines
    }
}
