//! Who did what a caller sees, each looked up once.

use std::collections::BTreeMap;

use covenant_model::id::{AgentSessionId, DeveloperId};

use crate::perform::Seat;
use crate::port::{Kept, Member, TeamTx};
use crate::rules::privacy;

/// The members that were asked for.
#[derive(Default)]
pub(super) struct People(BTreeMap<DeveloperId, Member>);

impl People {
    /// Whoever has that id. One that is not known any more is nobody's business.
    pub(super) async fn with(
        &mut self,
        tx: &mut impl TeamTx,
        seat: &Seat,
        id: &DeveloperId,
    ) -> Kept<&Member> {
        let known = match self.0.remove(id) {
            Some(known) => Some(known),
            None if *id == seat.member.id => Some(seat.member.clone()),
            None => tx.member_with(id).await?,
        };
        let member = known.unwrap_or_else(|| Member {
            id: id.clone(),
            workspace: seat.member.workspace.clone(),
            handle: String::new(),
            private: true,
        });
        Ok(self.0.entry(id.clone()).or_insert(member))
    }

    /// What the caller sees of whoever has that id.
    pub(super) async fn name(&mut self, tx: &mut impl TeamTx, seat: &Seat, id: &DeveloperId) -> Kept<String> {
        let member = self.with(tx, seat, id).await?;
        Ok(privacy::shown(member, &seat.member.id).to_owned())
    }

    /// The session of somebody who was asked for, where the caller may know whose it is.
    pub(super) fn session<'s>(
        &self,
        seat: &Seat,
        id: &DeveloperId,
        session: Option<&'s AgentSessionId>,
    ) -> Option<&'s str> {
        let hidden = self.0.get(id).is_none_or(|member| privacy::is_hidden(member, &seat.member.id));
        session.filter(|_| !hidden).map(AgentSessionId::as_str)
    }
}
