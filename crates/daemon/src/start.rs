//! How a daemon comes to be: a list of parts, each made from the ones before it. Nothing is decided here.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use covenant_gate::audit::{AuditLog, Durability};
use covenant_gate::gate::Parts as GateParts;
use covenant_gate::provider::{Completions, Prompts, Resources};
use covenant_gate::{Clock, Fault, Gate, SystemClock, Tool, ToolRegistry};
use covenant_model::audit::Kind;
use covenant_runner::nursery::{Launcher, Nursery};
use covenant_store::Store;
use covenant_tools::covibe::{self, Account};
use parking_lot::RwLock;

use crate::agents::roster::{self, Roster};
use crate::anchor::{self, Anchor};
use crate::config::audit::Sink;
use crate::config::grounds::Grounds;
use crate::config::{self, Config, ConfigError, Overrides};
use crate::daemon::{Daemon, Environment, Settings};
use crate::first::{self, Fresh};
use crate::follower;
use crate::home::{Home, HomeError};
use crate::http::document::Bodies;
use crate::http::mcp::sessions::{self, Sessions};
use crate::http::{router, serve, via};
use crate::identity::{Identity, IdentityError};
use crate::lapse;
use crate::listen::{self, ListenError, Listeners};
use crate::lock::{Lock, LockError, Note};
use crate::logging::{Echo, Logs};
use crate::neighbours;
use crate::otlp::Export;
use crate::running::{self, Running};
use crate::runs::{self, Runs};
use crate::secrets::{Secrets, SecretsError};
use crate::servers::{Desk, Outfit, Reading, watch};
use crate::shutdown::{self, Stop};
use crate::signin::SignIn;
use crate::team;
use crate::thrift;
use crate::tls::{Certificate, Tls};
use crate::toolbox::{Toolbox, notes};
use crate::trust;

/// What a daemon is started with.
pub struct Options {
    /// Where it lives.
    pub home: Home,
    /// What overrides its configuration.
    pub overrides: Overrides,
    /// Where its log lines go beside the file.
    pub echo: Echo,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// Where it looks environment variables up.
    pub environment: Environment,
    /// How long running calls may go on when it stops.
    pub drain: Duration,
    /// What stands beside every program it starts: this program once more, unless a program that is none embeds it.
    pub launcher: Launcher,
    /// What it offers beside what is built in. The program has nothing to add; others that embed a daemon may.
    pub extra: Extra,
}

/// Further tools, resources, prompts and completions, behind the same gate as everything else.
#[derive(Default)]
pub struct Extra {
    /// Tools.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Sources of resources.
    pub resources: Vec<Arc<dyn Resources>>,
    /// Sources of prompts.
    pub prompts: Vec<Arc<dyn Prompts>>,
    /// The source of completions.
    pub completions: Option<Arc<dyn Completions>>,
}

/// Why a daemon did not start.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each is the error of one part, which says what it is about")]
pub enum StartError {
    #[error(transparent)]
    Home(#[from] HomeError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error("the log {} cannot be written: {error}", path.display())]
    Logs { path: PathBuf, error: std::io::Error },
    #[error(transparent)]
    Store(#[from] covenant_store::OpenError),
    #[error(transparent)]
    Audit(#[from] covenant_gate::audit::OpenError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error("a built-in tool cannot be registered: {0}")]
    Tool(#[from] covenant_gate::registry::NotRegistered),
    #[error("{}: {}", .0, .0.cause())]
    Fault(#[from] Fault),
    #[error("signals cannot be listened to: {0}")]
    Signals(std::io::Error),
}

impl Options {
    /// A daemon for that home: this machine's clock and environment, its log in the file alone.
    pub fn new(home: Home) -> Self {
        Self {
            home,
            overrides: Overrides::from_environment(),
            echo: Echo::Nowhere,
            clock: Arc::new(SystemClock),
            environment: Arc::new(|name| std::env::var(name).ok()),
            drain: shutdown::DRAIN,
            launcher: Launcher::own(),
            extra: Extra::default(),
        }
    }
}

/// Starts a daemon. When this returns, it serves.
pub async fn start(options: Options) -> Result<Running, StartError> {
    let Options { home, overrides, echo, clock, environment, drain, launcher, extra } = options;
    let mut remarks = home.prepare()?;
    let socket = home.socket_to_bind()?;
    let started_at = clock.now();
    let lock = Lock::take(&home, &note(&socket, started_at))?;
    let config::Loaded { config, warnings } = Config::load(&home, &overrides)?;
    remarks.extend(warnings);
    let grounds = Grounds::of(&config, &home, &*environment);
    remarks.extend(grounds.workspace.ok().and_then(|workspace| home.prepare_workspace(&workspace)));
    let reading = Reading::read(&home, &config, &*environment, &[])?;
    remarks.extend(reading.warnings.iter().cloned());
    let tls = Certificate::load(&home, &config.http).map_err(ConfigError::from)?.map(Tls::new);
    let identity = Identity::load_or_make(&home)?;
    let logs = open_logs(&home, &config, echo, &clock, &reading.secrets)?;
    let nursery = runs::nursery(&home, launcher).await?;
    let files = running::raise_file_limit();
    let fresh = Fresh::look(&home, &config);
    let store = Store::open(&config.database.url, home.root()).await?;
    first::found(&store, &*clock).await?;
    let key = identity.signing.verifying_key().to_bytes();
    let chain = crate::identity::to_hex(&key);
    let audit = match config.audit.sink {
        Sink::Files => open_audit(&home, &config, &identity, &clock)?,
        Sink::Database => open_audit_in(&store, &chain, &identity, &clock).await?,
    };
    let anchor_at = config.audit.anchor_url.address();
    let (config, secrets) = (Arc::new(config), Arc::new(reading.secrets.clone()));
    let settings = Arc::new(RwLock::new(Settings { config: Arc::clone(&config), secrets }));
    let toolbox = Toolbox::new(&home, &settings, &nursery, &clock, &environment);
    let account = account_of(&store, &home, &clock);
    let made = (&toolbox, &account, &clock);
    let gate = open_gate(&config, &reading.secrets, identity, &store, audit, made, extra).await?;
    store.adopt_orphans(clock.now()).await?;
    store.settle_departed(clock.now()).await?;
    fresh.grant(&home, &gate).await?;
    remarks.extend(toolbox.unfit());
    let listeners = listen::listen(&socket, &config.http)?;
    let listen = listeners.addresses();
    let runs = runs_of(nursery, &home, &settings, &listen);
    let outfit = Outfit { runs: runs.clone(), home: &home, gate: &gate, environment: &environment };
    let agents = Roster::new(roster::Outfit {
        runs,
        gate: &gate,
        home: &home,
        memory: home.memory(),
        store: &store,
        chain: &chain,
        key,
        settings: &settings,
        environment: &environment,
        clock: &clock,
    });
    agents.take_up(&store, &chain, &*clock).await?;
    remarks.extend(agents.read(&gate).await?.remarks());
    let daemon = Arc::new(Daemon {
        anchor: Anchor::new(anchor_at),
        desk: Desk::new(outfit.fleet()),
        agents,
        sessions: Sessions::new(Arc::clone(&store), serve::most_streams(files)),
        recall: notes::recall(&home, &clock),
        bodies: Bodies::new(),
        spans: Export::default(),
        stop: Stop::new(drain),
        changing: tokio::sync::Mutex::default(),
        account,
        signin: SignIn::default(),
        toolbox,
        settings,
        home,
        gate,
        store,
        logs,
        clock,
        started_at,
        socket,
        listen,
        tls,
        overrides,
        environment,
        chain,
    });
    daemon.gate.set_config(daemon.gate_config(&daemon.config()));
    daemon.aim_spans();
    daemon.gate.record_own(Kind::DaemonStarted, Some(covenant_model::VERSION)).await?;
    // Nobody is served who would not yet see what servers are known to have.
    daemon.begin_servers(reading).await;
    serve_all(&daemon, listeners, files);
    tokio::spawn(follower::follow(Arc::clone(&daemon)));
    tokio::spawn(anchor::follow(Arc::clone(&daemon)));
    tokio::spawn(neighbours::follow(Arc::clone(&daemon)));
    tokio::spawn(lapse::follow(Arc::clone(&daemon)));
    tokio::spawn(team::follow(Arc::clone(&daemon)));
    tokio::spawn(sessions::follow(Arc::clone(&daemon)));
    tokio::spawn(watch::follow(Arc::clone(&daemon)));
    tokio::spawn(thrift::follow(Arc::clone(&daemon)));
    announce(&daemon, &remarks);
    Running::new(daemon, lock, remarks).map_err(StartError::Signals)
}

fn note(socket: &Path, since: covenant_model::time::Timestamp) -> Note {
    Note { pid: std::process::id(), since, socket: Some(socket.display().to_string()) }
}

fn open_logs(
    home: &Home,
    config: &Config,
    echo: Echo,
    clock: &Arc<dyn Clock>,
    secrets: &Secrets,
) -> Result<Logs, StartError> {
    let path = home.log();
    let logs = Logs::open(&path, config.logging, echo, Arc::clone(clock))
        .map_err(|error| StartError::Logs { path, error })?;
    logs.set_redactor(Arc::new(secrets.redactor()));
    logs.install();
    Ok(logs)
}

fn open_audit(
    home: &Home,
    config: &Config,
    identity: &Identity,
    clock: &Arc<dyn Clock>,
) -> Result<AuditLog, StartError> {
    let durability = match config.audit.durability {
        config::audit::Durability::Group => Durability::Group,
        config::audit::Durability::Strict => Durability::Strict,
    };
    let options = covenant_gate::audit::Options {
        durability,
        ..covenant_gate::audit::Options::new(
            home.audit(),
            identity.signing.clone(),
            identity.digest_key,
            Arc::clone(clock),
        )
    };
    let (audit, opened) = AuditLog::open(options)?;
    tracing::debug!(target: "covenant", ?opened, "audit log opened");
    Ok(audit)
}

async fn open_audit_in(
    store: &Arc<Store>,
    chain: &str,
    identity: &Identity,
    clock: &Arc<dyn Clock>,
) -> Result<AuditLog, StartError> {
    let rows = store.audit_chain(chain).await?;
    let opened = AuditLog::open_in(rows, identity.signing.clone(), identity.digest_key, Arc::clone(clock));
    let (audit, opened) = opened.await?;
    tracing::debug!(target: "covenant", ?opened, "audit log opened in the database");
    Ok(audit)
}

/// The account of calls of a team's tools that come to nothing.
fn account_of(store: &Arc<Store>, home: &Home, clock: &Arc<dyn Clock>) -> Arc<Account> {
    let kept = team::Kept { store: Arc::clone(store), manifest: home.companion() };
    Account::new(Arc::new(kept), Arc::clone(clock))
}

async fn open_gate(
    config: &Config,
    secrets: &Secrets,
    identity: Identity,
    store: &Arc<Store>,
    audit: AuditLog,
    (toolbox, account, clock): (&Toolbox, &Arc<Account>, &Arc<dyn Clock>),
    extra: Extra,
) -> Result<Arc<Gate>, StartError> {
    let mut tools = ToolRegistry::default();
    let team = covibe::all(account);
    for tool in toolbox.make().into_iter().flatten().chain(team).chain(extra.tools) {
        tools.register(tool)?;
    }
    let parts = GateParts {
        tools,
        store: Arc::<Store>::clone(store),
        audit,
        redactor: secrets.redactor(),
        key: identity.signing,
        trusted: config.cluster.keys(),
        operator: identity.operator,
        operator_uid: trust::user(),
        clock: Arc::clone(clock),
        config: config.gate(),
        resources: extra.resources,
        prompts: extra.prompts,
        completions: extra.completions,
    };
    Ok(Gate::open(parts).await?)
}

/// What starts programs: for this home, by its configuration in effect.
fn runs_of(nursery: Nursery, home: &Home, settings: &Arc<RwLock<Settings>>, listen: &[SocketAddr]) -> Runs {
    let settings = Arc::clone(settings);
    let usual = SocketAddr::from((Ipv4Addr::LOCALHOST, 8421));
    let settings = runs::Settings {
        home: home.clone(),
        config: Arc::new(move || Arc::clone(&settings.read().config)),
        daemon: listen.first().copied().unwrap_or(usual),
    };
    Runs::new(nursery, settings)
}

fn serve_all(daemon: &Arc<Daemon>, listeners: Listeners, files: u64) {
    let router = router::router(Arc::clone(daemon));
    let http = &daemon.config().http;
    for listener in listeners.tcp {
        let Ok(address) = listener.local_addr() else { continue };
        let port = via::Port::new(address, http);
        tokio::spawn(serve::accept_tcp(listener, port, files, Arc::clone(daemon), router.clone()));
    }
    tokio::spawn(serve::accept_socket(listeners.socket, Arc::clone(daemon), router));
}

fn announce(daemon: &Daemon, remarks: &[String]) {
    for remark in remarks {
        tracing::warn!(target: "covenant", "{remark}");
    }
    let listen: Vec<String> = daemon.listen.iter().map(ToString::to_string).collect();
    tracing::info!(
        target: "covenant", version = covenant_model::VERSION, listen = listen.join(","),
        socket = %daemon.socket.display(), "started"
    );
}
