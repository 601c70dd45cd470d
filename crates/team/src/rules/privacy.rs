//! Who sees who it is: a private developer is `@private` to everybody else.

use covenant_model::id::DeveloperId;

use crate::port::Member;

/// What others see of a private developer.
pub const PRIVATE: &str = "@private";

/// How a viewer sees that member.
pub fn shown<'m>(member: &'m Member, viewer: &DeveloperId) -> &'m str {
    if is_hidden(member, viewer) { PRIVATE } else { &member.handle }
}

/// Whether a viewer may not know that member by its handle.
pub fn is_hidden(member: &Member, viewer: &DeveloperId) -> bool {
    member.private && member.id != *viewer
}

#[cfg(test)]
mod tests {
    use covenant_model::id::WorkspaceId;

    use super::*;

    #[test]
    fn a_private_developer_is_known_to_itself_alone() {
        let member = |number, private| Member {
            id: DeveloperId::from_random([number; 10]),
            workspace: WorkspaceId::from_random([0; 10]),
            handle: "ada".to_owned(),
            private,
        };
        let other = DeveloperId::from_random([9; 10]);
        assert_eq!(shown(&member(1, false), &other), "ada");
        assert_eq!(shown(&member(1, true), &other), PRIVATE);
        assert_eq!(shown(&member(1, true), &member(1, true).id), "ada");
    }
}
