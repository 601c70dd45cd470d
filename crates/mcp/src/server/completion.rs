//! Completing arguments of prompts and resource templates, for providers that can.

use std::sync::Arc;

use serde_json::value::RawValue;

use super::{Asked, Kind, Received, Session};
use crate::outlet::Outlet;
use crate::reply::RpcError;

impl Session {
    pub(super) fn complete(
        self: &Arc<Self>,
        asked: Asked<'_>,
        outlet: &Arc<dyn Outlet>,
    ) -> Result<Received, RpcError> {
        let raw = asked.raw.map_or("{}", RawValue::get);
        let params = serde_json::from_str(raw).map_err(RpcError::invalid_params)?;
        self.start(asked, outlet, Kind::Unasking, |gate, admitted, context| async move {
            gate.complete(admitted, params, context).await
        })
    }
}
