//! Listing and reading resources, for providers that have some.

use std::sync::Arc;

use serde_json::Value;

use super::{Asked, Kind, Received, Session};
use crate::outlet::Outlet;
use crate::params::required;
use crate::reply::{Cache, RpcError};

/// Whoever is granted or refused something must see it at once, so nothing is to be kept.
pub(super) const FRESH: Cache = Cache::PrivateMillis(0);

/// A list result of one page.
pub(super) fn page(member: &str, items: Vec<Value>) -> String {
    format!(r#"{{"{member}":{}}}"#, Value::Array(items))
}

impl Session {
    pub(super) fn list_resources(&self, asked: Asked<'_>) -> Result<Received, RpcError> {
        asked.params.first_page()?;
        let items = self.gate.resources(&asked.admitted);
        Ok(asked.own(page("resources", items), FRESH))
    }

    pub(super) fn list_templates(&self, asked: Asked<'_>) -> Result<Received, RpcError> {
        asked.params.first_page()?;
        let items = self.gate.resource_templates(&asked.admitted);
        Ok(asked.own(page("resourceTemplates", items), FRESH))
    }

    pub(super) fn read_resource(
        self: &Arc<Self>,
        asked: Asked<'_>,
        outlet: &Arc<dyn Outlet>,
    ) -> Result<Received, RpcError> {
        let uri = required("uri", asked.params.uri)?.into_owned();
        Ok(self.start(asked, outlet, Kind::Resource, |gate, admitted, context| async move {
            gate.read_resource(admitted, &uri, context).await
        }))
    }
}
