//! PACT-65 to 67: the documented debug lines, word for word.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::json;
use tracing_subscriber::fmt::MakeWriter;

use crate::world::World;

#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Written {
    type Writer = Self;
    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn each_request_and_its_end_are_written_as_documented() {
    let world = World::new().await;
    let written = Written::default();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(written.clone())
        .with_max_level(tracing::Level::DEBUG)
        .without_time()
        .with_ansi(false)
        .finish();
    // The test's own thread serves too, so that its subscriber is the one that hears.
    let _guard = tracing::subscriber::set_default(subscriber);
    let mut client = world.connect();
    client.request("tools/list", json!({})).await;
    client.call("echo", json!({"text": "x"})).await;
    client.call("echo", json!({"wrong": "x"})).await;
    client.send("{\"jsonrpc\":\"2.0\",\"id\":\"a\\u000ab\",\"method\":\"x\\ny\"}").await;
    client.hear().await;
    let text = String::from_utf8(written.0.lock().clone()).unwrap();
    let lines: Vec<_> =
        text.lines().filter(|line| line.contains("DEBUG mcp:")).map(str::trim_start).collect();
    let tools =
        covenant_tools::plain(&(Arc::new(covenant_gate::SystemClock) as _)).len() + crate::tools::all().len();
    assert_eq!(lines[0], "DEBUG mcp: received request method=tools/list id=1");
    assert_eq!(lines[1], format!("DEBUG mcp: sending response id=1 tools={tools}"));
    assert_eq!(lines[2], "DEBUG mcp: received request method=tools/call id=2 tool=echo");
    let (start, end) = lines[3].split_once("duration=").unwrap();
    assert_eq!(start, "DEBUG mcp: tool execution completed id=2 ");
    let (millis, end) = end.split_once("ms ").unwrap();
    assert!(millis.parse::<u64>().is_ok());
    assert_eq!(end, "success=true");
    assert!(lines[5].ends_with("success=false"), "{}", lines[5]);
    assert_eq!(lines[6], r#"DEBUG mcp: received request method="x\u{a}y" id="a\\u000ab""#);
    assert_eq!(lines.len(), 7);
}
