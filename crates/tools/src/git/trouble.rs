//! What can stand between a directory and its remote, as sentences: what happened, and what to do next.

use std::fmt;

/// The most files that one sentence names.
const NAMED: usize = 10;

/// What stands in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// The directory is no repository.
    NoRepository,
    /// Somebody is in the middle of a merge or something like it.
    Underway(&'static str),
    /// No branch is checked out.
    Detached,
    /// The branch of that name follows none at a remote.
    NoUpstream(String),
    /// These were changed here and there.
    Conflict(Vec<String>),
    /// The file is one that the repository ignores.
    Ignored(String),
    /// Git could not do something; what it said.
    Failed {
        /// What it should have done.
        what: &'static str,
        /// What it said.
        said: String,
    },
}

impl Trouble {
    /// The files that were changed here and there.
    pub fn conflicts(&self) -> &[String] {
        match self {
            Self::Conflict(files) => files,
            _ => &[],
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRepository => f.write_str(
                "the vault is not a git repository: make it one with `git init` or `git clone`, or write `git_sync = false` in `[vault]`",
            ),
            Self::Underway(what) => {
                write!(f, "a {what} is under way in the vault: finish it with git, or give it up, and sync again")
            }
            Self::Detached => f.write_str(
                "the vault is on no branch (detached HEAD): check one out with `git switch`, and sync again",
            ),
            Self::NoUpstream(branch) => write!(
                f,
                "branch {branch} of the vault follows no branch at a remote: run `git push -u origin {branch}` there once"
            ),
            Self::Conflict(files) => {
                let named: Vec<&str> = files.iter().take(NAMED).map(String::as_str).collect();
                let more = files.len().saturating_sub(NAMED);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                write!(
                    f,
                    "changed both here and at the remote: {}{more}; both versions are kept, the local one in the vault: \
                     run `git merge` there, settle the conflict and commit",
                    named.join(", ")
                )
            }
            Self::Ignored(path) => {
                write!(f, "{path} is ignored by the vault's .gitignore: take it out there if it should be synced")
            }
            Self::Failed { what, said } => write!(f, "git could not {what}: {said}"),
        }
    }
}

/// What git said, as it can stand in a sentence: the lines that say something, without credentials in addresses.
pub(super) fn told(said: &str) -> String {
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("hint:"));
    let told: String = lines.take(8).collect::<Vec<_>>().join("; ").chars().take(600).collect();
    let told = without_credentials(&told);
    if told.is_empty() { "it did not say why".to_owned() } else { told }
}

/// `https://name:password@host/` without what stands before the host.
fn without_credentials(text: &str) -> String {
    let mut clean = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        clean.push_str(before);
        clean.push_str("://");
        let end = after
            .find(|c: char| c == '/' || c == '\'' || c == '"' || c.is_whitespace())
            .unwrap_or(after.len());
        let (host, tail) = after.split_at_checked(end).unwrap_or((after, ""));
        clean.push_str(host.rsplit('@').next().unwrap_or(host));
        rest = tail;
    }
    clean.push_str(rest);
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_says_is_told_without_credentials() {
        let said = "\nfatal: unable to access 'https://ann:s3cret@git.example.org/x.git/': no\nhint: try\nssh://git@h/x";
        assert_eq!(told(said), "fatal: unable to access 'https://git.example.org/x.git/': no; ssh://h/x");
        assert_eq!(told("  \n"), "it did not say why");
        assert_eq!(told(&"x".repeat(5000)).len(), 600);
    }
}
