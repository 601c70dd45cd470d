//! An external server in a sandbox: what its entry gives it, and nothing else.

use std::fs;

use covenant_testkit::wait::until;
use serde_json::json;

use crate::unhurried;

/// A server in the shell: it answers each request in its turn, and its one tool reads a file.
const SERVER: &str = r#"
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case $line in
        *'"initialize"'*)
            result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
        *'"tools/list"'*) result='{"tools":[{"name":"read","inputSchema":{"type":"object"}}]}' ;;
        *'"tools/call"'*)
            path=$(printf '%s' "$line" | sed -n 's/.*"path":"\([^"]*\)".*/\1/p')
            text=$(cat "$path" 2>/dev/null || echo refused)
            result="{\"content\":[{\"type\":\"text\",\"text\":\"$text, in $PWD\"}]}" ;;
        *) result= ;;
    esac
    if [ -n "$id" ] && [ -n "$result" ]; then
        printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
    elif [ -n "$id" ]; then
        printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}\n' "$id"
    fi
done
"#;

#[test]
fn a_server_in_a_sandbox_sees_what_its_entry_names_and_nothing_of_the_home() {
    let home = unhurried();
    let given = home.beside("given");
    fs::create_dir(&given).unwrap();
    let (note, script) = (given.join("note"), given.join("server.sh"));
    fs::write(&note, "for you").unwrap();
    fs::write(&script, SERVER).unwrap();
    home.write(
        "config.toml",
        &format!(
            "[rate_limit]\nrate = 0\n[[mcp.servers]]\nname = \"boxed\"\ncommand = \"sh\"\nargs = [{script:?}]\n\
             sandbox = {{ network = \"off\", read = [{given:?}] }}\n"
        ),
    );
    let daemon = home.up();
    home.run(&["capabilities", "grant", "tool.call.boxed__*", "--to", "user@local"]).ok();
    until("its tool is listed", || home.run(&["tools", "list"]).stdout.contains("boxed__read").then_some(()));
    let call = |path: &std::path::Path| {
        let arguments = json!({ "path": path }).to_string();
        home.run(&["tools", "call", "boxed__read", "--args", &arguments]).ok().stdout
    };
    let said = call(&note);
    assert!(said.contains("for you, in "), "{said}");
    assert!(!said.contains(home.beside("").to_str().unwrap()), "it runs in a directory of its own: {said}");
    let said = call(&home.path().join("config.toml"));
    assert!(said.contains("refused, in "), "{said}");
    daemon.stop();
}
