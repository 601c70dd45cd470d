//! Which approvals a client of the handshake's era was told a page of, so that it hears when one is decided.

use std::collections::VecDeque;

use covenant_gate::inquiry::Inquiry;
use covenant_gate::{CallError, Redacted, Refusal};
use covenant_model::id::ApprovalId;
use parking_lot::Mutex;
use serde_json::{Value, json};

/// How many are remembered; of more, the latest.
const MOST: usize = 64;

/// What one client was told of, and not yet that it is over.
#[derive(Default)]
pub(super) struct Told(Mutex<VecDeque<ApprovalId>>);

impl Told {
    /// What the answer to a request tells of.
    pub(super) fn by(&self, result: &Result<Redacted, CallError>) {
        if let Err(CallError::Refused(Refusal::PendingApproval { id, page: Some(_), .. })) = result {
            self.remember(id.clone());
        }
    }

    /// What a question to the client tells of.
    pub(super) fn in_question(&self, inquiry: &Inquiry) {
        let id = inquiry.params().get("elicitationId").and_then(Value::as_str);
        if let Some(id) = id.and_then(|id| id.parse().ok()) {
            self.remember(id);
        }
    }

    fn remember(&self, id: ApprovalId) {
        let mut told = self.0.lock();
        if !told.contains(&id) {
            told.push_back(id);
        }
        if told.len() > MOST {
            told.pop_front();
        }
    }

    /// The message that says that it is decided, without a line end; once, and only if the client was told of it.
    pub(super) fn over(&self, id: &ApprovalId) -> Option<Vec<u8>> {
        let mut told = self.0.lock();
        let place = told.iter().position(|known| known == id)?;
        told.remove(place);
        let params = json!({ "elicitationId": id });
        let message =
            json!({ "jsonrpc": "2.0", "method": "notifications/elicitation/complete", "params": params });
        Some(message.to_string().into_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_hears_once_of_what_it_was_told_and_of_nothing_else() {
        let ids: Vec<_> = (0..=64).map(|n| ApprovalId::from_random([n; 10])).collect();
        let told = Told::default();
        assert_eq!(told.over(&ids[0]), None);
        let refusal = |page| Refusal::PendingApproval { tool: String::new(), id: ids[1].clone(), page };
        told.by(&Err(refusal(None).into()));
        assert_eq!(told.over(&ids[1]), None, "it was told an id, and no page");
        told.by(&Err(refusal(Some("http://localhost/".to_owned())).into()));
        told.in_question(&Inquiry::elicit(json!({"elicitationId": ids[1]})));
        let message: Value = serde_json::from_slice(&told.over(&ids[1]).unwrap()).unwrap();
        assert_eq!(message["params"], json!({"elicitationId": ids[1]}));
        assert_eq!(told.over(&ids[1]), None);
        for id in &ids {
            told.remember(id.clone());
        }
        assert!(told.over(&ids[0]).is_none() && told.over(&ids[64]).is_some(), "the latest are kept");
    }
}
