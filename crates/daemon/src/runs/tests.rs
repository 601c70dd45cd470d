//! Runs with a launcher that confines nothing, so that what is served to a program can be reached from here.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use covenant_runner::ending::Status;
use covenant_runner::lines::{LineLimits, Lines};
use covenant_runner::pipes::Input;
use parking_lot::RwLock;
use rustls::ServerConfig;
use rustls::pki_types::PrivatePkcs8KeyDer;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;

use super::*;

/// A Python that needs nothing of the environment: no script that looks for another one.
fn python() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_program = |path: &PathBuf| fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"));
    let found = std::env::split_paths(&path).map(|directory| directory.join("python3")).find(is_program);
    if found.is_none() {
        assert!(std::env::var_os("CI").is_none(), "CI must have Python");
        #[expect(clippy::print_stderr, reason = "a skipped part is one loud line")]
        {
            eprintln!("SKIPPED: the tests of runs need python3 on PATH");
        }
    }
    found
}

/// A home, and runs for it.
struct World {
    directory: tempfile::TempDir,
    config: Arc<RwLock<Arc<Config>>>,
    runs: Runs,
}

/// A run, and what its program said first.
struct Begun {
    run: Run,
    input: Option<Input>,
    said: Value,
}

impl World {
    /// With that configuration, and a daemon at that address.
    fn new(config: &str, daemon: SocketAddr) -> Option<Self> {
        let launcher = concat!(env!("CARGO_MANIFEST_DIR"), "/src/runs/tests/launcher.py");
        let arguments = ["-I", "-S", launcher].map(str::to_owned).to_vec();
        let nursery = Nursery::new(Launcher { program: python()?, arguments });
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(&directory.path().join("home")).unwrap();
        let config = Arc::new(RwLock::new(Arc::new(parsed(config))));
        let current = Arc::clone(&config);
        let settings = Settings { home, config: Arc::new(move || Arc::clone(&current.read())), daemon };
        Some(Self { directory, config, runs: Runs::new(nursery, settings) })
    }

    fn home(&self) -> PathBuf {
        self.directory.path().join("home")
    }

    fn order(&self) -> Order {
        Order {
            name: "tested".to_owned(),
            program: "/bin/true".into(),
            arguments: Vec::new(),
            environment: Vec::new(),
            directory: "/".into(),
            sandbox: Some(self.runs.sandbox()),
        }
    }

    async fn begin(&self, order: Order) -> Begun {
        let mut run = self.runs.start(order, Arc::new(str::to_owned)).await.unwrap();
        let limits = LineLimits { line: 1 << 20, total: 1 << 20 };
        let mut lines = Lines::new(run.take_output().unwrap(), limits);
        let said = serde_json::from_slice(&lines.next().await.unwrap().unwrap()).unwrap();
        Begun { input: run.take_input(), run, said }
    }
}

impl Begun {
    fn sandbox(&self) -> &Value {
        &self.said["order"]["sandbox"]
    }

    fn token(&self) -> String {
        self.sandbox()["door"]["token"].as_str().unwrap().to_owned()
    }

    async fn connect(&self, door: &str) -> io::Result<TcpStream> {
        let port = u16::try_from(self.said[door].as_u64().unwrap()).unwrap();
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await
    }

    /// The first line that the proxy answers to a program that asks for localhost with that token.
    async fn ask(&self, token: &str) -> String {
        let mut stream = self.connect("proxy").await.unwrap();
        let basic = STANDARD.encode(format!("run:{token}"));
        let asked = format!("CONNECT localhost:443 HTTP/1.1\r\nProxy-Authorization: Basic {basic}\r\n\r\n");
        stream.write_all(asked.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer.lines().next().unwrap_or_default().to_owned()
    }
}

fn parsed(text: &str) -> Config {
    let path = std::path::Path::new("config.toml");
    Config::parse(path, text, &crate::config::Overrides::default()).unwrap().config
}

fn nowhere() -> SocketAddr {
    "127.0.0.1:1".parse().unwrap()
}

/// A port that answers whatever it is told, as it is told.
async fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(repeat(stream));
        }
    });
    address
}

async fn repeat(stream: impl AsyncRead + AsyncWrite) {
    let (mut from, mut to) = tokio::io::split(stream);
    let _ = tokio::io::copy(&mut from, &mut to).await;
    let _ = to.shutdown().await;
}

/// Says that and gives what comes back.
async fn exchange(stream: &mut TcpStream, text: &str) -> String {
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = vec![0; text.len()];
    let count = stream.read_exact(&mut answer).await.unwrap_or_default();
    String::from_utf8(answer[..count].to_vec()).unwrap()
}

/// Reads to the end, however that comes.
async fn ends(mut stream: TcpStream) {
    let _ = stream.read_to_end(&mut Vec::new()).await;
}

#[tokio::test]
async fn an_order_is_filled_in_with_what_concerns_the_home_and_a_token_of_its_own() {
    let Some(world) = World::new("[sandbox]\nrequired = true\n", nowhere()) else { return };
    let mut order = world.order();
    let sandbox = order.sandbox.as_mut().unwrap();
    (sandbox.required, sandbox.memory_mb, sandbox.scratch) = (false, 64, "/elsewhere".into());
    sandbox.hidden = vec!["/also/hidden".into()];
    let (one, two) = (world.begin(order.clone()).await, world.begin(order).await);
    let hidden: Vec<&str> =
        one.sandbox()["hidden"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let home = world.home();
    assert!(hidden.contains(&home.to_str().unwrap()) && hidden.contains(&"/also/hidden"), "{hidden:?}");
    assert_eq!(one.sandbox()["required"], true, "the order cannot take it back");
    assert_eq!(one.sandbox()["memory_mb"], 64, "what the order decides stays");
    // Where root's programs, who are nobody, could not get to the home, it is the system's.
    let scratch = [home.join("run/scratch"), std::env::temp_dir()].map(|path| Value::from(path.to_str()));
    assert!(scratch.contains(&one.sandbox()["scratch"]), "{}", one.sandbox()["scratch"]);
    assert_eq!(one.sandbox()["door"]["url"], "http://127.0.0.1:1");
    assert!(home.join("run/scratch").is_dir());
    assert!(token::hash(&one.token()).is_some(), "it has the shape that is hidden everywhere");
    assert_ne!(one.token(), two.token());
}

#[tokio::test]
async fn a_program_reaches_the_daemon_and_the_proxy_until_it_ends() {
    let Some(world) = World::new("", echo().await) else { return };
    let (mut begun, other) = (world.begin(world.order()).await, world.begin(world.order()).await);
    let mut to_daemon = begun.connect("door").await.unwrap();
    assert_eq!(exchange(&mut to_daemon, "hello").await, "hello");
    assert!(
        begun.ask(&begun.token()).await.starts_with("HTTP/1.1 403 covenant: localhost leads to a loopback")
    );
    assert!(begun.ask(&other.token()).await.starts_with("HTTP/1.1 407 "), "the token of another run is none");
    let to_proxy = begun.connect("proxy").await.unwrap();
    drop(begun.input.take());
    // Nobody waits for the run, and its connections end all the same.
    ends(to_daemon).await;
    ends(to_proxy).await;
    assert_eq!(begun.run.wait().await.status, Status::Exited(7));
    assert!(begun.connect("door").await.is_err() && begun.connect("proxy").await.is_err());
    assert!(other.connect("proxy").await.is_ok(), "another run goes on");
}

#[tokio::test]
async fn a_run_that_is_dropped_or_killed_takes_its_connections_along() {
    let Some(world) = World::new("", echo().await) else { return };
    let begun = world.begin(world.order()).await;
    let mut to_daemon = begun.connect("door").await.unwrap();
    assert_eq!(exchange(&mut to_daemon, "hello").await, "hello");
    drop(begun.run);
    ends(to_daemon).await;
    let mut begun = world.begin(world.order()).await;
    let to_proxy = begun.connect("proxy").await.unwrap();
    begun.run.kill().await;
    ends(to_proxy).await;
    assert!(begun.connect("proxy").await.is_err());
    assert_eq!(begun.run.stop(Duration::ZERO).await, begun.run.wait().await, "it can be asked again");
}

#[tokio::test]
async fn what_the_configuration_allows_is_asked_anew_for_each_connection() {
    let Some(world) = World::new("", nowhere()) else { return };
    let begun = world.begin(world.order()).await;
    assert!(begun.ask(&begun.token()).await.starts_with("HTTP/1.1 403 "));
    *world.config.write() = Arc::new(parsed("[web]\nallow_hosts = [\"LOCALHOST\"]\n"));
    let answer = begun.ask(&begun.token()).await;
    // Whether somebody serves there is another matter.
    assert!(answer.starts_with("HTTP/1.1 200 ") || answer.starts_with("HTTP/1.1 502 "), "{answer}");
}

#[tokio::test]
async fn a_daemon_that_does_not_run_is_a_connection_that_ends() {
    let Some(world) = World::new("", nowhere()) else { return };
    let begun = world.begin(world.order()).await;
    ends(begun.connect("door").await.unwrap()).await;
    assert!(begun.ask(&begun.token()).await.starts_with("HTTP/1.1 403 "), "and the rest goes on");
}

#[tokio::test]
async fn a_port_that_speaks_tls_is_known_by_its_certificate() {
    crate::tls::provide();
    let Some(world) = World::new("[http]\ntls_cert = \"cert.pem\"\ntls_key = \"key.pem\"\n", echo().await)
    else {
        return;
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut runs = world.runs.clone();
    runs.settings.daemon = listener.local_addr().unwrap();
    let world = World { runs, ..world };
    let write = |made: &rcgen::CertifiedKey| {
        crate::atomic::write(&world.home().join("cert.pem"), made.cert.pem().as_bytes()).unwrap();
        let key = made.key_pair.serialize_pem();
        crate::atomic::write(&world.home().join("key.pem"), key.as_bytes()).unwrap();
    };
    let made = || rcgen::generate_simple_self_signed(["covenant.example".to_owned()]).unwrap();
    let (ours, foreign) = (made(), made());
    let begun = world.begin(world.order()).await;
    write(&ours);
    let key = PrivatePkcs8KeyDer::from(ours.key_pair.serialize_der()).into();
    let config = ServerConfig::builder().with_no_client_auth();
    let config = config.with_single_cert(vec![ours.cert.der().clone()], key).unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move { repeat(acceptor.accept(stream).await.unwrap()).await });
        }
    });
    assert_eq!(begun.sandbox()["door"]["url"], format!("https://{}", world.runs.settings.daemon));
    let mut stream = begun.connect("door").await.unwrap();
    assert_eq!(exchange(&mut stream, "in plain words").await, "in plain words");
    write(&foreign);
    let mut stream = begun.connect("door").await.unwrap();
    assert_eq!(exchange(&mut stream, "secret").await, "", "another's certificate is not ours");
}

#[tokio::test]
async fn a_plain_program_has_no_doors_and_a_refusal_is_passed_on() {
    let Some(world) = World::new("[sandbox]\nrequired = true\n", nowhere()) else { return };
    let mut begun = world.begin(Order { sandbox: None, ..world.order() }).await;
    assert_eq!(begun.said["order"]["sandbox"], Value::Null);
    assert_eq!(begun.said["door"], Value::Null);
    drop(begun.input.take());
    assert_eq!(begun.run.wait().await.status, Status::Exited(7));
    let order = Order { arguments: vec!["refuse".to_owned()], ..world.order() };
    let refused = world.runs.start(order, Arc::new(str::to_owned)).await.unwrap_err();
    assert!(matches!(refused, StartError::Runner(_)), "{refused}");
    assert_eq!(refused.to_string(), "it could not be set up: no luck");
}

#[test]
fn a_program_is_told_an_address_that_leads_to_the_daemon() {
    let told = |config: &str, listen: &str, network| url(&parsed(config), listen.parse().unwrap(), network);
    let tls = "[http]\ntls_cert = \"c\"\ntls_key = \"k\"\npublic_url = \"https://covenant.example/\"\n";
    let plain = "[http]\nbehind_proxy = true\npublic_url = \"https://covenant.example\"\n";
    for (config, listen, network, expected) in [
        ("", "127.0.0.1:8421", Network::Full, "http://127.0.0.1:8421"),
        ("", "[::1]:8421", Network::Off, "http://[::1]:8421"),
        (plain, "0.0.0.0:8421", Network::Full, "http://127.0.0.1:8421"),
        (plain, "[::]:8421", Network::OutboundHttpsOnly, "http://[::1]:8421"),
        (tls, "192.168.1.2:8421", Network::Off, "https://192.168.1.2:8421"),
        (tls, "0.0.0.0:8421", Network::Full, "https://covenant.example"),
    ] {
        assert_eq!(told(config, listen, network), expected, "{listen}, {network:?}");
    }
}
