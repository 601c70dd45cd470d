//! What is wrong with arguments of `web_fetch` and `calendar_read`; the answers to addresses stand in `web.rs`.

use serde_json::json;

use super::Told::{Fails, Schema};
use super::{Table, long};

/// One table for each of them.
pub(super) fn tables() -> Vec<Table> {
    let web_fetch = vec![
        (json!({}), Schema("arguments: \"url\" is a required property")),
        (json!({"url": 5}), Schema("`/url`: value is not of type \"string\"")),
        (json!({"url": ""}), Schema("`/url`: value is shorter than 1 character")),
        (json!({"url": long(5000)}), Schema("`/url`: value is longer than 4096 characters")),
        (
            json!({"url": "http://localhost/", "max_length": 0}),
            Schema("`/max_length`: value is less than the minimum of 1"),
        ),
        (
            json!({"url": "http://localhost/", "max_length": 1e9}),
            Schema("`/max_length`: value is greater than the maximum of 1000000"),
        ),
        (
            json!({"url": "http://localhost/", "max_length": "9"}),
            Schema("`/max_length`: value is not of type \"integer\""),
        ),
        (json!({"url": "http://localhost/", "raw": 1}), Schema("`/raw`: value is not of type \"boolean\"")),
        (
            json!({"url": "http://localhost/", "follow": true}),
            Schema("arguments: Additional properties are not allowed ('follow' was unexpected)"),
        ),
    ];
    let calendar_read = vec![
        (json!({"days": 0}), Schema("`/days`: value is less than the minimum of 1")),
        (json!({"days": 367}), Schema("`/days`: value is greater than the maximum of 366")),
        (json!({"days": "7"}), Schema("`/days`: value is not of type \"integer\"")),
        (json!({"days": 1.5}), Schema("`/days`: value is not of type \"integer\"")),
        (json!({"from": "tomorrow"}), Schema("`/from`: value does not match \"^[0-9]{4}-[0-9]{2}-[0-9]{2}$\"")),
        (json!({"from": "2026-02-30"}), Fails("there is no day `2026-02-30`; write `from` as in 2026-01-31".into())),
        (json!({"from": 20_260_230}), Schema("`/from`: value is not of type \"string\"")),
        (json!({"calendar": ""}), Schema("`/calendar`: value is shorter than 1 character")),
        (json!({"calendar": 7}), Schema("`/calendar`: value is not of type \"string\"")),
        (json!({"calendar": long(201)}), Schema("`/calendar`: value is longer than 200 characters")),
        (json!({"timezone": long(65)}), Schema("`/timezone`: value is longer than 64 characters")),
        (json!({"timezone": ""}), Schema("`/timezone`: value is shorter than 1 character")),
        (json!({"timezone": "Mars/Olympus"}), Fails("there is no time zone `Mars/Olympus`; write one as in Europe/Berlin, America/New_York or UTC".into())),
        (json!({"timezone": "../../etc/passwd"}), Fails("there is no time zone `../../etc/passwd`; write one as in Europe/Berlin, America/New_York or UTC".into())),
        (json!({"url": "https://example.org"}), Schema("arguments: Additional properties are not allowed ('url' was unexpected)")),
        (json!({"calendar": "nobody's"}), Fails("calendar not found: `nobody's`; there are: `Own`".into())),
        (json!({"calendar": "own\u{0}"}), Fails("calendar not found: `own\u{0}`; there are: `Own`".into())),
    ];
    vec![("web_fetch", web_fetch), ("calendar_read", calendar_read)]
}
