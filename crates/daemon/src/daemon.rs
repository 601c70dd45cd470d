//! What a running daemon holds, and what of it can change: its configuration, its secrets, whether it is stopping.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use covenant_gate::{Clock, Gate};
use covenant_model::api::{Ready, Status};
use covenant_model::time::Timestamp;
use covenant_store::Store;
use covenant_tools::covibe::Account;
use covenant_tools::recall::Recall;
use parking_lot::RwLock;

use crate::agents::roster::Roster;
use crate::anchor::Anchor;
use crate::config::{Config, Overrides};
use crate::home::Home;
use crate::http::approval;
use crate::http::document::Bodies;
use crate::http::mcp::sessions::Sessions;
use crate::logging::Logs;
use crate::otlp::Export;
use crate::secrets::Secrets;
use crate::servers::Desk;
use crate::shutdown::Stop;
use crate::signin::SignIn;
use crate::tls::Tls;
use crate::toolbox::Toolbox;

/// The value of an environment variable, asked for by name.
pub type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What every request may ask for.
pub(crate) struct Daemon {
    pub(crate) home: Home,
    pub(crate) gate: Arc<Gate>,
    pub(crate) store: Arc<Store>,
    pub(crate) logs: Logs,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) started_at: Timestamp,
    pub(crate) socket: PathBuf,
    pub(crate) listen: Vec<SocketAddr>,
    /// What its ports speak TLS with; without it they speak HTTP alone.
    pub(crate) tls: Option<Tls>,
    pub(crate) overrides: Overrides,
    pub(crate) environment: Environment,
    pub(crate) stop: Stop,
    /// The home's public key in hexadecimal: what its rows are told from those of other daemons by.
    pub(crate) chain: String,
    /// Held by whoever changes configuration or secrets, so that two changes do not mix.
    pub(crate) changing: tokio::sync::Mutex<()>,
    /// Where checkpoints are posted.
    pub(crate) anchor: Anchor,
    /// The sessions of MCP over HTTP.
    pub(crate) sessions: Sessions,
    /// What reads the bodies of requests.
    pub(crate) bodies: Bodies,
    /// Where spans are sent.
    pub(crate) spans: Export,
    /// Which external servers are wanted, and the fleet of them.
    pub(crate) desk: Desk,
    /// The agents there are, and what they do.
    pub(crate) agents: Roster,
    /// What everybody remembers.
    pub(crate) recall: Arc<Recall>,
    /// What makes its built-in tools.
    pub(crate) toolbox: Toolbox,
    /// Calls of a team's tools that come to nothing, and of strangers.
    pub(crate) account: Arc<Account>,
    /// What is needed to sign people in.
    pub(crate) signin: SignIn,
    /// What can be replaced while it runs.
    pub(crate) settings: Arc<RwLock<Settings>>,
}

/// The configuration and the secrets in effect.
pub(crate) struct Settings {
    pub(crate) config: Arc<Config>,
    pub(crate) secrets: Arc<Secrets>,
}

impl Daemon {
    /// The configuration in effect.
    pub(crate) fn config(&self) -> Arc<Config> {
        Arc::clone(&self.settings.read().config)
    }

    /// The secrets in effect.
    pub(crate) fn secrets(&self) -> Arc<Secrets> {
        Arc::clone(&self.settings.read().secrets)
    }

    /// What stands before the path in links that people open.
    pub(crate) fn place(&self) -> String {
        self.config().http.place(self.listen.first())
    }

    /// What it runs with, given whether it is ready.
    pub(crate) fn status(&self, Ready { ready, reasons }: Ready) -> Status {
        Status {
            version: covenant_model::VERSION.to_owned(),
            schema: self.store.schema_version(),
            pid: std::process::id(),
            started_at: self.started_at,
            home: self.home.root().display().to_string(),
            socket: self.socket.display().to_string(),
            listen: self.listen.iter().map(ToString::to_string).collect(),
            tls: self.tls.is_some(),
            public_url: self.config().http.public_url.clone(),
            database: self.store.place(),
            tools: self.gate.tool_count(),
            servers: self.desk.counts(),
            ready,
            reasons,
        }
    }

    /// What the gate is told by that configuration, now that it is known where the daemon listens.
    pub(crate) fn gate_config(&self, config: &Config) -> covenant_gate::config::Config {
        let origin = config.http.origin(self.listen.first());
        covenant_gate::config::Config {
            approvals_page: Some(format!("{origin}{}", approval::PLACE)),
            ..config.gate()
        }
    }

    /// Takes another configuration and other secrets into effect, secrets first: what is new must not be shown.
    pub(crate) fn take(&self, config: Config, secrets: Secrets) {
        self.hide(secrets);
        self.logs.set(config.logging);
        self.gate.set_config(self.gate_config(&config));
        self.anchor.aim(config.audit.anchor_url.address());
        self.settings.write().config = Arc::new(config);
        self.toolbox.renew(&self.gate);
        self.aim_spans();
    }

    /// Takes other secrets into effect.
    pub(crate) fn take_secrets(&self, secrets: Secrets) {
        let config = self.config();
        let provider = config.oidc.as_ref().and_then(|oidc| oidc.warning(&secrets));
        let warnings = config.telemetry.warning(&secrets).into_iter().chain(provider);
        self.hide(secrets);
        for warning in warnings {
            tracing::warn!(target: "covenant", "{warning}");
        }
        self.toolbox.renew(&self.gate);
        self.aim_spans();
    }

    /// Sends spans to where the configuration says.
    pub(crate) fn aim_spans(&self) {
        self.spans.aim(&self.gate, &self.config().telemetry, &self.secrets());
    }

    /// Hides other secrets from now on, everywhere.
    pub(crate) fn hide(&self, secrets: Secrets) {
        self.gate.set_redactor(secrets.redactor());
        self.logs.set_redactor(self.gate.redactor());
        self.settings.write().secrets = Arc::new(secrets);
    }
}
