//! A wire of the test: every handshake succeeds, calls are answered as told or never.

use std::collections::HashMap;

use super::*;
use crate::upstream::ports::Later;

pub(super) struct FakeWire {
    transport: &'static str,
    answers: Mutex<HashMap<&'static str, String>>,
    asked: Mutex<Vec<(&'static str, u64)>>,
    told: Mutex<Vec<&'static str>>,
    dropped: Arc<Mutex<Vec<&'static str>>>,
}

/// Notes when a question is given up.
struct Open(&'static str, Arc<Mutex<Vec<&'static str>>>);

impl Drop for Open {
    fn drop(&mut self) {
        self.1.lock().push(self.0);
    }
}

impl FakeWire {
    pub(super) fn new(transport: &'static str) -> Arc<Self> {
        let wire = Self {
            transport,
            answers: Mutex::default(),
            asked: Mutex::default(),
            told: Mutex::default(),
            dropped: Arc::default(),
        };
        wire.answers("initialize", r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}"#);
        wire.answers("server/discover", r#"{"supportedVersions":["2026-07-28"],"capabilities":{}}"#);
        Arc::new(wire)
    }

    pub(super) fn answers(&self, method: &'static str, result: &str) {
        self.answers.lock().insert(method, result.to_owned());
    }

    pub(super) fn asked(&self, method: &str) -> Option<u64> {
        self.asked.lock().iter().find(|(asked, _)| *asked == method).map(|(_, id)| *id)
    }

    pub(super) fn told(&self) -> Vec<&'static str> {
        self.told.lock().clone()
    }

    pub(super) fn was_dropped(&self, method: &str) -> bool {
        self.dropped.lock().contains(&method)
    }
}

impl Wire for FakeWire {
    fn ask<'a>(&'a self, letter: &'a Letter) -> Later<'a, Result<Answer, WireError>> {
        self.asked.lock().push((letter.method, letter.id.unwrap()));
        let answer = self.answers.lock().get(letter.method).cloned();
        Box::pin(async move {
            let open = Open(letter.method, Arc::clone(&self.dropped));
            let Some(answer) = answer else { return std::future::pending().await };
            std::mem::forget(open);
            Ok(Answer::Result(RawValue::from_string(answer).unwrap()))
        })
    }

    fn tell<'a>(&'a self, letter: &'a Letter) -> Later<'a, Result<(), WireError>> {
        self.told.lock().push(letter.method);
        Box::pin(async { Ok(()) })
    }

    fn agreed(&self, _: &str, _: bool) {}

    fn lost(&self) -> Later<'_, Arc<str>> {
        Box::pin(std::future::pending())
    }

    fn transport(&self) -> &'static str {
        self.transport
    }

    fn close(&self) -> Later<'_, ()> {
        Box::pin(async {})
    }
}
