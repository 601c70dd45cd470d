//! Writing one note: the file first, whole or not at all; then, where that is wanted, its way to the remote.

use std::sync::Arc;

use super::Vault;
use super::place::has_ending;
use crate::files::Why;
use crate::git::Trouble;
use crate::workspace::failed;

/// A note that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Where.
    pub path: String,
    /// Whether it is at the remote; nothing where none is wanted.
    pub synced: Option<Result<(), Trouble>>,
}

impl Vault {
    /// Writes the note, and brings it to the remote. Once begun it is done to its end, whoever gives up waiting.
    pub(crate) async fn write(
        self: &Arc<Self>,
        path: String,
        content: String,
        message: Option<String>,
    ) -> Result<Written, String> {
        let vault = Arc::clone(self);
        let done = tokio::spawn(async move { vault.written(path, content, message).await });
        done.await.unwrap_or_else(|_| {
            Err("the work broke off inside the daemon; try again, and tell the operator".to_owned())
        })
    }

    async fn written(
        self: &Arc<Self>,
        path: String,
        content: String,
        message: Option<String>,
    ) -> Result<Written, String> {
        let named = self.beside(move |vault| Ok((vault.target(&path)?, path))).await?;
        let (inside, path) = named;
        let target = inside.clone();
        let act = self.beside(move |vault| vault.put(&path, &target, &content));
        let Some(git) = &self.git else {
            act.await?;
            return Ok(Written { path: inside, synced: None });
        };
        let message = message.as_deref().map(clean).filter(|message| !message.is_empty());
        let message =
            message.unwrap_or_else(|| format!("Update {}", inside.rsplit('/').next().unwrap_or(&inside)));
        let ((), trouble) = git.publish(&inside, &message, act).await?;
        Ok(Written { path: inside, synced: Some(trouble.map_or(Ok(()), Err)) })
    }

    /// The path of the note that is meant: a name without an ending is a note's.
    fn target(&self, path: &str) -> Result<String, String> {
        let (_, inside) = self.place(path)?;
        let bare = inside != "." && !path.ends_with('/') && !has_ending(&inside);
        Ok(if bare { format!("{inside}.md") } else { inside })
    }

    fn put(&self, path: &str, inside: &str, content: &str) -> Result<(), String> {
        let (root, _) = self.place(path)?;
        root.write(inside, content.as_bytes()).map_err(|error| match error.why {
            Why::Escapes | Why::Empty => error.to_string(),
            _ => failed("failed to write file")(error),
        })
    }
}

/// A message without what no message has.
fn clean(message: &str) -> String {
    let kept = message.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t'));
    kept.collect::<String>().trim().to_owned()
}
