//! How much of what tools say a legacy client wants to hear. A modern one says so with each request.

use super::{Asked, Received, Session};
use crate::params::level;
use crate::reply::{Cache, RpcError};

impl Session {
    pub(super) fn set_level(&self, asked: Asked<'_>) -> Result<Received, RpcError> {
        let raw = asked.params.level.ok_or_else(|| RpcError::invalid_params("`level` is missing"))?;
        self.state.lock().level = level("level", raw)?;
        Ok(asked.own("{}", Cache::Unsaid))
    }
}
