//! One message per line on standard input and output.

use std::collections::BTreeMap;
use std::io::{BufRead as _, Write as _};
use std::sync::Arc;

use serde_json::Value;

use crate::faults;
use crate::server::{Mouth, Server};

/// Standard output.
struct Lines;

impl Mouth for Lines {
    fn say(&self, message: &Value) {
        self.raw(message.to_string().as_bytes());
    }

    fn raw(&self, bytes: &[u8]) {
        let mut out = std::io::stdout().lock();
        // Whoever stopped reading has gone.
        let _ = out.write_all(bytes).and_then(|()| out.write_all(b"\n")).and_then(|()| out.flush());
    }

    fn is_gone(&self) -> bool {
        false
    }
}

/// Serves until the input ends.
pub(crate) fn serve(server: &Arc<Server>) {
    let mouth: Arc<dyn Mouth> = Arc::new(Lines);
    if server.manner.fault("start") == Some("garbage") {
        faults::garbage(&*mouth);
    }
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(message) = serde_json::from_str::<Value>(&line) else {
            server.record.event("no message", &Value::from(line));
            continue;
        };
        server.record.heard("stdin", &BTreeMap::new(), &message);
        let method = message.get("method").and_then(Value::as_str).unwrap_or_default();
        if server.manner.fault(method) == Some("deaf") {
            loop {
                std::thread::park();
            }
        }
        if method == "notifications/initialized" {
            server.listen(Box::new(|message| {
                Lines.say(message);
                true
            }));
        }
        take(server, message, &mouth);
    }
    server.record.event("ended", &Value::from("its input"));
}

/// Calls take their time, and do not hold up what comes after; everything else is answered in order.
fn take(server: &Arc<Server>, message: Value, mouth: &Arc<dyn Mouth>) {
    if message.get("method").and_then(Value::as_str) == Some("tools/call") {
        let (server, mouth) = (Arc::clone(server), Arc::clone(mouth));
        std::thread::spawn(move || server.hear(&message, &mouth));
    } else {
        server.hear(&message, mouth);
    }
}
