//! How long and how many: the bounds of every argument, in characters and items; names of repositories, branches and worktrees are
//! held to theirs in bytes too. The schemas say the same.

/// The longest title.
pub const TITLE: usize = 300;
/// The longest description, scope, summary or note.
pub const TEXT: usize = 8_000;
/// The longest reason.
pub const REASON: usize = 2_000;
/// The longest component.
pub const COMPONENT: usize = 40;
/// The longest name of an agent, a provider or a model.
pub const NAME: usize = 128;
/// The longest type of an agent.
pub const AGENT_TYPE: usize = 64;
/// The longest version of a companion.
pub const VERSION: usize = 64;
/// The longest key of a call.
pub const KEY: usize = 128;
/// The longest name of a repository or a path.
pub const PATH: usize = 512;
/// The longest name of a branch.
pub const BRANCH: usize = 256;
/// The longest handle.
pub const HANDLE: usize = 64;
/// The longest hash or commit in a snapshot.
pub const COMMIT: usize = 300;
/// The longest item of a list in a context.
pub const ITEM: usize = 1_000;
/// The longest word on what an agent does.
pub const ACTIVITY: usize = 1_000;

/// The most target files of a task.
pub const TARGET_FILES: usize = 50;
/// The most verdicts on candidates.
pub const VERDICTS: usize = 50;
/// The most repositories a companion registers.
pub const REPOS: usize = 256;
/// The most files, hashes or commits in one list of a snapshot.
pub const SNAPSHOT: usize = 1_000;
/// The most bytes of a whole snapshot.
pub const SNAPSHOT_BYTES: usize = 128 * 1024;
/// The most items in one list of a context.
pub const ITEMS: usize = 100;
/// The most rows of feedback, or of one list of the state, that are told at once.
pub const FEEDBACK: u64 = 100;
/// The longest life of a context, in hours.
pub const TTL_HOURS: u64 = 168;
/// The most bytes of a whole context, as it is kept.
pub const CONTEXT: usize = 128 * 1024;

/// The most paths of a claim.
pub const CLAIM_PATHS: usize = 64;
/// The most `*` and `**` in one path of a claim.
pub const STARS: usize = 16;
/// The most claims that one developer holds at a time.
pub const CLAIMS: usize = 200;
/// The most claims that a team holds at a time.
pub const TEAM_CLAIMS: usize = 5_000;
/// The longest life of a claim that nobody renews, in minutes.
pub const TTL_MINUTES: u64 = 1_440;
/// The longest message to teammates.
pub const MESSAGE: usize = 2_000;
/// The most replies to one ask.
pub const REPLIES: usize = 100;
/// The most messages that are told at once.
pub const INBOX: u64 = 100;
