//! Listing and getting prompts, for providers that have some.

use std::sync::Arc;

use super::resources::{FRESH, page};
use super::{Asked, Kind, Received, Session};
use crate::outlet::Outlet;
use crate::params::required;
use crate::reply::RpcError;

impl Session {
    pub(super) fn list_prompts(&self, asked: Asked<'_>) -> Result<Received, RpcError> {
        asked.params.first_page()?;
        let items = self.gate.prompts(&asked.admitted);
        Ok(asked.own(page("prompts", items), FRESH))
    }

    pub(super) fn get_prompt(
        self: &Arc<Self>,
        asked: Asked<'_>,
        outlet: &Arc<dyn Outlet>,
    ) -> Result<Received, RpcError> {
        let name = required("name", asked.params.name)?.into_owned();
        let arguments = asked.params.arguments()?;
        self.start(asked, outlet, Kind::Prompt, |gate, admitted, context| async move {
            gate.get_prompt(admitted, &name, arguments, context).await
        })
    }
}
