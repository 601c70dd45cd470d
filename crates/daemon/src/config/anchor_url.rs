//! `audit.anchor_url`: where checkpoints are posted. It may hold credentials, so it is shown without them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Invalid;
use crate::outbound::Address;

/// A URL, or nothing.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AnchorUrl(String);

impl AnchorUrl {
    /// Where it leads; `None` if checkpoints are not posted.
    pub(crate) fn address(&self) -> Option<Address> {
        Address::parse(&self.0).ok()
    }

    /// The same without user and query.
    pub(super) fn shown(&self) -> Self {
        Self(self.address().map(|address| address.shown()).unwrap_or_default())
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        if self.0.is_empty() {
            return Ok(());
        }
        let invalid =
            |reason: crate::outbound::BadAddress| Invalid::new("audit.anchor_url", reason.to_string());
        Address::parse(&self.0).map(drop).map_err(invalid)
    }
}

impl fmt::Debug for AnchorUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.shown().0)
    }
}
