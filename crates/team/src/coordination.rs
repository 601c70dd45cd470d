//! What teammates tell each other and keep for themselves for a while: claims on paths, who waits for them, and messages.

use covenant_model::id::{AgentSessionId, AskId, ClaimId, DeveloperId, MessageId, WorkspaceId};
use covenant_model::time::Timestamp;
use serde_json::{Map, Value};

use crate::work::words;

words!(/// How a claim ended.
Ending {
    /// Its holder gave it up.
    Released = "released",
    /// Nobody renewed it.
    Expired = "expired",
});

words!(/// What a message is.
MessageKind {
    /// A word to everybody.
    Announce = "announce",
    /// A question.
    Ask = "ask",
    /// An answer, or a word that the asker adds.
    Reply = "reply",
    /// Work that somebody else is to go on with.
    Handoff = "handoff",
    /// A claim that was in one's way is gone.
    Freed = "freed",
    /// One's own claim is over.
    Expired = "expired",
});

impl MessageKind {
    /// Whether somebody said it, and has it among what they sent; the others tell what became of a claim.
    pub fn is_said(self) -> bool {
        matches!(self, Self::Announce | Self::Ask | Self::Reply | Self::Handoff)
    }
}

/// A lease on paths of a repository. It counts until it has an end: whoever notices that its time is over gives it one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// What it is called by.
    pub id: ClaimId,
    /// Whose team's it is.
    pub workspace: WorkspaceId,
    /// Who holds it.
    pub developer: DeveloperId,
    /// In which session; without one it is the developer's own, apart from every session.
    pub session: Option<AgentSessionId>,
    /// In which repository; if empty, in any.
    pub repo: String,
    /// Which paths and globs.
    pub paths: Vec<String>,
    /// What for.
    pub message: Option<String>,
    /// For how long it is renewed, in minutes.
    pub minutes: u64,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it is over unless it is renewed.
    pub expires_at: Timestamp,
    /// How it ended, and when.
    pub ending: Option<(Ending, Timestamp)>,
}

/// Somebody who was refused paths because of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// The claim that is in the way.
    pub claim: ClaimId,
    /// Who waits.
    pub developer: DeveloperId,
    /// For which paths and globs.
    pub paths: Vec<String>,
    /// Since when.
    pub at: Timestamp,
}

/// A message among teammates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// What it is called by.
    pub id: MessageId,
    /// Whose team's it is.
    pub workspace: WorkspaceId,
    /// What it is.
    pub kind: MessageKind,
    /// Who sent it; of what became of a claim, who held that.
    pub developer: DeveloperId,
    /// In which session.
    pub session: Option<AgentSessionId>,
    /// To whom; else to everybody.
    pub to: Option<DeveloperId>,
    /// The ask that it is, or that it is about.
    pub ask: Option<AskId>,
    /// What it says. No handle is in it: who may know whom is decided when it is read.
    pub text: String,
    /// What else there is to know.
    pub details: Map<String, Value>,
    /// When.
    pub at: Timestamp,
    /// When nothing was left to do for it: an ask was answered, a handoff was read; of the others, from the beginning.
    pub closed_at: Option<Timestamp>,
}

/// A message in somebody's inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivered {
    /// The message.
    pub message: Message,
    /// When it was read.
    pub read_at: Option<Timestamp>,
}

/// Whose open messages are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concerning<'d> {
    /// Those to that developer.
    To(&'d DeveloperId),
    /// Those to everybody.
    Everybody,
    /// Those of that developer.
    From(&'d DeveloperId),
}
