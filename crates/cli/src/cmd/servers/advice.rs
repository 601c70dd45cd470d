//! What to do about a server that does not answer, by what it is: a program has a log and can be run by hand, and a URL
//! has neither.

use covenant_model::server::ServerStatus;

use super::word;
use crate::print::escape;

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

/// The commands that show more of why it does not answer, and what to look at; `place` is what `web` takes.
pub(super) fn next(kind: Kind, name: &str, error: &str, place: &str) -> String {
    let word = word(name);
    let test = format!("see where it fails: covenant mcp test {word}");
    match kind {
        Kind::Program => format!("{test}; what it said: covenant mcp logs {word}"),
        Kind::Web => format!("{}; {test}", web(error, place)),
    }
}

/// Where the URL of a server stands, for who may not be shown it: there may be a credential in it.
pub(super) fn place(source: &str) -> String {
    match source {
        "" | "runtime" => "and its URL".to_owned(),
        file => format!("and the `url` of its entry in {}", escape(file)),
    }
}

/// What to look at where a server behind a URL fails, by what came back; `place` is its URL, or says where that stands.
pub(super) fn web(error: &str, place: &str) -> String {
    let answered = |status: &str| error.contains(&format!("answered {status} "));
    if answered("401") || answered("403") {
        "it wants a credential, or another one: see `headers` in its entry (mcp add writes them from \
         --header 'Authorization=Bearer ${secret:NAME}')"
            .to_owned()
    } else if answered("404") || answered("405") {
        "something answers there, and not as MCP does: check `url` in its entry, its path above all, and whether it \
         wants `transport = \"sse\"`"
            .to_owned()
    } else if error.contains("redirects to") {
        "write the URL that it redirects to into `url` of its entry".to_owned()
    } else if error.contains("could not be reached") {
        format!("see whether something answers there, from this machine: curl -i {place}")
    } else {
        format!(
            "check `url`, `transport` and `era` in its entry, and whether something answers there: curl -i {place}"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_has_a_log_to_look_at_and_a_url_has_none() {
        let program = next(Kind::Program, "my files", "ended with exit code 1", "");
        assert!(program.contains("covenant mcp logs 'my files'"), "{program}");
        for error in
            ["answered 401 to initialize", "answered 500 to initialize", "could not be reached: refused"]
        {
            let web = next(Kind::Web, "wiki", error, "");
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
            ("could not be reached: connection refused", "curl -i https://a.example/mcp"),
            ("answered initialize with no JSON", "`transport`"),
        ] {
            let advice = web(error, "https://a.example/mcp");
            assert!(advice.contains(key), "{error}: {advice}");
        }
    }

    #[test]
    fn a_url_that_is_not_shown_is_told_by_its_file() {
        let told = web("could not be reached: refused", &place("config.toml"));
        assert!(told.ends_with("curl -i and the `url` of its entry in config.toml"), "{told}");
        assert_eq!(place("runtime"), "and its URL");
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
