//! The tools of a server, page by page, within bounds: pages, tools, bytes.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{Link, LinkError, in_one_line, letters};
use crate::reply::METHOD_NOT_FOUND;

/// The most pages of one list.
const PAGES: usize = 64;

/// The most tools of one server.
const TOOLS: usize = 2_000;

/// The most bytes of all pages.
const BYTES: usize = 16 * 1024 * 1024;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page<'a> {
    #[serde(borrow)]
    tools: Tools<'a>,
    #[serde(borrow, default)]
    next_cursor: Option<&'a RawValue>,
}

impl Link {
    /// Follows the pages to the last.
    pub(super) async fn list(&self) -> Result<Vec<Box<RawValue>>, LinkError> {
        let mut tools: Vec<Box<RawValue>> = Vec::new();
        let (mut bytes, mut seen) = (0, HashSet::new());
        let mut cursor: Option<Box<RawValue>> = None;
        for _ in 0..PAGES {
            let id = self.ear.id();
            let letter = letters::list_tools(id, self.agreed.era, cursor.as_deref());
            let abandoned = self.abandoned(id);
            let answer = self.result(&letter).await;
            abandoned.ended();
            let page = match answer {
                Err(LinkError::Rpc(failure)) if self.has_none(failure.code) => return Ok(tools),
                other => in_one_line(other?),
            };
            bytes += page.get().len();
            let page: Page<'_> = serde_json::from_str(page.get())
                .map_err(|error| not_a_list(format_args!("no list of tools: {error}")))?;
            tools.extend(page.tools.0.into_iter().map(ToOwned::to_owned));
            if bytes > BYTES {
                return Err(not_a_list(format_args!("more than {BYTES} bytes")));
            }
            if tools.len() > TOOLS {
                return Err(not_a_list(format_args!("more than {TOOLS} tools")));
            }
            // Some say with an empty text that there is no more.
            match page.next_cursor.filter(|next| next.get() != r#""""#) {
                None => return Ok(tools),
                Some(next) if !seen.insert(next.get().to_owned()) => {
                    return Err(not_a_list(format_args!("the same page again")));
                }
                Some(next) => cursor = Some(next.to_owned()),
            }
        }
        Err(not_a_list(format_args!("more than {PAGES} pages")))
    }

    /// A server that never said it has tools may not know the question.
    fn has_none(&self, code: i64) -> bool {
        !self.agreed.has_tools && code == i64::from(METHOD_NOT_FOUND)
    }
}

fn not_a_list(what: fmt::Arguments<'_>) -> LinkError {
    LinkError::NotAResult(format!("answered `tools/list` with {what}"))
}

/// Tools of one page, where they stand in it. A list over the bound is not even collected.
struct Tools<'a>(Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Tools<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Collected)
    }
}

struct Collected;

impl<'de> Visitor<'de> for Collected {
    type Value = Tools<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of tools")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Tools<'de>, A::Error> {
        let mut tools = Vec::new();
        while let Some(tool) = elements.next_element()? {
            tools.push(tool);
            if tools.len() > TOOLS {
                return Err(A::Error::custom(format_args!("more than {TOOLS} tools")));
            }
        }
        Ok(Tools(tools))
    }
}
