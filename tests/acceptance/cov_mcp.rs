//! The first founding document: tools, the capability gate, and the record of both.

mod servers;

use serde_json::{Value, json};

use crate::{home, unhurried};

/// The document's commands, typed as written, in its order: list, be refused, grant, call.
///
/// COV-MCP-18, COV-MCP-19, COV-MCP-20, COV-MCP-03, COV-MCP-21
#[test]
fn the_documents_commands_work_as_written() {
    let home = home();
    let _daemon = home.up();
    let listed = home.run(&["tools", "list", "--json"]).ok().json();
    let names: Vec<&str> =
        listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"echo") && names.contains(&"clock"), "{names:?}");

    let refused = home.run(&["tools", "call", "echo", "--args", r#"{"text":"hi"}"#]).exits(3);
    assert!(
        refused.stderr.contains("covenant capabilities grant tool.call.echo --to user@local"),
        "{}",
        refused.stderr
    );

    home.run(&["capabilities", "grant", "tool.call.echo"]).ok();
    let called = home.run(&["tools", "call", "echo", "--args", r#"{"text":"hi"}"#]).ok();
    assert_eq!(called.stdout, "hi\n");

    // The same surface for an MCP client: what the CLI may call, it may call too.
    let mut client = home.mcp();
    client.initialize();
    assert_eq!(client.call("echo", json!({"text": "hi"}))["result"]["content"][0]["text"], "hi");
}

/// COV-MCP-05, COV-MCP-06, COV-MCP-04, COV-MCP-12, COV-MCP-10
#[test]
fn the_catalogue_has_the_published_shape() {
    let home = home();
    let _daemon = home.up();
    let listed = home.run(&["tools", "list", "--json"]).ok().json();
    assert_eq!(listed.as_object().unwrap().keys().collect::<Vec<_>>(), ["tools"]);
    let tools = listed["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.is_sorted() && names.contains(&"clock"), "native tools, in a fixed order: {names:?}");
    let echo = tools.iter().find(|tool| tool["name"] == "echo").unwrap();
    assert_eq!(echo["description"], "Returns the provided text argument verbatim.");
    assert_eq!(
        echo["inputSchema"],
        json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"], "additionalProperties": false})
    );
    let published =
        ["name", "title", "description", "inputSchema", "outputSchema", "annotations", "icons", "_meta"];
    for tool in tools {
        assert!(
            tool.as_object().unwrap().keys().all(|member| published.contains(&member.as_str())),
            "{tool}"
        );
    }
}

/// COV-MCP-07, COV-MCP-08, COV-MCP-13, COV-MCP-16, COV-MCP-11
#[test]
fn results_have_the_published_shape() {
    let home = home();
    let _daemon = home.up();
    home.run(&["capabilities", "grant", "tool.call.echo"]).ok();
    let text = " two words, \"quotes\", ünïcode, \u{1F600}\nand a line ";
    let arguments = json!({ "text": text }).to_string();
    let echoed = home.run(&["tools", "call", "echo", "--args", &arguments, "--json"]).ok().json();
    assert_eq!(echoed, json!({"content": [{"type": "text", "text": text}], "isError": false}));

    let clock = home.run(&["tools", "call", "clock", "--json"]).ok().json();
    let shown: u64 = clock["structuredContent"]["epoch_ms"].as_u64().unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    assert!(u128::from(shown).abs_diff(now) < 60_000, "{shown} {now}");
    assert_eq!(clock["isError"], false);
    let text: Value = serde_json::from_str(clock["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(
        text, clock["structuredContent"],
        "the same value as text, for clients that know no structured content"
    );
}

/// COV-MCP-14, COV-MCP-15
#[test]
fn arguments_that_break_the_schema_are_refused_with_the_place() {
    let home = unhurried();
    let _daemon = home.up();
    home.run(&["capabilities", "grant", "tool.call.echo"]).ok();
    for (arguments, place) in [
        ("{}", "text"),
        (r#"{"text": 5}"#, "/text"),
        (r#"{"text": null}"#, "/text"),
        (r#"{"text": "a", "more": 1}"#, "more"),
    ] {
        let refused = home.run(&["tools", "call", "echo", "--args", arguments]).exits(2);
        assert!(refused.stderr.contains("invalid arguments for `echo`"), "{}", refused.stderr);
        assert!(refused.stderr.contains(place), "{arguments}: {}", refused.stderr);
    }
    let mut client = home.mcp();
    assert_eq!(client.call("echo", json!({}))["error"]["code"], -32602);
}

/// COV-MCP-17: the probe works on a fresh home, by a grant that can be seen and taken back.
#[test]
fn clock_needs_no_further_grant_and_its_own_can_be_revoked_for_good() {
    let home = home();
    let daemon = home.up();
    home.run(&["tools", "call", "clock"]).ok();
    let grants = home.run(&["capabilities", "list", "--json"]).ok().json();
    let grant =
        grants.as_array().unwrap().iter().find(|grant| grant["action"] == "tool.call.clock").unwrap().clone();
    assert_eq!(grant["subject"], "any");
    home.run(&["capabilities", "revoke", grant["id"].as_str().unwrap()]).ok();
    home.run(&["tools", "call", "clock"]).exits(3);
    daemon.stop();
    let _daemon = home.up();
    home.run(&["tools", "call", "clock"]).exits(3);
}

/// COV-MCP-22, COV-MCP-23, COV-MCP-24
#[test]
fn every_check_and_every_call_is_on_record() {
    let home = home();
    let _daemon = home.up();
    home.run(&["tools", "call", "echo", "--args", r#"{"text":"hi"}"#]).exits(3);
    home.run(&["capabilities", "grant", "tool.call.echo"]).ok();
    home.run(&["tools", "call", "echo", "--args", r#"{"text":"hi"}"#]).ok();
    let rows = home.run(&["audit", "recent", "--json", "--agent-id", "tool:echo"]).ok().json_lines();
    let seen: Vec<(&str, &str)> =
        rows.iter().map(|row| (row["kind"].as_str().unwrap(), row["decision"].as_str().unwrap())).collect();
    assert_eq!(
        seen,
        [
            ("CapabilityCheck", "refused"),
            ("CallRefused", "refused"),
            ("CapabilityCheck", "allowed"),
            ("CallStarted", "allowed"),
            ("CallFinished", "ok"),
        ]
    );
    for row in &rows {
        assert_eq!(row["principal"], "user@local");
        assert_eq!(row["agent_id"], "tool:echo");
    }
    assert_eq!(rows[2]["action"], "tool.call.echo");
    assert_eq!(rows[2]["call"], rows[4]["call"], "one call, one name");
    home.run(&["audit", "verify"]).ok();
}

/// COV-MCP-01, COV-MCP-02, COV-MCP-09: discovery and invocation are MCP, and what is registered at start is all
/// there is: an unknown name is refused in the protocol's words.
#[test]
fn tools_are_discovered_and_called_by_mcp() {
    let home = home();
    let _daemon = home.up();
    home.run(&["capabilities", "grant", "tool.call.echo"]).ok();
    let mut client = home.mcp();
    let hello = client.initialize();
    assert_eq!(hello["result"]["protocolVersion"], "2025-11-25");
    assert!(hello["result"]["capabilities"]["tools"].is_object(), "{hello}");
    for absent in ["resources", "prompts", "completions"] {
        assert!(hello["result"]["capabilities"].get(absent).is_none(), "nothing is behind {absent}");
    }
    let listed = client.request("tools/list", json!({}));
    let names: Vec<&str> =
        listed["result"]["tools"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap()).collect();
    let granted: Vec<&str> = names.into_iter().filter(|name| !name.starts_with("covibe_")).collect();
    assert_eq!(granted, ["clock", "echo"]);
    assert_eq!(client.call("nothing", json!({}))["error"]["code"], -32602);
}
