//! An MCP server for tests: as good as one can be, or bad in exactly the way its words say.
//!
//! `server stdio|http|sse [WORD…]` speaks lines, Streamable HTTP at `/mcp`, or the older HTTP with events at `/sse`;
//! over HTTP it prints its port and ends with its input. It knows nothing of the product's own protocol code. What the
//! words are, `manner.rs` says. With `SERVER_RECORD` in its environment it writes all that reaches it to that file, one
//! JSON object per line; `SERVER_STATE` is a file by which it remembers over restarts that it died once.

#![expect(clippy::print_stderr, clippy::print_stdout, reason = "a server speaks on its own streams")]

mod call;
mod era;
mod faults;
mod http;
mod manner;
mod record;
mod request;
mod server;
mod sse;
mod stdio;
mod tools;

use std::process::ExitCode;
use std::time::Duration;

use manner::Manner;
use server::Server;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some((way, words)) = words.split_first() else { return refused("say stdio, http or sse") };
    let manner = match Manner::of(words) {
        Ok(manner) => manner,
        Err(reason) => return refused(&reason),
    };
    if manner.is("sticky") {
        ignore_the_request_to_end();
    }
    let server = Server::new(manner);
    server.record.started(words);
    begin(&server);
    match way.as_str() {
        "stdio" => stdio::serve(&server),
        "http" => http::serve(&server),
        "sse" => sse::serve(&server),
        other => return refused(&format!("there is no way `{other}`")),
    }
    if server.manner.is("sticky") {
        forever();
    }
    ExitCode::SUCCESS
}

/// What it does before it listens.
fn begin(server: &Server) {
    let wait = server.manner.number("wait").unwrap_or_default();
    std::thread::sleep(Duration::from_millis(wait));
    if server.manner.is("leaks") {
        leak();
    }
    match server.manner.fault("start") {
        Some("die") => faults::die("start"),
        Some("never") => forever(),
        _ => {}
    }
}

/// Writes every value that was given to it alone to both of its streams.
fn leak() {
    for (name, value) in std::env::vars().filter(|(name, _)| name.starts_with("GIVEN")) {
        eprintln!("starting with {name}={value}");
        println!("starting with {name}={value}");
    }
}

fn forever() -> ! {
    loop {
        std::thread::park();
    }
}

/// A handler that does nothing is in the way of the default, which would end us.
fn ignore_the_request_to_end() {
    use tokio::signal::unix::{SignalKind, signal};
    let (ready, heard) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            let Ok(mut requests) = signal(SignalKind::terminate()) else { return };
            drop(ready);
            while requests.recv().await.is_some() {}
        });
    });
    // Comes back when the handler is in place, or will never be.
    let _: Result<(), _> = heard.recv();
}

fn refused(reason: &str) -> ExitCode {
    eprintln!("server: {reason}");
    ExitCode::from(2)
}
