//! Reading configuration and secrets again: what can take effect does, and what needs a restart is said.

use covenant_gate::{Fault, Operator};
use covenant_model::api::Reloaded;
use covenant_model::audit::Kind;

use crate::config::grounds::Grounds;
use crate::config::{Config, ConfigError};
use crate::daemon::Daemon;
use crate::secrets::{self, Secrets, SecretsError};
use crate::servers::Reading;
use crate::tls::Certificate;

/// Why nothing was reloaded. What was in effect stays in effect.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReloadError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Secrets(#[from] SecretsError),
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// On whose word.
#[derive(Clone, Copy)]
pub(crate) enum By<'a> {
    /// The operator asked.
    Operator(&'a Operator),
    /// A signal came.
    Signal,
    /// A file changed.
    Watch,
}

impl Daemon {
    /// Reads both files again and applies what can be applied. The log says how that went, whoever asked.
    pub(crate) async fn reload(&self, by: By<'_>) -> Result<Reloaded, ReloadError> {
        let outcome = self.apply(by).await;
        match &outcome {
            Ok(reloaded) => announce(reloaded),
            Err(error) => tracing::error!(target: "covenant", "nothing was reloaded: {error}"),
        }
        outcome
    }

    async fn apply(&self, by: By<'_>) -> Result<Reloaded, ReloadError> {
        let _alone = self.changing.lock().await;
        let loaded = Config::load(&self.home, &self.overrides)?;
        let reading = self.read_with(&loaded.config)?;
        let now = self.config();
        let next = keep_fixed(&now, loaded.config.clone());
        let renewed = Certificate::load(&self.home, &next.http).map_err(ConfigError::from)?;
        let mut changed = now.differences(&next);
        // A certificate is mostly renewed in its place, and no key of the configuration changes.
        if self.shows_another(renewed.as_ref()) && !changed.iter().any(|key| key == "http.tls_cert") {
            changed.push("http.tls_cert".to_owned());
        }
        let grounds = Grounds::of(&next, &self.home, &*self.environment);
        let workspace = grounds.workspace.ok().and_then(|workspace| self.home.prepare_workspace(&workspace));
        let warnings = loaded.warnings.into_iter().chain(workspace);
        let mut reloaded = Reloaded {
            applied: self.changes(&changed, &reading),
            needs_restart: next.differences(&loaded.config),
            warnings: warnings.chain(reading.warnings.clone()).collect(),
        };
        self.record(by, &reloaded.applied).await?;
        self.record_servers(by, &reading, None).await?;
        self.take(next, reading.secrets.clone());
        reloaded.warnings.extend(self.toolbox.unfit());
        if let Some((tls, renewed)) = self.tls.as_ref().zip(renewed) {
            tls.renew(renewed);
        }
        self.take_servers(reading).await;
        // Another daemon on the same database may have granted or revoked.
        self.gate.refresh().await?;
        Ok(reloaded)
    }

    /// A file changed: reads secrets and servers again, and nothing else. Where nothing of them has changed, nothing is
    /// recorded; warnings that were not there before are said all the same. All there are now.
    pub(crate) async fn reread(&self, told: Option<&[String]>) -> Result<Vec<String>, ReloadError> {
        let _alone = self.changing.lock().await;
        let reading = self.read_servers().inspect_err(|error| {
            self.desk.remark(&[format!("{error}; until that is mended, servers stay as they were")]);
        })?;
        let (applied, warnings) = (self.changes(&[], &reading), reading.warnings.clone());
        if applied.is_empty() {
            self.desk.remark(&reading.about_servers);
            // At the start all are said by whoever starts.
            let told = told.unwrap_or(&warnings);
            warn(warnings.iter().filter(|warning| !told.contains(warning)));
            return Ok(warnings);
        }
        self.record(By::Watch, &applied).await?;
        self.record_servers(By::Watch, &reading, None).await?;
        announce(&Reloaded { applied, needs_restart: Vec::new(), warnings: reading.warnings.clone() });
        self.take_secrets(reading.secrets.clone());
        self.take_servers(reading).await;
        Ok(warnings)
    }

    /// What the files say now of secrets and servers, by the other settings in effect.
    pub(crate) fn read_servers(&self) -> Result<Reading, ReloadError> {
        self.read_with(&self.config())
    }

    fn read_with(&self, config: &Config) -> Result<Reading, ReloadError> {
        Ok(Reading::read(&self.home, config, &*self.environment, &self.desk.added())?)
    }

    /// Takes what was read at the start into effect, unless somebody was quicker.
    pub(crate) async fn begin_servers(&self, reading: Reading) {
        let _alone = self.changing.lock().await;
        self.take_servers(reading).await;
    }

    /// Takes what was read of servers into effect.
    pub(crate) async fn take_servers(&self, reading: Reading) {
        self.desk.remark(&reading.about_servers);
        let wanted = self.desk.take(reading.found, &self.known(&reading.secrets));
        self.desk.fleet.apply(wanted).await;
    }

    /// One row for each server that comes or goes with what was read, but for the one that has its row already.
    pub(crate) async fn record_servers(
        &self,
        by: By<'_>,
        reading: &Reading,
        done: Option<&str>,
    ) -> Result<(), Fault> {
        let wanted = self.desk.with(&reading.found, &self.known(&reading.secrets));
        for (kind, name, file) in self.desk.turnover(&wanted) {
            match by {
                _ if done == Some(&name) => {}
                By::Operator(operator) => self.gate.record(operator, kind, &name, Some(&file)).await?,
                By::Signal | By::Watch => {
                    self.gate.record_own(kind, Some(&format!("{name}: {file}"))).await?;
                }
            }
        }
        Ok(())
    }

    /// Everything that is other than before: those settings, secrets by name, servers by name.
    fn changes(&self, settings: &[String], reading: &Reading) -> Vec<String> {
        let wanted = self.desk.with(&reading.found, &self.known(&reading.secrets));
        let servers = self.desk.differences(&wanted).into_iter().map(|name| format!("mcp.servers.{name}"));
        applied(settings, &self.secrets(), &reading.secrets).into_iter().chain(servers).collect()
    }

    /// Whether that is another certificate than the one in effect.
    fn shows_another(&self, renewed: Option<&Certificate>) -> bool {
        self.tls.as_ref().zip(renewed).is_some_and(|(tls, renewed)| tls.differs(renewed))
    }

    async fn record(&self, by: By<'_>, applied: &[String]) -> Result<(), Fault> {
        let reason = format!("applied: {}", applied.join(", "));
        match by {
            By::Operator(operator) => {
                self.gate.record(operator, Kind::ConfigLoaded, "config", Some(&reason)).await
            }
            By::Signal | By::Watch => self.gate.record_own(Kind::ConfigLoaded, Some(&reason)).await,
        }
    }
}

fn announce(Reloaded { applied, needs_restart, warnings }: &Reloaded) {
    let (applied, later) = (applied.join(","), needs_restart.join(","));
    match (applied.is_empty(), later.is_empty()) {
        (true, true) => tracing::info!(target: "covenant", "configuration reloaded: nothing has changed"),
        (false, true) => tracing::info!(target: "covenant", applied, "configuration reloaded"),
        (true, false) => tracing::info!(target: "covenant", needs_restart = later, "configuration reloaded"),
        (false, false) => {
            tracing::info!(target: "covenant", applied, needs_restart = later, "configuration reloaded");
        }
    }
    warn(warnings);
}

fn warn<'a>(warnings: impl IntoIterator<Item = &'a String>) {
    for warning in warnings {
        tracing::warn!(target: "covenant", "{warning}");
    }
}

/// The new configuration, with the old values of everything that is decided once, at the start.
fn keep_fixed(now: &Config, mut next: Config) -> Config {
    next.http.listen.clone_from(&now.http.listen);
    next.http.behind_proxy = now.http.behind_proxy;
    if next.http.tls() != now.http.tls() {
        next.http.tls_cert.clone_from(&now.http.tls_cert);
        next.http.tls_key.clone_from(&now.http.tls_key);
    }
    next.database.clone_from(&now.database);
    next.audit.durability = now.audit.durability;
    next.audit.sink = now.audit.sink;
    next.cluster.clone_from(&now.cluster);
    next
}

fn applied(changed: &[String], old: &Secrets, new: &Secrets) -> Vec<String> {
    let names = |secrets: &Secrets| -> Vec<(String, String)> {
        let both = |named: &secrets::Named| (named.name.clone(), named.value.reveal().to_owned());
        secrets.named().iter().map(both).collect()
    };
    let (old, new) = (names(old), names(new));
    let differ = |one: &[(String, String)], two: &[(String, String)]| -> Vec<String> {
        one.iter().filter(|entry| !two.contains(entry)).map(|(name, _)| format!("secret {name}")).collect()
    };
    let mut secrets = differ(&old, &new);
    secrets.extend(differ(&new, &old));
    secrets.sort();
    secrets.dedup();
    changed.iter().cloned().chain(secrets).collect()
}
