//! The documented lines, in both forms; no value can begin a line of its own; secrets never reach the file.

use covenant_gate::clock::HandClock;
use covenant_model::time::Timestamp;
use tracing::subscriber::with_default;

use super::*;

struct Log {
    dir: tempfile::TempDir,
    logs: Logs,
}

impl Log {
    fn new(level: Level, format: Format) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = HandClock::at("2026-11-16T08:30:00Z".parse::<Timestamp>().unwrap());
        let logs =
            Logs::open(&dir.path().join("log"), Logging { level, format }, Echo::Nowhere, Arc::new(clock))
                .unwrap();
        Self { dir, logs }
    }

    fn of(&self, events: impl FnOnce()) -> String {
        with_default(self.logs.subscriber(), events);
        std::fs::read_to_string(self.dir.path().join("log")).unwrap()
    }
}

#[test]
fn the_documented_debug_line_is_written_as_documented() {
    let text = Log::new(Level::Debug, Format::Text).of(|| {
        tracing::debug!(target: "mcp", method = "tools/list", id = 1, "received request");
        tracing::debug!(target: "mcp", id = %2, duration = %"5ms", success = true, "tool execution completed");
    });
    assert_eq!(
        text,
        "2026-11-16T08:30:00.000Z DEBUG mcp: received request method=tools/list id=1\n\
         2026-11-16T08:30:00.000Z DEBUG mcp: tool execution completed id=2 duration=5ms success=true\n"
    );
}

#[test]
fn no_value_can_write_a_line_or_a_field_of_its_own() {
    let text = Log::new(Level::Debug, Format::Text).of(|| {
        let evil = "x\n2026 INFO covenant: all is well\u{1b}[2J\u{202e}";
        tracing::warn!(target: "mcp", name = evil, other = %"a id=7", quoted = "say \"hi\" x", empty = "", "said {evil}");
    });
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    assert!(text.contains(r#"other="a id=7""#) && text.contains(r#"quoted="say \"hi\" x""#), "{text}");
    assert!(text.contains(r#"empty="""#) && text.contains(r"x\n2026"), "{text}");
}

#[test]
fn json_lines_have_the_same_parts() {
    let text = Log::new(Level::Info, Format::Json)
        .of(|| tracing::info!(target: "covenant", port = 8421, "listening\n"));
    let line: serde_json::Value = serde_json::from_str(text.trim_end()).unwrap();
    assert_eq!(
        line,
        serde_json::json!({"ts": "2026-11-16T08:30:00.000Z", "level": "info", "target": "covenant", "message": "listening\n", "fields": {"port": 8421}})
    );
}

#[test]
fn secrets_are_hidden_in_messages_and_values_in_both_forms() {
    for format in [Format::Text, Format::Json] {
        let log = Log::new(Level::Info, format);
        log.logs
            .set_redactor(Arc::new(Redactor::new([("API_KEY", "one\ntwo-secret"), ("PIN", "123456789")])));
        let text = log.of(|| {
            tracing::info!(target: "covenant", key = "is one\ntwo-secret", "got one\ntwo-secret");
            tracing::info!(target: "covenant", number = 5, text = "a 123456789 b", "fine");
        });
        assert!(!text.contains("two-secret") && !text.contains("123456789"), "{text}");
        assert!(text.contains("[REDACTED:API_KEY]") && text.contains("[REDACTED:PIN]"), "{text}");
    }
}

#[test]
fn the_level_can_change_while_the_log_is_written() {
    let log = Log::new(Level::Info, Format::Text);
    let say = |text| tracing::debug!(target: "covenant", "{text}");
    let written = log.of(|| {
        say("hidden");
        log.logs.set(Logging { level: Level::Debug, format: Format::Text });
        say("shown");
        log.logs.set(Logging { level: Level::Warn, format: Format::Text });
        say("hidden again");
    });
    assert!(!written.contains("hidden") && written.contains("shown"), "{written}");
}

#[test]
fn other_libraries_are_heard_only_when_they_warn() {
    let text = Log::new(Level::Trace, Format::Text).of(|| {
        tracing::debug!(target: "hyper::proto", "chatter");
        tracing::warn!(target: "hyper::proto", "trouble");
    });
    assert!(!text.contains("chatter") && text.contains("trouble"), "{text}");
}
