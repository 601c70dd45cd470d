//! Who the people in a list are to whoever looks at it: read once for all of them, and shown as far as the viewer may know.

use std::collections::{BTreeMap, BTreeSet};

use covenant_model::id::DeveloperId;

use crate::perform::Seat;
use crate::perform::outcome::Stop;
use crate::port::{Member, TeamTx};
use crate::rules::privacy;

/// The people of a list.
pub(super) struct Faces {
    viewer: DeveloperId,
    known: BTreeMap<DeveloperId, Member>,
}

impl Faces {
    /// Reads who these are.
    pub(super) async fn of<'d>(
        tx: &mut impl TeamTx,
        seat: &Seat,
        ids: impl IntoIterator<Item = &'d DeveloperId>,
    ) -> Result<Self, Stop> {
        let ids: BTreeSet<DeveloperId> = ids.into_iter().cloned().collect();
        let ids: Vec<DeveloperId> = ids.into_iter().collect();
        let members = tx.members_with(&ids).await?;
        let known = members.into_iter().map(|member| (member.id.clone(), member)).collect();
        Ok(Self { viewer: seat.member.id.clone(), known })
    }

    /// What the viewer sees of somebody.
    pub(super) fn owner(&self, id: &DeveloperId) -> &str {
        self.known.get(id).map_or(privacy::PRIVATE, |member| privacy::shown(member, &self.viewer))
    }

    /// Whether the viewer may not know who that is.
    pub(super) fn is_hidden(&self, id: &DeveloperId) -> bool {
        self.known.get(id).is_none_or(|member| privacy::is_hidden(member, &self.viewer))
    }

    /// Whether anybody may not know who that is: what is written down is read by others than the viewer.
    pub(super) fn is_private(&self, id: &DeveloperId) -> bool {
        self.known.get(id).is_none_or(|member| member.private)
    }

    /// Whether that is the viewer.
    pub(super) fn is_viewer(&self, id: &DeveloperId) -> bool {
        *id == self.viewer
    }
}
