//! `[operator]`: how the operator confirms administration.

use serde::{Deserialize, Serialize};

use super::Invalid;

/// The keys of this section.
pub(super) const KEYS: &[&str] = &["confirm"];

/// How the operator confirms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Operator {
    /// Where it is asked.
    pub confirm: Confirm,
}

/// Where the operator is asked before something is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confirm {
    /// Nowhere: a command is enough.
    #[default]
    Never,
    /// On the terminal.
    Terminal,
}

impl Operator {
    pub(super) fn check(self) -> Result<(), Invalid> {
        match self.confirm {
            Confirm::Never => Ok(()),
            // A promise of protection is refused, not ignored.
            Confirm::Terminal => Err(Invalid::new(
                "operator.confirm",
                "is \"terminal\", which this version does not offer; write \"never\" or remove the line",
            )),
        }
    }
}
