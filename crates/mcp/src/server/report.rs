//! What a running request says on its way: progress that only grows, and log messages somebody asked for.

use std::sync::Arc;

use covenant_gate::context::{Level, Listener, LogMessage, Progress};
use parking_lot::Mutex;
use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::message::Id;
use crate::outlet::Outlet;

/// Turns what a tool says into notifications, until its request is answered.
pub(super) struct Report {
    token: Option<Box<RawValue>>,
    level: Option<Level>,
    outlet: Arc<dyn Outlet>,
    state: Mutex<State>,
}

struct State {
    open: bool,
    last: f64,
}

#[derive(Serialize)]
struct Message<P> {
    jsonrpc: &'static str,
    method: &'static str,
    params: P,
}

#[derive(Serialize)]
struct ProgressParams<'a> {
    #[serde(rename = "progressToken")]
    token: &'a RawValue,
    progress: Plain,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<Plain>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
}

/// A number as people write it: a whole one without a fraction, as it mostly came.
struct Plain(f64);

impl Serialize for Plain {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_string().parse::<i64>() {
            Ok(whole) => serializer.serialize_i64(whole),
            Err(_) => serializer.serialize_f64(self.0),
        }
    }
}

#[derive(Serialize)]
struct LogParams<'a> {
    level: Level,
    #[serde(skip_serializing_if = "Option::is_none")]
    logger: Option<&'a str>,
    data: &'a Value,
}

impl Report {
    /// A report under that progress token, of messages at that level and above; `None` if neither is wanted.
    pub(super) fn of(token: Option<Id>, level: Option<Level>, outlet: &Arc<dyn Outlet>) -> Option<Arc<Self>> {
        let token = token.and_then(|token| RawValue::from_string(token.as_json().to_owned()).ok());
        let state = Mutex::new(State { open: true, last: f64::NEG_INFINITY });
        (token.is_some() || level.is_some())
            .then(|| Arc::new(Self { token, level, outlet: outlet.clone(), state }))
    }

    /// Nothing is reported of a request that is answered.
    pub(super) fn close(&self) {
        self.state.lock().open = false;
    }

    fn send(&self, method: &'static str, params: impl Serialize) {
        if let Ok(message) = serde_json::to_vec(&Message { jsonrpc: "2.0", method, params }) {
            self.outlet.notify(&message);
        }
    }
}

impl Listener for Report {
    fn progress(&self, report: Progress) {
        let Some(token) = &self.token else { return };
        let mut state = self.state.lock();
        if !state.open || !report.progress.is_finite() || report.progress <= state.last {
            return;
        }
        state.last = report.progress;
        let total = report.total.filter(|total| total.is_finite()).map(Plain);
        let (progress, message) = (Plain(report.progress), report.message.as_deref());
        let params = ProgressParams { token, progress, total, message };
        self.send("notifications/progress", params);
    }

    fn log(&self, message: LogMessage) {
        let state = self.state.lock();
        if state.open && self.level.is_some_and(|least| message.level >= least) {
            let LogMessage { level, logger, data } = &message;
            self.send("notifications/message", LogParams { level: *level, logger: logger.as_deref(), data });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Default)]
    struct Heard(Mutex<Vec<Value>>);

    impl Outlet for Heard {
        fn notify(&self, message: &[u8]) {
            self.0.lock().push(serde_json::from_slice(message).unwrap());
        }
    }

    fn progress(progress: f64) -> Progress {
        Progress { progress, total: Some(10.0), message: None }
    }

    #[test]
    fn progress_only_grows_and_ends_with_its_request() {
        let heard = Arc::new(Heard::default());
        let outlet: Arc<dyn Outlet> = heard.clone();
        let report = Report::of(Id::of("\"t\""), None, &outlet).unwrap();
        for step in [1.0, 1.0, 0.5, f64::NAN, 2.0, f64::INFINITY] {
            report.progress(progress(step));
        }
        report.close();
        report.progress(progress(3.0));
        let params = |step: u64| json!({"progressToken": "t", "progress": step, "total": 10});
        let sent: Vec<_> = heard.0.lock().iter().map(|message| message["params"].clone()).collect();
        assert_eq!(sent, [params(1), params(2)]);
    }

    #[test]
    fn messages_below_the_level_are_kept_back() {
        let heard = Arc::new(Heard::default());
        let outlet: Arc<dyn Outlet> = heard.clone();
        let report = Report::of(None, Some(Level::Warning), &outlet).unwrap();
        for level in [Level::Debug, Level::Notice, Level::Warning, Level::Emergency] {
            report.log(LogMessage { level, logger: None, data: json!("x") });
        }
        report.progress(progress(1.0));
        let levels: Vec<_> =
            heard.0.lock().iter().map(|message| message["params"]["level"].clone()).collect();
        assert_eq!(levels, ["warning", "emergency"]);
        assert!(Report::of(None, None, &outlet).is_none());
    }

    #[test]
    fn a_whole_number_has_no_fraction() {
        for (number, written) in [
            (3.0, "3"),
            (0.0, "0"),
            (-2.0, "-2"),
            (2.5, "2.5"),
            (1e15, "1000000000000000"),
            (1e300, "1e+300"),
        ] {
            assert_eq!(serde_json::to_string(&Plain(number)).unwrap(), written);
        }
    }
}
