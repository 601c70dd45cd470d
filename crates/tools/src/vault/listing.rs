//! Listing: the names in one directory, or every note and directory beneath it. What begins with a dot is not shown.

use std::ops::ControlFlow;

use super::Vault;
use crate::files::{Entry, FileKind, Page, Root, Step, Why};
use crate::library::is_note;
use crate::workspace::failed;

/// The most names, and the most bytes of them, that are listed.
const COUNT: usize = 2000;
const BYTES: usize = 128 << 10;

/// Names, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listed {
    /// The names, each directory with a `/` behind it; paths from the vault where everything beneath is listed.
    pub names: Vec<String>,
    /// How many there are beside these.
    pub more: u64,
}

impl Vault {
    /// What the directory holds. Blocks; `going` is asked now and then whether to go on.
    pub(crate) fn list(
        &self,
        path: &str,
        recursive: bool,
        going: &dyn Fn() -> ControlFlow<()>,
    ) -> Result<Listed, String> {
        let (root, inside) = self.place(if path.is_empty() { "." } else { path })?;
        let listed = if recursive { beneath(&root, &inside, going) } else { directly(&root, &inside, going) };
        listed.map_err(|error| match error.why {
            Why::Escapes | Why::Empty => error.to_string(),
            _ => failed("failed to list directory")(error),
        })
    }
}

type Names = Result<Listed, crate::files::FileError>;

fn directly(root: &Root, inside: &str, going: &dyn Fn() -> ControlFlow<()>) -> Names {
    let page = Page { after: "", count: COUNT, bytes: BYTES };
    let found = root.list_of(inside, page, |name| !name.starts_with('.'), &mut |_| going())?;
    let names = found.entries.into_iter().map(|Entry { name, kind }| written(&name, kind)).collect();
    Ok(Listed { names, more: found.more })
}

fn beneath(root: &Root, inside: &str, going: &dyn Fn() -> ControlFlow<()>) -> Names {
    let (mut listed, mut bytes) = (Listed::default(), 0);
    root.walk(inside, &mut |found| {
        if going().is_break() {
            return Step::Stop;
        }
        if found.name.starts_with('.') {
            return Step::Past;
        }
        if found.kind == FileKind::Directory || (found.kind == FileKind::File && is_note(found.name)) {
            bytes += found.path.len() + 2;
            if listed.names.len() < COUNT && bytes <= BYTES {
                listed.names.push(written(found.path, found.kind));
            } else {
                listed.more += 1;
            }
        }
        Step::In
    })?;
    Ok(listed)
}

fn written(name: &str, kind: FileKind) -> String {
    let end = if kind == FileKind::Directory { "/" } else { "" };
    format!("{name}{end}")
}
