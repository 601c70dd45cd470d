//! What to do about a server that does not answer, by what it is: a program has a log and can be run by hand, and a URL
//! has neither.

use covenant_model::server::ServerStatus;

use super::word;

/// What a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A program that is started here.
    Program,
    /// A service behind a URL.
    Web,
}

impl Kind {
    /// By the transport that its status names; an entry that cannot be used may have none.
    pub(super) fn of(status: &ServerStatus) -> Self {
        if matches!(status.transport.as_str(), "http" | "sse") { Self::Web } else { Self::Program }
    }
}

/// The commands that show more of why it does not answer, and what to look at.
pub(super) fn next(kind: Kind, name: &str, error: &str) -> String {
    let word = word(name);
    let test = format!("see where it fails: covenant mcp test {word}");
    match kind {
        Kind::Program => format!("{test}; what it said: covenant mcp logs {word}"),
        Kind::Web => format!("{}; {test}", web(error)),
    }
}

/// What to look at where a server behind a URL fails, by what came back.
pub(super) fn web(error: &str) -> &'static str {
    let answered = |status: &str| error.contains(&format!("answered {status} "));
    if answered("401") || answered("403") {
        "it wants a credential, or another one: see `headers` in its entry (mcp add writes them from \
         --header 'Authorization=Bearer ${secret:NAME}')"
    } else if answered("404") || answered("405") {
        "something answers there, and not as MCP does: check `url` in its entry, its path above all, and whether it \
         wants `transport = \"sse\"`"
    } else if error.contains("redirects to") {
        "write the URL that it redirects to into `url` of its entry"
    } else if error.contains("could not be reached") {
        "see whether something answers at its URL, from this machine: curl -i URL"
    } else {
        "check `url`, `transport` and `era` in its entry, and whether something answers there: curl -i URL"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_a_log_to_look_at_and_a_url_has_none() {
        let program = next(Kind::Program, "my files", "ended with exit code 1");
        assert!(program.contains("covenant mcp logs 'my files'"), "{program}");
        for error in
            ["answered 401 to initialize", "answered 500 to initialize", "could not be reached: refused"]
        {
            let web = next(Kind::Web, "wiki", error);
            assert!(web.contains("covenant mcp test wiki") && !web.contains("logs"), "{web}");
        }
    }

    #[test]
    fn what_a_url_answered_says_which_key_to_look_at() {
        for (error, key) in [
            ("answered 401 to initialize: check `headers` in its entry", "`headers`"),
            ("answered 403 to initialize (no): check `headers` in its entry", "`headers`"),
            ("answered 404 to server/discover", "`url`"),
            ("redirects to another place, which is not followed: write that URL into the entry", "`url`"),
            ("could not be reached: connection refused", "curl -i URL"),
            ("answered initialize with no JSON", "`transport`"),
        ] {
            assert!(web(error).contains(key), "{error}: {}", web(error));
        }
    }

    #[test]
    fn a_server_is_a_program_unless_its_transport_says_otherwise() {
        let status = |transport: &str| {
            let status = serde_json::json!({"name": "a", "connected": false, "state": "failed", "tool_count": 0,
                "tools": [], "transport": transport});
            Kind::of(&serde_json::from_value(status).unwrap())
        };
        assert_eq!((status("http"), status("sse")), (Kind::Web, Kind::Web));
        assert_eq!((status("stdio"), status("")), (Kind::Program, Kind::Program));
    }
}
