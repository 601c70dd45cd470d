//! The built-in tools of a daemon: what they are made from, which there are, which not and why, and that they follow the
//! configuration and the secrets as those change.

mod allowlist;
pub(crate) mod notes;
mod programs;
mod services;

use std::collections::BTreeSet;
use std::sync::Arc;

use covenant_gate::{Clock, Gate, Prepared, Tool};
use covenant_model::tool::ToolName;
use covenant_runner::nursery::Nursery;
use covenant_tools::script::Slots;
use covenant_tools::script::allowance::Allowance;
use covenant_tools::script::shelf::Script;
use covenant_tools::settings::NO_VAULT;
use covenant_tools::vault::Vault;
use covenant_tools::{Absent, Parts, ports, settings};
use parking_lot::{Mutex, RwLock};

use self::programs::Programs;
use crate::config::Config;
use crate::daemon::{Environment, Settings};
use crate::home::Home;
use crate::outbound::errand::Errands;
use crate::secrets::Secrets;

/// What makes the tools of one daemon.
pub(crate) struct Toolbox {
    home: Home,
    settings: Arc<RwLock<Settings>>,
    clock: Arc<dyn Clock>,
    environment: Environment,
    programs: Arc<dyn ports::Programs>,
    web: Arc<dyn ports::Web>,
    slots: Arc<Slots>,
    made: Mutex<Made>,
}

/// What was made last, and from what.
#[derive(Default)]
struct Made {
    from: Option<Arc<settings::Settings>>,
    vault: Option<Arc<Vault>>,
    names: BTreeSet<ToolName>,
    absent: Vec<Absent>,
}

impl Toolbox {
    pub(crate) fn new(
        home: &Home,
        settings: &Arc<RwLock<Settings>>,
        nursery: &Nursery,
        clock: &Arc<dyn Clock>,
        environment: &Environment,
    ) -> Self {
        let asked = Arc::clone(settings);
        let web = Errands::new(Arc::new(move |name: &str| asked.read().config.web.allows(name)));
        Self {
            home: home.clone(),
            settings: Arc::clone(settings),
            clock: Arc::clone(clock),
            environment: Arc::clone(environment),
            programs: Arc::new(Programs::new(nursery.clone(), home.clone(), Arc::clone(settings))),
            web: Arc::new(web),
            slots: Arc::default(),
            made: Mutex::default(),
        }
    }

    /// What sends requests.
    pub(crate) fn web(&self) -> Arc<dyn ports::Web> {
        Arc::clone(&self.web)
    }

    /// The tools that the configuration in effect asks for; nothing if they are made already.
    pub(crate) fn make(&self) -> Option<Vec<Arc<dyn Tool>>> {
        let (config, secrets) = {
            let settings = self.settings.read();
            (Arc::clone(&settings.config), Arc::clone(&settings.secrets))
        };
        let resolved = services::resolved(&config, &self.home, &*self.environment, &secrets);
        let mut made = self.made.lock();
        if made.from.as_deref() == Some(&resolved) {
            return None;
        }
        if made.from.as_ref().is_none_or(|before| before.vault != resolved.vault) {
            made.vault = resolved.vault.as_ref().ok().map(|vault| self.open(vault));
        }
        let held = Arc::clone(&self.settings);
        let from = Arc::new(resolved);
        let (tools, absent) = covenant_tools::native(&Parts {
            clock: Arc::clone(&self.clock),
            settings: Arc::clone(&from),
            web: Arc::clone(&self.web),
            programs: Arc::clone(&self.programs),
            vault: match (&made.vault, &from.vault) {
                (Some(vault), Ok(_)) => Ok(Arc::clone(vault)),
                (_, Err(reason)) => Err(reason.clone()),
                (None, Ok(_)) => Err(NO_VAULT.to_owned()),
            },
            slots: Arc::clone(&self.slots),
            secrets: Arc::new(move |name| held.read().secrets.get(name).cloned()),
        });
        made.from = Some(from);
        made.names = tools.iter().map(|tool| tool.spec().name).collect();
        made.absent = absent;
        Some(tools)
    }

    /// Puts the tools into the gate that the configuration now asks for, in place of those it asked for before.
    pub(crate) fn renew(&self, gate: &Gate) {
        let before = self.made.lock().names.clone();
        let Some(tools) = self.make() else { return };
        let prepared = tools.into_iter().filter_map(|tool| {
            let name = tool.spec().name;
            Prepared::new(tool)
                .inspect_err(
                    |reason| tracing::error!(tool.name = %name, "a built-in tool is left out: {reason}"),
                )
                .ok()
        });
        for (name, reason) in gate.exchange_tools(&before, prepared.collect()) {
            tracing::error!(tool.name = %name, "a built-in tool is left out: {reason}");
        }
    }

    /// Why the tool of that name is not there, if it could be.
    pub(crate) fn why_absent(&self, name: &str) -> Option<String> {
        let made = self.made.lock();
        made.absent.iter().find(|absent| absent.name == name).map(|absent| absent.reason.clone())
    }

    /// The tools that are not there, each with what to write so that it is.
    pub(crate) fn absent(&self) -> Vec<Absent> {
        self.made.lock().absent.clone()
    }

    /// What the configuration names and cannot be used. This blocks.
    pub(crate) fn unfit(&self) -> Vec<String> {
        let from = self.made.lock().from.clone();
        from.map(|from| covenant_tools::unfit(&from)).unwrap_or_default()
    }

    /// Whether the configuration lets a script run without a person being asked, as the tools made of it see it.
    pub(crate) fn allowance(&self, script: &Script) -> Allowance {
        let from = self.made.lock().from.clone();
        from.map_or(Allowance::None, |from| Allowance::of(&from.scripts.allowlist, script))
    }

    fn open(&self, vault: &settings::Vault) -> Arc<Vault> {
        let programs = Arc::clone(&self.programs);
        notes::vault(vault, &self.home, programs, Arc::clone(&self.environment), Arc::clone(&self.clock))
    }
}

/// What that configuration says to tools and cannot be used, as a daemon would find it. This blocks.
pub fn unfit_settings(
    home: &Home,
    config: &Config,
    secrets: &Secrets,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Vec<String> {
    covenant_tools::unfit(&services::resolved(config, home, environment, secrets))
}
