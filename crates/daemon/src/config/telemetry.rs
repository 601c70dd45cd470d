//! `[telemetry]`: where spans of calls are sent. Endpoint and headers may hold credentials, so they are shown without.

use std::collections::BTreeMap;
use std::fmt;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};

use super::Invalid;
use super::fill::filled_in;
use crate::outbound::{Address, HIDDEN};
use crate::secrets::Secrets;

/// The keys of this section.
pub(super) const KEYS: &[&str] = &["otlp_endpoint", "otlp_headers"];

/// Where OTLP takes spans.
const PATH: &str = "/v1/traces";

/// Headers that say how the message is sent: ours to write.
const OURS: [&str; 5] = ["content-type", "content-length", "transfer-encoding", "connection", "host"];

/// Where spans are sent.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Telemetry {
    /// The URL of a collector that speaks OTLP over HTTP, or nothing.
    pub otlp_endpoint: String,
    /// Headers to send along. `${secret:NAME}` stands for a secret.
    pub otlp_headers: BTreeMap<String, String>,
}

impl Telemetry {
    /// Where spans go; `None` if they are not sent.
    pub(crate) fn address(&self) -> Option<Address> {
        Address::parse(&self.otlp_endpoint).ok().map(|address| address.ending_with(PATH))
    }

    /// The headers with their secrets, or the name of a secret that is not there.
    pub(crate) fn headers(&self, secrets: &Secrets) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in &self.otlp_headers {
            let value =
                filled_in(value, |secret| secrets.get(secret).map(|value| value.reveal().to_owned()))?;
            // A secret may hold what no header can; the name was checked when the file was read.
            let (Ok(name), Ok(mut value)) = (name.parse::<HeaderName>(), HeaderValue::try_from(value)) else {
                return Err(format!("the value of the header {name} cannot be sent"));
            };
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        Ok(headers)
    }

    /// Why no spans are sent although they should be.
    pub(crate) fn warning(&self, secrets: &Secrets) -> Option<String> {
        self.address()?;
        let reason = self.headers(secrets).err()?;
        Some(format!("no spans are sent, because of `telemetry.otlp_headers`: {reason}"))
    }

    /// The same without credentials.
    pub(super) fn shown(&self) -> Self {
        let shown = Address::parse(&self.otlp_endpoint).map(|address| address.shown()).unwrap_or_default();
        // A URL always has a path; one that nobody wrote is not shown.
        let written = self.otlp_endpoint.ends_with('/');
        let endpoint = if written { shown.as_str() } else { shown.trim_end_matches('/') };
        let hidden = |name: &String| (name.clone(), HIDDEN.to_owned());
        Self {
            otlp_endpoint: endpoint.to_owned(),
            otlp_headers: self.otlp_headers.keys().map(hidden).collect(),
        }
    }

    pub(super) fn check(&self) -> Result<(), Invalid> {
        if !self.otlp_endpoint.is_empty()
            && let Err(reason) = Address::parse(&self.otlp_endpoint)
        {
            return Err(Invalid::new("telemetry.otlp_endpoint", reason.to_string()));
        }
        let invalid = |reason: String| Err(Invalid::new("telemetry.otlp_headers", reason));
        for (name, value) in &self.otlp_headers {
            let shown: String = name.chars().take(64).flat_map(char::escape_debug).collect();
            if name.parse::<HeaderName>().is_err() {
                return invalid(format!("holds `{shown}`, which is no name of a header"));
            }
            if OURS.iter().any(|ours| name.eq_ignore_ascii_case(ours)) {
                return invalid(format!("holds `{shown}`, which the daemon sets itself: remove it"));
            }
            let sound = filled_in(value, |_| Some(String::new()));
            if !sound.is_ok_and(|value| HeaderValue::try_from(value).is_ok()) {
                return invalid(format!(
                    "has a value for `{shown}` that cannot be sent: write one line of text, and secrets as ${{secret:NAME}}"
                ));
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { otlp_endpoint, otlp_headers } = self.shown();
        let names: Vec<&String> = otlp_headers.keys().collect();
        f.debug_struct("Telemetry")
            .field("otlp_endpoint", &otlp_endpoint)
            .field("otlp_headers", &names)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn telemetry(endpoint: &str, headers: &[(&str, &str)]) -> Telemetry {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Telemetry { otlp_endpoint: endpoint.to_owned(), otlp_headers: headers.iter().map(pair).collect() }
    }

    #[test]
    fn the_path_of_traces_is_added_where_it_is_not_there_yet() {
        for (endpoint, url) in [
            ("http://localhost:4318", "http://localhost:4318/v1/traces"),
            ("http://localhost:4318/", "http://localhost:4318/v1/traces"),
            ("http://localhost:4318/v1/traces", "http://localhost:4318/v1/traces"),
            ("https://otlp.example.org/otlp/", "https://otlp.example.org/otlp/v1/traces"),
            ("https://otlp.example.org/otlp?key=x", "https://otlp.example.org/otlp/v1/traces?key=x"),
        ] {
            assert_eq!(telemetry(endpoint, &[]).address().unwrap().url().as_str(), url);
        }
        assert_eq!(telemetry("", &[]).address(), None);
    }

    #[test]
    fn what_cannot_be_sent_is_refused_without_being_quoted() {
        for headers in [
            [("a b", "x")],
            [("", "x")],
            [("content-type", "text/plain")],
            [("Host", "elsewhere")],
            [("x-key", "hunter2\nhunter2")],
            [("x-key", "hunter2 ${secret:")],
        ] {
            let refused = telemetry("", &headers).check().unwrap_err();
            assert!(!format!("{refused:?}").contains("hunter2"), "{refused:?}");
        }
        let plain = telemetry("http://collector.example.org:4318", &[]).check().unwrap_err();
        assert!(format!("{plain:?}").contains("http:// to another machine"), "{plain:?}");
        assert_eq!(telemetry("", &[("Authorization", "Bearer ${secret:OTLP_TOKEN}")]).check(), Ok(()));
    }

    #[test]
    fn an_endpoint_is_shown_as_it_was_written() {
        for endpoint in ["", "http://localhost:4318", "http://localhost:4318/", "https://a.example/otlp"] {
            assert_eq!(telemetry(endpoint, &[]).shown().otlp_endpoint, endpoint);
        }
    }

    #[test]
    fn credentials_are_never_shown() {
        let config = telemetry("https://ada:hunter2@a.example/?k=hunter2", &[("X-Key", "hunter2")]);
        let shown = config.shown();
        assert_eq!(shown.otlp_endpoint, "https://[REDACTED]@a.example/?[REDACTED]");
        assert_eq!(shown.otlp_headers["X-Key"], "[REDACTED]");
        assert!(!format!("{config:?}").contains("hunter2"));
    }

    #[test]
    fn a_secret_that_is_not_there_is_named() {
        let headers = [("authorization", "Bearer ${secret:OTLP_TOKEN}")];
        let warning = telemetry("http://localhost:4318", &headers).warning(&Secrets::default()).unwrap();
        assert!(
            warning.contains("there is no secret OTLP_TOKEN; set it with: covenant secrets set OTLP_TOKEN")
        );
        assert_eq!(telemetry("", &headers).warning(&Secrets::default()), None, "nothing is to be sent");
    }
}
