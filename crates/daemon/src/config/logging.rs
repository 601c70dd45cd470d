//! `[logging]`: how much is logged, and in which form.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The keys of this section.
pub(super) const KEYS: &[&str] = &["level", "format"];

/// What is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Logging {
    /// From which level on.
    pub level: Level,
    /// In which form.
    pub format: Format,
}

/// How much a line matters, most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Something broke.
    Error,
    /// Something may break.
    Warn,
    /// What an operator wants to see.
    #[default]
    Info,
    /// Each request.
    Debug,
    /// Everything.
    Trace,
}

/// How a line is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.to_ascii_lowercase().as_str() {
            "error" => Ok(Self::Error),
            "warn" => Ok(Self::Warn),
            "info" => Ok(Self::Info),
            "debug" => Ok(Self::Debug),
            "trace" => Ok(Self::Trace),
            _ => {
                let shown: String = text.chars().take(32).flat_map(char::escape_debug).collect();
                Err(format!("is `{shown}`: write error, warn, info, debug or trace"))
            }
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        })
    }
}
