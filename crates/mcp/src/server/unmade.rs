//! Calls whose requests were answered with an error before the gate was called: the tool that was meant learns of them.

use std::time::Duration;

use covenant_gate::{Caller, Credential, Gate, Refusal};

use super::Session;
use crate::message::Request;
use crate::params::Ask;
use crate::reply::RpcError;

impl Session {
    /// The tool that was called, if it is a call, learns of one that its caller may not make, or not now.
    pub(super) fn refused(&self, caller: Option<&Caller>, ask: &Ask<'_>, refusal: &Refusal) {
        if let Some(tool) = ask.tool() {
            self.gate.missed(caller, &tool, refusal.clone());
        }
    }

    /// It learns of one whose request was wrong.
    pub(super) fn unfit(&self, caller: &Caller, ask: &Ask<'_>, error: &RpcError) {
        if let Some(tool) = ask.tool() {
            self.gate.missed(Some(caller), &tool, wrong(&tool, error));
        }
    }

    /// It learns of one that came when too many were under way already.
    pub(crate) fn crowded_out(&self, credential: &Credential, request: Request<'_>) {
        let caller = self.gate.authenticate(credential);
        let refusal = caller.as_ref().err().cloned();
        let refusal = refusal.unwrap_or(Refusal::RateLimited { wait: Duration::ZERO });
        self.refused(caller.as_ref().ok(), &Ask::read(request), &refusal);
    }

    /// It learns of one that came to no session. Its request was not counted yet: nobody has such calls written down as often
    /// as they like.
    pub fn turned_away(gate: &Gate, caller: &Caller, ask: &Ask<'_>, error: &RpcError) {
        if let Some(tool) = ask.tool() {
            let refusal = gate.admit(caller).err().unwrap_or_else(|| wrong(&tool, error));
            gate.missed(Some(caller), &tool, refusal);
        }
    }
}

fn wrong(tool: &str, error: &RpcError) -> Refusal {
    Refusal::InvalidArguments { tool: tool.to_owned(), reason: error.message.clone() }
}
