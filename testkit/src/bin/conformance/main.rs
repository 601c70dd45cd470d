//! A daemon with what the official MCP suite expects to find on a server, and a port before it that shows a token.
//!
//! It is the daemon of the product, started in this process: every fixture stands behind the real gate, and the port
//! under test is the real one, reached through a forwarder that adds the header a suite without tokens cannot send.
//! Prints its address, its home and that token, one line each, and serves until its input ends or a signal comes.

mod prompts;
mod resources;
mod stage;
mod tools;

use std::error::Error;
use std::io::{Read as _, Write as _};
use std::sync::Arc;

use covenant_daemon::config::Overrides;
use covenant_daemon::{Extra, Home, Options, Running, atomic, start};
use covenant_gate::{Credential, Gate, Peer};
use covenant_model::api::{NewClient, Preset};
use covenant_testkit::forwarder::Forwarder;

use stage::Stage;

fn main() -> Result<(), Box<dyn Error>> {
    covenant_daemon::runtime()?.block_on(serve())
}

async fn serve() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::Builder::new().prefix("cov").tempdir()?;
    let home = Home::at(&directory.path().join("home"))?;
    let forwarder = Forwarder::bind()?;
    let address = format!("http://localhost:{}", forwarder.port()?);
    let stage = Arc::new(Stage::default());
    let running = open(home, &address, &stage).await?;
    stage.open(running.gate());
    let upstream = *running.addresses().first().ok_or("the daemon has no port")?;
    let token = token(running.gate()).await?;
    forwarder.serve(upstream, &token);
    let lines = format!("{address}/mcp\n{}\n{token}\n", running.home().root().display());
    std::io::stdout().write_all(lines.as_bytes())?;
    end_with_input();
    running.wait().await;
    Ok(())
}

/// Starts the daemon: known by the forwarder's name, unhurried, and with the fixtures.
async fn open(home: Home, address: &str, stage: &Arc<Stage>) -> Result<Running, Box<dyn Error>> {
    home.prepare()?;
    let config = format!("[rate_limit]\nrate = 0\n\n[http]\npublic_url = \"{address}\"\n");
    atomic::write(&home.config(), config.as_bytes())?;
    let overrides = Overrides { listen: Some("127.0.0.1:0".to_owned()), ..Overrides::default() };
    let extra = Extra {
        tools: tools::all(stage),
        resources: vec![Arc::new(resources::Fixtures)],
        prompts: vec![Arc::new(prompts::Fixtures(Arc::clone(stage)))],
        completions: Some(Arc::new(prompts::Words)),
    };
    Ok(start(Options { overrides, extra, ..Options::new(home) }).await?)
}

/// The token of a client that may do everything.
async fn token(gate: &Gate) -> Result<String, Box<dyn Error>> {
    let caller = gate.authenticate(&Credential::peer(rustix::process::geteuid().as_raw()))?;
    let operator = gate.operator(&caller, Peer::default())?;
    let new = NewClient {
        name: "conformance".to_owned(),
        preset: Some(Preset::All),
        grants: Vec::new(),
        may_approve: false,
    };
    Ok(gate.add_client(&operator, new).await?.token)
}

/// Ends the program as a signal would, in order, when whoever started it lets go of its input.
fn end_with_input() {
    std::thread::spawn(|| {
        let mut input = std::io::stdin().lock();
        while input.read(&mut [0; 1024]).is_ok_and(|count| count > 0) {}
        // There is always a process of our own to end.
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TERM);
    });
}
