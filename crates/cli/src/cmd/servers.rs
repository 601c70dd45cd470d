//! `covenant mcp`: external MCP servers, which stand behind the gate like any other tool. The bridge that MCP clients
//! start is `covenant --mcp`, in `mcp.rs`.

mod add;
mod added;
mod advice;
mod credential;
mod list;
mod logs;
mod one;
mod tally;
mod test;
mod waiting;

pub(crate) use tally::tally;

use clap::Subcommand;

use crate::client::segment;
use crate::exit::{Exit, Failure};
use crate::setting::Setting;

/// Examples of the group.
pub(crate) const EXAMPLES: &str = "\
Examples:
  covenant mcp add time uvx mcp-server-time
  covenant mcp list
  covenant mcp test time           # start it, ask for its tools, let it go
  covenant mcp remove time

A tool of a server is called PREFIX__TOOL and needs a grant like any other:
  covenant capabilities grant 'tool.call.time__*'
Every key of an entry is described in docs/servers.md. `covenant --mcp` is
something else: the server that an MCP client starts.";

/// Put other people's MCP servers behind the gate.
#[derive(Debug, Subcommand)]
pub(crate) enum Servers {
    List(list::List),
    Add(Box<add::Add>),
    Remove(one::Remove),
    Test(test::Test),
    Restart(one::Restart),
    Logs(logs::Logs),
}

impl Servers {
    pub(crate) fn run(self, setting: &Setting) -> Result<Exit, Failure> {
        match self {
            Self::List(list) => list.run(setting),
            Self::Add(add) => add.run(setting),
            Self::Remove(remove) => remove.run(setting),
            Self::Test(test) => test.run(setting),
            Self::Restart(restart) => restart.run(setting),
            Self::Logs(logs) => logs.run(setting),
        }
    }
}

/// How a warning ends that is told with the server itself too.
pub(crate) const UNUSED: &str = "; the server is not used";

/// Where all servers are.
const ALL: &str = "/api/v1/mcp/servers";

/// Where one of them is, and what is done with it.
fn path(name: &str, rest: &str) -> String {
    format!("{ALL}/{}{rest}", segment(name))
}

/// A server's name as a shell takes it, for commands that are shown.
fn word(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.@/:".contains(&byte);
    if !name.starts_with('-') && name.bytes().all(plain) {
        return name.to_owned();
    }
    format!("'{}'", name.replace('\'', r"'\''"))
}

/// What is wrong with a server, to follow its name: the daemon's sentences name it too, and once is enough.
fn clause(name: &str, error: &str) -> String {
    match error.strip_prefix(&format!("the server `{name}` ")) {
        Some(rest) => rest.to_owned(),
        None => format!("does not answer: {error}"),
    }
}

/// How many of something, in words.
fn counted(count: usize, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_segment_and_one_word() {
        assert_eq!(path("my server/2", "/test"), "/api/v1/mcp/servers/my%20server%2F2/test");
        assert_eq!(word("io.github/files-2"), "io.github/files-2");
        assert_eq!(word("it's mine"), r"'it'\''s mine'");
    }

    #[test]
    fn a_server_is_named_once() {
        assert_eq!(clause("a", "the server `a` ended with exit code 1"), "ended with exit code 1");
        assert_eq!(clause("a", "`command` is missing"), "does not answer: `command` is missing");
    }
}
