//! Listing and reading resources, for providers that have some.

use std::sync::Arc;

use serde_json::Value;

use super::{Asked, Kind, Received, Session};
use crate::outlet::Outlet;
use crate::params::required;
use crate::reply::{Cache, RpcError};

/// Whoever is granted or refused something must see it at once, so nothing is to be kept.
pub(super) const FRESH: Cache = Cache::PrivateMillis(0);

/// How many resources one client may follow.
pub(super) const FOLLOWED: usize = 256;

/// The longest URI of a resource that can be followed.
pub(super) const LONGEST_URI: usize = 2048;

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
        let kind = Kind::Resource(self.gate.redactor().shown(&uri, LONGEST_URI));
        self.start(asked, outlet, kind, |gate, admitted, context| async move {
            gate.read_resource(admitted, &uri, context).await
        })
    }

    /// A legacy client wants to hear when that resource changes.
    pub(super) fn follow(&self, asked: Asked<'_>) -> Result<Received, RpcError> {
        let uri = required("uri", asked.params.uri)?.into_owned();
        let followed = self.gate.may_follow(&asked.admitted, &uri);
        let kind = || Kind::Resource(self.gate.redactor().shown(&uri, LONGEST_URI));
        followed.map_err(|refusal| kind().error(refusal.into(), asked.era))?;
        let mut state = self.state.lock();
        let full = state.follows.len() >= FOLLOWED && !state.follows.contains(&uri);
        if full || uri.len() > LONGEST_URI {
            let reason =
                format!("a client may follow {FOLLOWED} resources of {LONGEST_URI} bytes: end one first");
            return Err(RpcError::invalid_params(reason));
        }
        state.follows.insert(uri);
        drop(state);
        Ok(asked.own("{}", Cache::Unsaid))
    }

    /// It does not any more.
    pub(super) fn unfollow(&self, asked: Asked<'_>) -> Result<Received, RpcError> {
        let uri = required("uri", asked.params.uri)?;
        self.state.lock().follows.remove(uri.as_ref());
        Ok(asked.own("{}", Cache::Unsaid))
    }
}
