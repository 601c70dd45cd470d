//! A round trip of `echo` on stdio: `covenant --mcp` beside a bare rmcp server on `stdio()` and on `stdio_pipes()`.
//!
//! Interleaved rounds in one run; the ratios are what counts.

#![expect(clippy::expect_used, reason = "a benchmark stops when it cannot run")]

use std::time::{Duration, Instant};

use covenant_bench::{line, median, micros};
use covenant_testkit::{Home, StdioClient};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ServerHandler, ServiceExt as _};
use serde_json::json;

#[derive(Clone)]
struct Bare;

impl ServerHandler for Bare {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        let text = arguments.get("text").and_then(|text| text.as_str()).unwrap_or_default();
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("stdio") => serve(false),
        Some("pipes") => serve(true),
        _ => measure(),
    }
}

fn serve(pipes: bool) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let waiting = if pipes {
            Bare.serve(rmcp::transport::stdio_pipes()).await.expect("served").waiting().await
        } else {
            Bare.serve(rmcp::transport::stdio()).await.expect("served").waiting().await
        };
        drop(waiting);
    });
}

fn measure() {
    let program = std::env::current_exe().expect("this program");
    let covenant = program.with_file_name("covenant");
    assert!(covenant.is_file(), "build it first: cargo build --release");
    let home = Home::new(&covenant);
    home.write("config.toml", "[rate_limit]\nrate = 1000000\nburst = 1000000\n");
    let _daemon = home.up();
    home.run(&["capabilities", "grant", "tool.call.echo"]).ok();
    let yardstick = Home::new(&program);
    let mut clients = [
        ("bare rmcp, stdio()", StdioClient::start(yardstick.command(&["stdio"])), Vec::new()),
        ("bare rmcp, stdio_pipes()", StdioClient::start(yardstick.command(&["pipes"])), Vec::new()),
        ("covenant --mcp", home.mcp(), Vec::new()),
    ];
    for (_, client, _) in &mut clients {
        client.initialize();
        round(client, 500);
    }
    for _ in 0..20 {
        for (_, client, times) in &mut clients {
            times.extend(round(client, 250));
        }
    }
    let [stdio, pipes, ours] = clients.map(|(name, _, times)| {
        let middle = median(times);
        line(&format!("{name}, median round trip"), &micros(middle), "");
        middle.as_secs_f64()
    });
    line("covenant --mcp / rmcp stdio()", &format!("{:.2}", ours / stdio), "at most 1.3");
    line("covenant --mcp / rmcp stdio_pipes()", &format!("{:.2}", ours / pipes), "at most 2.5");
}

fn round(client: &mut StdioClient, calls: usize) -> Vec<Duration> {
    let mut times = Vec::with_capacity(calls);
    for _ in 0..calls {
        let start = Instant::now();
        let answer = client.call("echo", json!({"text": "hello"}));
        times.push(start.elapsed());
        let said = answer.pointer("/result/content/0/text").and_then(serde_json::Value::as_str);
        assert_eq!(said, Some("hello"), "{answer}");
    }
    times
}
