//! The steps between a directory and its remote: look where it stands, bring what is new, send what is ours.

use std::path::Path;
use std::time::Duration;

use super::run::{Ran, Runs};
use super::trouble::{Trouble, told};

/// How long a step may take: here, with the remote, and with the remote while somebody only wants to read.
const HERE: Duration = Duration::from_mins(1);
const THERE: Duration = Duration::from_mins(1);
const SOON: Duration = Duration::from_secs(15);

/// How often is tried again to push where others push at the same time.
const ATTEMPTS: usize = 3;

/// How many names are put to git at once.
const AT_ONCE: usize = 200;

/// Traces of what somebody began and has not finished.
const UNDERWAY: [(&str, &str); 6] = [
    ("MERGE_HEAD", "merge"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
];

/// Where a branch stands.
#[derive(Debug, Default)]
struct Standing {
    branch: String,
    upstream: bool,
    ahead: u64,
    behind: u64,
    /// Whether anything was ever committed.
    begun: bool,
}

/// Brings what is new at the remote.
pub(super) async fn bring(git: &dyn Runs) -> Result<(), Trouble> {
    let standing = ready(git).await?;
    if !standing.upstream {
        return Err(Trouble::NoUpstream(standing.branch));
    }
    fetch(git, SOON).await?;
    join(git).await.map(drop)
}

/// Commits that file alone, and brings it to the remote.
pub(super) async fn send(git: &dyn Runs, path: &str, message: &str) -> Result<(), Trouble> {
    let standing = ready(git).await?;
    commit(git, path, message).await?;
    if !standing.upstream {
        return Err(Trouble::NoUpstream(standing.branch));
    }
    let mut attempt = 1;
    loop {
        fetch(git, THERE).await?;
        if join(git).await?.ahead == 0 {
            return Ok(());
        }
        let pushed = run(git, "push", &["-c", "push.default=upstream", "push", "--quiet"], THERE).await?;
        if pushed.is_well() {
            return Ok(());
        }
        // Somebody else was faster: what he pushed is brought first.
        let again = pushed.said.contains("[rejected]") || pushed.said.contains("fetch first");
        if !again || attempt == ATTEMPTS {
            return Err(Trouble::Failed { what: "push", said: told(&pushed.said) });
        }
        attempt += 1;
    }
}

/// Where the directory stands, if it can be worked with.
async fn ready(git: &dyn Runs) -> Result<Standing, Trouble> {
    let found = run(git, "look at the vault", &["rev-parse", "--git-dir"], HERE).await?;
    if !found.is_well() {
        let none = found.said.contains("not a git repository");
        return Err(if none { Trouble::NoRepository } else { failed("look at the vault", &found) });
    }
    let place = git.directory().join(found.out.trim_end_matches('\n'));
    let underway = UNDERWAY.iter().find(|(trace, _)| place.join(trace).exists());
    if let Some((_, what)) = underway {
        return Err(Trouble::Underway(what));
    }
    let standing = standing(git).await?;
    if standing.branch == "(detached)" { Err(Trouble::Detached) } else { Ok(standing) }
}

async fn standing(git: &dyn Runs) -> Result<Standing, Trouble> {
    let status = ["status", "--porcelain=v2", "--branch", "--untracked-files=no", "--ignore-submodules=all"];
    let found = well("look at the vault", run(git, "look at the vault", &status, HERE).await?)?;
    let mut standing = Standing::default();
    for line in found.out.lines().filter_map(|line| line.strip_prefix("# branch.")) {
        match line.split_once(' ') {
            Some(("oid", oid)) => standing.begun = oid != "(initial)",
            Some(("head", branch)) => branch.clone_into(&mut standing.branch),
            Some(("upstream", _)) => standing.upstream = true,
            Some(("ab", counts)) => {
                let mut counts = counts.split(['+', '-', ' ']).filter_map(|count| count.parse().ok());
                standing.ahead = counts.next().unwrap_or_default();
                standing.behind = counts.next().unwrap_or_default();
            }
            _ => {}
        }
    }
    Ok(standing)
}

async fn fetch(git: &dyn Runs, within: Duration) -> Result<(), Trouble> {
    let fetch = ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules"];
    well("reach the vault's remote", run(git, "reach the vault's remote", &fetch, within).await?).map(drop)
}

/// Puts what was fetched and what is ours together, and says where that leads. What conflicts is found out before anything
/// is touched.
async fn join(git: &dyn Runs) -> Result<Standing, Trouble> {
    let before = standing(git).await?;
    let what = "put the remote's changes and the vault together";
    if before.behind == 0 {
        // A remote that is still empty takes everything.
        return Ok(Standing {
            ahead: before.ahead.max(u64::from(before.begun && !known(git).await?)),
            ..before
        });
    }
    let blocked = in_the_way(git).await?;
    if !blocked.is_empty() {
        return Err(Trouble::InTheWay(blocked));
    }
    if before.ahead == 0 {
        let merge = ["merge", "--ff-only", "--no-squash", "--no-overwrite-ignore", "--quiet", "@{upstream}"];
        well(what, run(git, what, &merge, HERE).await?)?;
        return standing(git).await;
    }
    let tried = ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", "HEAD", "@{upstream}"];
    let tried = run(git, what, &tried, HERE).await?;
    if tried.code == Some(1) {
        return Err(Trouble::Conflict(names(&tried.out).skip(1).map(str::to_owned).collect()));
    }
    // An older git does not know how to try; then the merge itself says, and is taken back.
    let mut arguments = identity(git).await?;
    let plainly = ["merge", "--commit", "--no-squash", "--no-edit", "--no-verify", "--quiet", "@{upstream}"];
    arguments.extend(plainly);
    let merged = run(git, what, &arguments, HERE).await?;
    if merged.is_well() {
        return standing(git).await;
    }
    let unmerged = run(git, what, &["diff", "--name-only", "--diff-filter=U", "-z"], HERE).await?;
    let files: Vec<String> = names(&unmerged.out).map(str::to_owned).collect();
    if files.is_empty() {
        return Err(failed(what, &merged));
    }
    well(what, run(git, what, &["merge", "--abort"], HERE).await?)?;
    Err(Trouble::Conflict(files))
}

/// What lies here under names that are new at the remote, and that no commit holds. Git writes over such files where it is
/// told to ignore them.
async fn in_the_way(git: &dyn Runs) -> Result<Vec<String>, Trouble> {
    let what = "look at the vault";
    // A name that something else had before is new, too.
    let added = [
        "diff",
        "--name-only",
        "--no-renames",
        "--no-ext-diff",
        "--diff-filter=A",
        "-z",
        "HEAD...@{upstream}",
    ];
    let added = well(what, run(git, what, &added, HERE).await?)?;
    let mut taken: Vec<&str> = names(&added.out).filter_map(|name| taken(git.directory(), name)).collect();
    taken.dedup();
    let mut blocked = Vec::new();
    for some in taken.chunks(AT_ONCE) {
        let mut others = vec!["ls-files", "--others", "-z", "--"];
        others.extend(some);
        let others = well(what, run(git, what, &others, HERE).await?)?;
        blocked.extend(names(&others.out).map(str::to_owned));
    }
    Ok(blocked)
}

/// The place that something already has where a file of that name would come: the name itself, or a directory of it that is none.
fn taken<'n>(directory: &Path, name: &'n str) -> Option<&'n str> {
    let ends = name.match_indices('/').map(|(at, _)| at).chain([name.len()]);
    for part in ends.filter_map(|end| name.get(..end)) {
        match directory.join(part).symlink_metadata() {
            Ok(found) if found.is_dir() && part.len() < name.len() => {}
            Ok(_) => return Some(part),
            Err(_) => return None,
        }
    }
    None
}

/// What git lists with `-z`.
fn names(listed: &str) -> impl Iterator<Item = &str> {
    listed.split('\0').filter(|name| !name.is_empty())
}

/// Whether the branch that ours follows is there.
async fn known(git: &dyn Runs) -> Result<bool, Trouble> {
    let found =
        run(git, "look at the vault", &["rev-parse", "--quiet", "--verify", "@{upstream}"], HERE).await?;
    Ok(found.is_well())
}

/// Commits that file, whatever else is changed or staged. Where it is as it was, there is nothing to commit.
async fn commit(git: &dyn Runs, path: &str, message: &str) -> Result<(), Trouble> {
    let what = "commit the note";
    let added = run(git, what, &["add", "--", path], HERE).await?;
    if !added.is_well() {
        let ignored = added.said.contains("ignored by one of your .gitignore");
        return Err(if ignored { Trouble::Ignored(path.to_owned()) } else { failed(what, &added) });
    }
    let changed = run(git, what, &["diff", "--cached", "--quiet", "--no-ext-diff", "--", path], HERE).await?;
    if changed.is_well() {
        return Ok(());
    }
    let mut arguments = identity(git).await?;
    let message = format!("--message={message}");
    arguments.extend(["commit", "--quiet", "--no-verify", "--only", &message, "--", path]);
    well(what, run(git, what, &arguments, HERE).await?).map(drop)
}

/// Who commits, where nobody said.
async fn identity(git: &dyn Runs) -> Result<Vec<&'static str>, Trouble> {
    let named = run(git, "look at the vault", &["config", "--get", "user.email"], HERE).await?;
    let ours = ["-c", "user.name=Covenant", "-c", "user.email=covenant@localhost"];
    Ok(if named.is_well() { Vec::new() } else { ours.to_vec() })
}

async fn run(
    git: &dyn Runs,
    what: &'static str,
    arguments: &[&str],
    within: Duration,
) -> Result<Ran, Trouble> {
    git.run(arguments, within).await.map_err(|said| Trouble::Failed { what, said })
}

fn well(what: &'static str, ran: Ran) -> Result<Ran, Trouble> {
    if ran.is_well() { Ok(ran) } else { Err(failed(what, &ran)) }
}

fn failed(what: &'static str, ran: &Ran) -> Trouble {
    let said = if ran.said.trim().is_empty() { &ran.out } else { &ran.said };
    Trouble::Failed { what, said: told(said) }
}
