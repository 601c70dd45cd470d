//! Watches the files that name servers: when one changes, secrets and servers are read again, and nothing else.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::lookout::Lookout;
use super::plugins;
use crate::daemon::Daemon;

/// How long it must be quiet before files are read.
const QUIET: Duration = Duration::from_millis(500);

/// How long somebody who is never quiet is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// Watches until the daemon stops.
pub(crate) async fn follow(daemon: Arc<Daemon>) {
    let stopping = daemon.stop.closing.clone();
    tokio::select! {
        () = stopping.cancelled() => {}
        () = watch(&daemon) => {}
    }
}

async fn watch(daemon: &Arc<Daemon>) {
    let mut lookout = Lookout::new();
    let (mut seen, mut told) = (None, Told::default());
    loop {
        let places = look_around(daemon, &mut lookout).await;
        if seen.as_ref() != Some(&places.stamps) {
            told.read(daemon).await;
            // What could not be taken is tried again with the next news.
            seen = told.failed.is_none().then_some(places.stamps);
        }
        lookout.news().await;
        settle(&lookout).await;
    }
}

/// Watches every directory there is, and looks. One that came in between would not be watched, so it looks until there is
/// none.
async fn look_around(daemon: &Arc<Daemon>, lookout: &mut Lookout) -> Places {
    let mut watched = Vec::new();
    loop {
        let places = look(daemon).await;
        if places.directories == watched {
            return places;
        }
        lookout.watch(&places.directories);
        watched = places.directories;
    }
}

/// What was said already: each error and each warning is told once.
#[derive(Default)]
struct Told {
    failed: Option<String>,
    warnings: Option<Vec<String>>,
}

impl Told {
    /// Reads everything again. Where that fails, what was in effect stays in effect.
    async fn read(&mut self, daemon: &Daemon) {
        self.failed = match daemon.reread(self.warnings.as_deref()).await {
            Ok(warnings) => {
                self.warnings = Some(warnings);
                None
            }
            Err(error) => {
                let error = error.to_string();
                if self.failed.as_ref() != Some(&error) {
                    tracing::error!(target: "covenant", "a file changed, and nothing was taken from it: {error}");
                }
                Some(error)
            }
        };
    }
}

/// Waits until whoever writes has finished.
async fn settle(lookout: &Lookout) {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end && timeout(QUIET, lookout.news()).await.is_ok() {}
}

/// Where to look, and what is there.
struct Places {
    directories: Vec<PathBuf>,
    stamps: Vec<(Option<Stamp>, PathBuf)>,
}

/// What tells one state of a file from another.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    mode: u32,
    changed: (i64, i64),
}

async fn look(daemon: &Arc<Daemon>) -> Places {
    let daemon = Arc::clone(daemon);
    let looked = tokio::task::spawn_blocking(move || {
        let (home, config) = (&daemon.home, daemon.config());
        let mut directories = BTreeSet::from([home.root().to_owned()]);
        let mut files = BTreeSet::from([home.config(), home.secrets()]);
        for place in config.plugins.places(home, &*daemon.environment) {
            let plugins = plugins::plugins(&place).unwrap_or_default();
            files.extend(plugins.iter().flat_map(|plugin| plugins::files(plugin)));
            directories.extend(plugins);
            // Where it is not there yet, it is seen to come.
            directories.extend(place.parent().map(Path::to_owned));
            directories.insert(place);
        }
        // A file that is a link changes where it really lies.
        let real = files.iter().filter_map(|file| Some(file.canonicalize().ok()?.parent()?.to_owned()));
        directories.extend(real.collect::<Vec<_>>());
        let stamps = files.into_iter().map(|file| (stamp(&file), file)).collect();
        Places { directories: directories.into_iter().collect(), stamps }
    });
    looked.await.unwrap_or(Places { directories: Vec::new(), stamps: Vec::new() })
}

fn stamp(file: &Path) -> Option<Stamp> {
    let found = file.metadata().ok()?;
    Some(Stamp {
        device: found.dev(),
        inode: found.ino(),
        size: found.size(),
        mode: found.mode(),
        changed: (found.ctime(), found.ctime_nsec()),
    })
}
