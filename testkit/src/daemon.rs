//! A daemon that was started for a test: ready when `start` returns, ended when it is dropped.

use std::process::Child;
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::home::Home;
use crate::wait::until;

/// A running daemon.
pub struct Daemon<'h> {
    home: &'h Home,
    child: Child,
    printed: Arc<Mutex<String>>,
}

impl<'h> Daemon<'h> {
    /// Starts `covenant up` with further arguments and waits until it serves.
    ///
    /// # Panics
    /// If it ends before it is ready.
    #[track_caller]
    pub fn start(home: &'h Home, arguments: &[&str]) -> Self {
        Self::within(home, arguments, &[])
    }

    /// The same in an environment that has these variables as well.
    ///
    /// # Panics
    /// If it ends before it is ready.
    #[track_caller]
    pub fn within(home: &'h Home, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let command = home.command(&["up"]).arguments(arguments);
        let command = environment.iter().fold(command, |command, (name, value)| command.env(name, *value));
        let mut child = command.spawn();
        let printed = Arc::new(Mutex::new(String::new()));
        let (out, err) = (child.stdout.take(), child.stderr.take());
        collect(out.expect("a pipe"), printed.clone());
        collect(err.expect("a pipe"), printed.clone());
        let mut daemon = Self { home, child, printed };
        until("the daemon is ready", || {
            if let Ok(Some(status)) = daemon.child.try_wait() {
                panic!("the daemon ended with {status}:\n{}", daemon.printed());
            }
            let status = home.run(&["status", "--json", "--no-start"]);
            (status.code() == 0 && status.json().get("ready") == Some(&Value::Bool(true))).then_some(())
        });
        daemon
    }

    /// What it has printed so far.
    ///
    /// # Panics
    /// If a reader broke.
    pub fn printed(&self) -> String {
        self.printed.lock().expect("no reader panicked").clone()
    }

    /// `covenant status --json`.
    pub fn status(&self) -> Value {
        self.home.run(&["status", "--json", "--no-start"]).ok().json()
    }

    /// The port of its loopback listener.
    ///
    /// # Panics
    /// If it has none.
    pub fn port(&self) -> u16 {
        let status = self.status();
        let address = status.pointer("/listen/0").and_then(Value::as_str).expect("an address");
        address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port")
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// If it is gone.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        rustix::process::kill_process(pid.expect("a pid"), signal).expect("the daemon is there");
    }

    /// Ends it at once, as a crash would.
    ///
    /// # Panics
    /// If it cannot be ended.
    pub fn kill(mut self) {
        self.child.kill().expect("the daemon is there");
        self.child.wait().expect("the daemon ends");
    }

    /// Asks it to stop and waits until it has.
    ///
    /// # Panics
    /// If it does not end well.
    #[track_caller]
    pub fn stop(mut self) {
        self.home.run(&["stop"]).ok();
        let status = self.child.wait().expect("the daemon ends");
        assert!(status.success(), "{status}\n{}", self.printed());
    }

    /// Waits until it has ended by itself.
    ///
    /// # Panics
    /// If it does not.
    pub fn ended(mut self) -> (i32, String) {
        let status = until("the daemon ends", || self.child.try_wait().expect("a child of ours"));
        (status.code().unwrap_or(-1), self.printed())
    }
}

fn collect(mut stream: impl std::io::Read + Send + 'static, into: Arc<Mutex<String>>) {
    std::thread::spawn(move || {
        let mut block = [0; 4096];
        while let Ok(count @ 1..) = stream.read(&mut block) {
            let text = String::from_utf8_lossy(block.get(..count).unwrap_or_default()).into_owned();
            into.lock().expect("no reader panicked").push_str(&text);
        }
    });
}

impl Drop for Daemon<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
