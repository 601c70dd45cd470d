//! What is told of a server: its status, and the words for how it is reached.

use std::sync::atomic::Ordering;

use covenant_model::server::{EraChoice, Prefix, Reach, ServerState, ServerStatus, WebTransport};

use super::server::Server;

impl Server {
    /// How it is now.
    pub(super) fn status(&self, source: &str) -> ServerStatus {
        let mut offer = self.shared.catalogue.offer(&self.name);
        let moment = self.moment.borrow().clone();
        let redactor = self.shared.gate.redactor();
        for refused in &mut offer.refused {
            refused.tool = redactor.shown(&refused.tool, 200);
            refused.reason = redactor.shown(&refused.reason, 1000);
        }
        let spoken = moment.line.as_ref().map(|line| (line.peer.transport(), line.peer.era()));
        let era = spoken.map(|(_, era)| era).or(*self.era.lock());
        ServerStatus {
            name: self.name.to_string(),
            connected: moment.state == ServerState::Ready,
            state: moment.state,
            tool_count: offer.tools.len(),
            tools: offer.tools,
            error: moment
                .error
                .map(|error| redactor.shown(&format!("the server `{}` {error}", self.name), 4096)),
            refused: offer.refused,
            prefix: prefix(&self.plan.prefix),
            transport: spoken.map_or(transport(&self.plan.reach), |(transport, _)| transport).to_owned(),
            era: era.and_then(era_word).map(str::to_owned),
            source: source.to_owned(),
            restarts: self.restarts.load(Ordering::Relaxed),
        }
    }
}

/// The word for an era, once it is known.
pub(super) fn era_word(era: EraChoice) -> Option<&'static str> {
    match era {
        EraChoice::Auto => None,
        EraChoice::Legacy => Some("legacy"),
        EraChoice::Modern => Some("modern"),
    }
}

/// So many tools, in words.
pub(super) fn tools(count: usize) -> String {
    if count == 1 { "1 tool".to_owned() } else { format!("{count} tools") }
}

/// What stands before a server's tools; nothing where they have their own names.
pub(super) fn prefix(prefix: &Prefix) -> String {
    match prefix {
        Prefix::Named(prefix) => prefix.clone(),
        Prefix::None => String::new(),
    }
}

/// How a server is spoken to, before it was.
pub(super) fn transport(reach: &Reach) -> &'static str {
    match reach {
        Reach::Program(_) => "stdio",
        Reach::Web(web) if web.transport == WebTransport::Sse => "sse",
        Reach::Web(_) => "http",
    }
}
