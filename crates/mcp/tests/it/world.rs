//! A gate on a real store and log in a temporary home, and clients that are connected to it.

use std::sync::Arc;

use covenant_gate::clock::SystemClock;
use covenant_gate::config::Config;
use covenant_gate::provider::{Completions, Prompts, Resources};
use covenant_gate::{Credential, Gate, Operator, Parts, Peer, ToolRegistry};
use covenant_mcp::{Options, serve};
use covenant_model::api::{NewClient, NewGrant};
use covenant_model::constraint::Constraints;
use covenant_model::grant::Approval;
use covenant_model::id::GrantId;
use covenant_model::redact::Redactor;
use covenant_model::token::TokenHash;
use covenant_store::Store;
use ed25519_dalek::SigningKey;
use tempfile::TempDir;
use tokio::io::duplex;

use crate::tools;

pub(crate) use crate::client::{Client, code, modern_meta};

/// The uid of the operator in these tests.
pub(crate) const OPERATOR: u32 = 4242;

/// What a world begins with.
pub(crate) struct Beginning {
    pub(crate) config: Config,
    pub(crate) granted: Vec<&'static str>,
    pub(crate) resources: Vec<Arc<dyn Resources>>,
    pub(crate) prompts: Vec<Arc<dyn Prompts>>,
    pub(crate) completions: Option<Arc<dyn Completions>>,
}

impl Default for Beginning {
    fn default() -> Self {
        Self {
            config: Config { rate: 0.0, ..Config::default() },
            granted: vec!["tool.call.*"],
            resources: Vec::new(),
            prompts: Vec::new(),
            completions: None,
        }
    }
}

pub(crate) struct World {
    pub(crate) gate: Arc<Gate>,
    _home: TempDir,
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::begin(Beginning::default()).await
    }

    pub(crate) async fn begin(beginning: Beginning) -> Self {
        let home = tempfile::tempdir().unwrap();
        let store = Store::open("sqlite:covenant.db", home.path()).await.unwrap();
        let key = SigningKey::from_bytes(&[7; 32]);
        let gate = Gate::open(Parts {
            tools: registry(),
            store,
            audit: audit(home.path(), &key),
            redactor: Redactor::new([("API_KEY", "hunter2-hunter2")]),
            key,
            trusted: Vec::new(),
            operator: TokenHash([9; 32]),
            operator_uid: OPERATOR,
            clock: Arc::new(SystemClock),
            config: beginning.config,
            resources: beginning.resources,
            prompts: beginning.prompts,
            completions: beginning.completions,
        })
        .await
        .unwrap();
        let world = Self { gate, _home: home };
        for action in beginning.granted {
            world.grant(action, "any").await;
        }
        world
    }

    pub(crate) fn operator(&self) -> Operator {
        let caller = self.gate.authenticate(&Credential::peer(OPERATOR)).unwrap();
        self.gate.operator(&caller, Peer::default()).unwrap()
    }

    pub(crate) async fn grant(&self, action: &str, subject: &str) -> GrantId {
        self.grant_with(action, subject, Approval::None).await
    }

    pub(crate) async fn grant_with(&self, action: &str, subject: &str, approval: Approval) -> GrantId {
        let new = NewGrant {
            subject: subject.parse().unwrap(),
            action: action.parse().unwrap(),
            constraints: Constraints::default(),
            approval,
            expires_at: None,
        };
        self.gate.grant(&self.operator(), new).await.unwrap().grant.id
    }

    /// A named client and its token.
    pub(crate) async fn add_client(&self, name: &str) -> Credential {
        let new = NewClient { name: name.to_owned(), preset: None, grants: Vec::new(), may_approve: false };
        Credential::bearer(&self.gate.add_client(&self.operator(), new).await.unwrap().token)
    }

    /// The operator, connected.
    pub(crate) fn connect(&self) -> Client {
        self.connect_as(Credential::peer(OPERATOR), Options::default())
    }

    pub(crate) fn connect_as(&self, credential: Credential, options: Options) -> Client {
        let (ours, theirs) = duplex(64 * 1024);
        let serving = tokio::spawn(serve(theirs, self.gate.clone(), credential, options));
        Client::new(ours, serving)
    }
}

fn registry() -> ToolRegistry {
    let mut registry = ToolRegistry::default();
    for tool in covenant_tools::plain(&(Arc::new(SystemClock) as _)).into_iter().chain(tools::all()) {
        registry.register(tool).unwrap();
    }
    registry
}

fn audit(home: &std::path::Path, key: &SigningKey) -> covenant_gate::audit::AuditLog {
    let options = covenant_gate::audit::Options {
        dir: home.join("audit"),
        key: key.clone(),
        digest_key: [1; 32],
        durability: covenant_gate::audit::Durability::Group,
        segment_bytes: 64 * 1024 * 1024,
        clock: Arc::new(SystemClock),
    };
    covenant_gate::audit::AuditLog::open(options).unwrap().0
}
