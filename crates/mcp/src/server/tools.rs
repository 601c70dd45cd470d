//! Listing and calling tools: what the gate shows this caller, and what it lets it do.

use std::sync::Arc;

use covenant_gate::CallRequest;

use super::{Asked, Kind, Received, Session};
use crate::era::Era;
use crate::headers::check;
use crate::outlet::Outlet;
use crate::params::required;
use crate::reply::{Answer, Body, RpcError};
use crate::trace;

impl Session {
    pub(super) fn list_tools(&self, asked: Asked<'_>) -> Result<Received, RpcError> {
        asked.params.first_page()?;
        let tools = self.gate.tools(&asked.admitted);
        trace::listed(&asked.id, tools.len());
        Ok(Received::Answered(Answer { id: asked.id, era: asked.era, body: Body::Tools(tools) }))
    }

    pub(super) fn call_tool(
        self: &Arc<Self>,
        asked: Asked<'_>,
        outlet: &Arc<dyn Outlet>,
    ) -> Result<Received, RpcError> {
        let name = required("name", asked.params.name)?.into_owned();
        let request = CallRequest { name, arguments: asked.params.arguments()? };
        if let (Era::Modern, Some(headers)) = (asked.era, asked.carrier.headers) {
            for argument in self.gate.header_arguments(&asked.admitted, &request.name) {
                check(&argument, &request.arguments, headers)?;
            }
        }
        let (id, started) = (asked.id.clone(), trace::started());
        self.start(asked, outlet, Kind::Tool, |gate, admitted, context| async move {
            let result = gate.call(admitted, request, context).await;
            trace::completed(&id, started, result.as_ref().is_ok_and(|result| !result.is_error()));
            result
        })
    }
}
