//! Which of the protocol's two eras a request speaks: the handshake of 2024 and 2025, or self-contained since 2026.

use serde_json::json;

use crate::message::text;
use crate::params::Meta;
use crate::reply::{RpcError, UNSUPPORTED_VERSION};

/// The revision in which every request says for itself what it speaks.
pub const MODERN: &str = "2026-07-28";

/// Every revision we speak, newest first.
pub const SUPPORTED: [&str; 5] = [MODERN, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// The newest revision with a handshake.
pub const NEWEST_LEGACY: &str = "2025-11-25";

/// How a request is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// As up to 2025-11-25; also a bare request that says nothing of itself.
    Legacy,
    /// As since 2026-07-28.
    Modern,
}

/// Decides the era of one request.
pub fn of(method: &str, meta: &Meta<'_>) -> Result<Era, RpcError> {
    let Some(version) = meta.version else {
        return match method {
            "server/discover" | "subscriptions/listen" => Err(missing("protocolVersion")),
            _ => Ok(Era::Legacy),
        };
    };
    let Some(version) = text(version) else { return Err(missing("protocolVersion")) };
    match version.as_ref() {
        MODERN if meta.capabilities.is_some_and(|value| value.get().starts_with('{')) => Ok(Era::Modern),
        MODERN => Err(missing("clientCapabilities")),
        known if SUPPORTED.contains(&known) => Ok(Era::Legacy),
        unknown => Err(unsupported(unknown)),
    }
}

/// The revision that answers an `initialize` asking for that one.
pub fn negotiate(wanted: &str) -> &'static str {
    let mut legacy = SUPPORTED.into_iter().filter(|version| *version != MODERN);
    legacy.find(|version| *version == wanted).unwrap_or(NEWEST_LEGACY)
}

/// Says what a request of the modern era lacks.
pub fn missing(key: &str) -> RpcError {
    RpcError::invalid_params(format_args!("`_meta` needs `io.modelcontextprotocol/{key}`"))
}

/// Says that we do not speak that revision.
pub fn unsupported(version: &str) -> RpcError {
    let mut error = RpcError::new(
        UNSUPPORTED_VERSION,
        format!("Unsupported protocol version: use one of {}", SUPPORTED.join(", ")),
    );
    error.data = Some(json!({ "supported": SUPPORTED, "requested": version }));
    error
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    fn decide(method: &str, meta: &str) -> Result<Era, i32> {
        let raw: &RawValue = serde_json::from_str(meta).unwrap();
        of(method, &Meta::read(Some(raw)).unwrap()).map_err(|error| error.code)
    }

    const WHOLE: &str = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
        "io.modelcontextprotocol/clientCapabilities":{}}"#;

    #[test]
    fn a_request_that_says_nothing_is_legacy_and_one_that_says_all_is_modern() {
        assert_eq!(decide("tools/list", "{}"), Ok(Era::Legacy));
        assert_eq!(decide("tools/list", r#"{"progressToken":1}"#), Ok(Era::Legacy));
        assert_eq!(decide("tools/list", WHOLE), Ok(Era::Modern));
        assert_eq!(decide("initialize", WHOLE), Ok(Era::Modern), "which has no handshake");
    }

    #[test]
    fn a_modern_request_without_its_required_keys_is_invalid() {
        let version_only = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
        assert_eq!(decide("tools/list", version_only), Err(-32602));
        assert_eq!(decide("tools/list", r#"{"io.modelcontextprotocol/protocolVersion":7}"#), Err(-32602));
        assert_eq!(decide("server/discover", "{}"), Err(-32602));
    }

    #[test]
    fn an_unknown_revision_is_told_which_ones_we_speak() {
        let raw: &RawValue =
            serde_json::from_str(r#"{"io.modelcontextprotocol/protocolVersion":"1900-01-01"}"#).unwrap();
        let error = of("tools/list", &Meta::read(Some(raw)).unwrap()).unwrap_err();
        assert_eq!(error.code, -32022);
        assert_eq!(error.data.unwrap(), json!({"supported": SUPPORTED, "requested": "1900-01-01"}));
    }

    #[test]
    fn an_initialize_gets_the_revision_it_asked_for_or_our_newest_with_a_handshake() {
        for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
            assert_eq!(negotiate(version), version);
        }
        for version in ["2026-07-28", "2099-01-01", ""] {
            assert_eq!(negotiate(version), NEWEST_LEGACY);
        }
    }
}
