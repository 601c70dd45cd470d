//! A real browser: Chromium without a window, driven by `chromedriver` as the WebDriver specification has it.
//!
//! A shell holds both. It waits on a pipe from this process; when that breaks, however this process ended, it ends them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::wait::{LONG, until};

/// What is run in the shell: `$1` is chromedriver. The shell lets go of its own output, so that whoever reads it hears when
/// chromedriver has ended.
const SCRIPT: &str = r#"
"$1" --port=0 2>/dev/null </dev/null &
exec >&-
read -r _
trap '' TERM
kill -TERM 0
"#;

/// How Chromium is started: nothing it does by itself, and nothing kept from another time.
const FLAGS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

/// The member that an element is named by.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser with one window and an empty profile.
pub struct Chromium {
    shell: Child,
    port: u16,
    session: String,
    _profile: TempDir,
}

impl Chromium {
    /// Starts one. `None`, with a loud line, where it is not installed; an error if that is so in CI, where nothing may be skipped.
    pub fn start() -> Result<Option<Self>, String> {
        let (Some(driver), Some(browser)) = (find("chromedriver"), find("chromium")) else {
            return missing();
        };
        let profile = tempfile::tempdir().map_err(|error| error.to_string())?;
        let place = format!("--user-data-dir={}", profile.path().display());
        let (shell, port) = drive(&driver)?;
        let mut chromium = Self { shell, port, session: String::new(), _profile: profile };
        let arguments: Vec<&str> = FLAGS.into_iter().chain([place.as_str()]).collect();
        let wanted = json!({"browserName": "chrome", "webauthn:virtualAuthenticators": true,
            "goog:chromeOptions": {"binary": browser, "args": arguments}});
        let made = chromium.send("POST", "", &json!({"capabilities": {"alwaysMatch": wanted}}))?;
        let id = made.get("sessionId").and_then(Value::as_str).ok_or("chromedriver made no session")?;
        chromium.session = format!("/{id}");
        Ok(Some(chromium))
    }

    /// Opens that address, and waits until its page is there.
    ///
    /// # Panics
    /// If it cannot be opened.
    #[track_caller]
    pub fn open(&self, url: &str) {
        self.ask("POST", "/url", &json!({"url": url}));
    }

    /// The address of the page.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn url(&self) -> String {
        self.ask("GET", "/url", &Value::Null).as_str().unwrap_or_default().to_owned()
    }

    /// What the page says.
    #[track_caller]
    pub fn text(&self) -> String {
        let said = self.run("return document.body ? document.body.innerText : ''");
        said.as_str().unwrap_or_default().to_owned()
    }

    /// Runs a script in the page, from outside of its policy.
    ///
    /// # Panics
    /// If it fails.
    #[track_caller]
    pub fn run(&self, script: &str) -> Value {
        self.ask("POST", "/execute/sync", &json!({"script": script, "args": []}))
    }

    /// Types into what that selector finds.
    #[track_caller]
    pub fn fill(&self, selector: &str, text: &str) {
        let element = self.element(selector);
        self.ask("POST", &format!("/element/{element}/value"), &json!({"text": text}));
    }

    /// Clicks on what that selector finds.
    #[track_caller]
    pub fn click(&self, selector: &str) {
        let element = self.element(selector);
        self.ask("POST", &format!("/element/{element}/click"), &json!({}));
    }

    /// Clicks on the button or link that says that.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub fn press(&self, label: &str) {
        let found = until(&format!("something to press that says `{label}`: {}", self.text()), || {
            let path = format!("//*[self::button or self::a][contains(., '{label}')]");
            let found = self.send("POST", "/element", &json!({"using": "xpath", "value": path})).ok()?;
            let found = found.get(ELEMENT)?.as_str()?.to_owned();
            let shown = self.send("GET", &format!("/element/{found}/displayed"), &Value::Null).ok()?;
            (shown == true).then_some(found)
        });
        self.ask("POST", &format!("/element/{found}/click"), &json!({}));
    }

    /// Waits until the page says that.
    #[track_caller]
    pub fn sees(&self, text: &str) {
        until(&format!("a page that says `{text}`, at {}: {}", self.url(), self.text()), || {
            let shown = self.send(
                "POST",
                "/execute/sync",
                &json!({"script": "return document.body.innerText", "args": []}),
            );
            shown.ok()?.as_str()?.contains(text).then_some(())
        });
    }

    /// Plugs in a device for passkeys that knows whoever sits there.
    #[track_caller]
    pub fn plug_in(&self) {
        let device = json!({"protocol": "ctap2", "transport": "internal", "hasResidentKey": true,
            "hasUserVerification": true, "isUserVerified": true});
        self.ask("POST", "/webauthn/authenticator", &device);
    }

    #[track_caller]
    fn element(&self, selector: &str) -> String {
        until(&format!("an element {selector}"), || {
            let found =
                self.send("POST", "/element", &json!({"using": "css selector", "value": selector})).ok()?;
            Some(found.get(ELEMENT)?.as_str()?.to_owned())
        })
    }

    #[track_caller]
    fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        self.send(method, path, body).unwrap_or_else(|error| panic!("{method} {path}: {error}"))
    }

    /// Asks chromedriver, and gives its `value`.
    fn send(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let told = |error: std::io::Error| error.to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).map_err(told)?;
        stream.set_read_timeout(Some(LONG)).map_err(told)?;
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let head =
            format!("{method} /session{}{path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n", self.session, self.port);
        let rest = format!("Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(format!("{head}{rest}").as_bytes()).map_err(told)?;
        let mut reading = BufReader::new(stream);
        let (mut length, mut line) = (0, String::new());
        while line != "\r\n" {
            line.clear();
            if reading.read_line(&mut line).map_err(told)? == 0 {
                return Err("chromedriver ended".to_owned());
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().map_err(|_| "no length".to_owned())?;
            }
        }
        let mut answer = vec![0; length];
        reading.read_exact(&mut answer).map_err(told)?;
        let answer: Value = serde_json::from_slice(&answer).map_err(|error| error.to_string())?;
        let value = answer.get("value").cloned().unwrap_or_default();
        match value.get("error") {
            Some(error) => Err(format!("{error}: {}", value.get("message").cloned().unwrap_or_default())),
            None => Ok(value),
        }
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            let _ = self.send("DELETE", "", &Value::Null);
        }
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

/// How often chromedriver is started. It takes a free port, then wants the same one for the other family of addresses, and ends
/// where another program has that.
const STARTS: usize = 5;

/// Starts chromedriver in a group of its own; its port.
fn drive(driver: &std::path::Path) -> Result<(Child, u16), String> {
    let mut last = String::new();
    for _ in 0..STARTS {
        match drive_once(driver) {
            Ok(started) => return Ok(started),
            Err(error) => last = error,
        }
    }
    Err(last)
}

#[expect(clippy::disallowed_methods, reason = "the tests' own browser, not a tool")]
fn drive_once(driver: &std::path::Path) -> Result<(Child, u16), String> {
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", SCRIPT, "sh"])
        .arg(driver)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0);
    let mut shell = shell.spawn().map_err(|error| format!("sh: {error}"))?;
    let output = shell.stdout.take().ok_or("sh has no output")?;
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        let port =
            line.split_once("started successfully on port ").map(|(_, rest)| rest.trim_end_matches('.'));
        if let Some(port) = port.and_then(|port| port.trim().parse().ok()) {
            return Ok((shell, port));
        }
    }
    drop(shell.stdin.take());
    let ended = shell.wait().map_err(|error| format!("sh: {error}"))?;
    Err(format!("chromedriver ended before it said its port: {ended}"))
}

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|directory| directory.join(program)).find(|file| file.is_file())
}

fn missing() -> Result<Option<Chromium>, String> {
    if std::env::var_os("CI").is_some() {
        return Err(
            "chromium or chromedriver is not installed, and CI is set: install them, nothing may be skipped"
                .into(),
        );
    }
    // Past the test harness, which would keep what `eprintln` says to itself.
    let loud = b"\nSKIPPED: every test in a browser: chromium and chromedriver are not in PATH\n\n";
    std::io::stderr().write_all(loud).map_err(|error| error.to_string())?;
    Ok(None)
}
