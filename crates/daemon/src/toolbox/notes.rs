//! The notes of a daemon: its vault and its memory, each with a search index in the home.

use std::sync::Arc;

use covenant_gate::Clock;
use covenant_model::note::Index;
use covenant_store::NoteIndex;
use covenant_tools::ports::{Environment, Indexes, Programs};
use covenant_tools::recall::Recall;
use covenant_tools::settings;
use covenant_tools::vault::{Ground, Vault};

use crate::home::Home;

/// Opens indexes in that home.
fn indexes(home: &Home) -> Indexes {
    let directory = home.index();
    Arc::new(move |name, of| {
        let opened = NoteIndex::open(&directory.join(format!("{name}.db")), of);
        opened.map(|index| Arc::new(index) as Arc<dyn Index>).map_err(|error| error.to_string())
    })
}

/// The vault, which begins to be indexed.
pub(super) fn vault(
    settings: &settings::Vault,
    home: &Home,
    programs: Arc<dyn Programs>,
    environment: Environment,
    clock: Arc<dyn Clock>,
) -> Arc<Vault> {
    let vault = Vault::new(settings, Ground { indexes: indexes(home), programs, environment, clock });
    vault.begin();
    vault
}

/// What everybody remembers.
pub(crate) fn recall(home: &Home, clock: &Arc<dyn Clock>) -> Arc<Recall> {
    Arc::new(Recall::new(home.memory(), indexes(home), Arc::clone(clock)))
}
