//! What is counted and measured, as Prometheus reads it. Names of tools are the only words in it that are not ours; who
//! called and with what is never in it.

pub(crate) mod process;
mod text;

use covenant_gate::meter::OUTCOMES;
use covenant_model::VERSION;

use self::text::{Page, Sort};
use crate::daemon::Daemon;

/// The form of the page.
pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Everything that is counted and measured now.
pub(crate) fn page(daemon: &Daemon) -> String {
    let mut page = Page::default();
    calls(&mut page, daemon);
    audit(&mut page, daemon);
    servers(&mut page, daemon);
    connections(&mut page, daemon);
    own(&mut page, daemon);
    page.finish()
}

fn calls(page: &mut Page, daemon: &Daemon) {
    let (readings, redactor) = (daemon.gate.readings(), daemon.gate.redactor());
    page.family(
        "covenant_tool_calls_total",
        Sort::Counter,
        "Calls of tools since the start of the daemon, by how they ended. Calls of tools that do not exist are not here.",
    );
    for (name, counts) in &readings.tools {
        let name = redactor.redact(name.as_str());
        for (outcome, count) in OUTCOMES.iter().zip(counts) {
            page.sample("", &[("tool", &name), ("outcome", outcome)], count);
        }
    }
    page.family(
        "covenant_call_seconds",
        Sort::Histogram,
        "How long calls took that started, from their first check to the record of their end, by the kind of tool, or \
         resource, prompt, completion.",
    );
    for times in &readings.times {
        let kind = ("kind", times.kind);
        for (end, count) in &times.buckets {
            page.sample("_bucket", &[kind, ("le", &end.to_string())], count);
        }
        page.sample("_bucket", &[kind, ("le", "+Inf")], times.count);
        page.sample("_sum", &[kind], times.sum);
        page.sample("_count", &[kind], times.count);
    }
    page.family(
        "covenant_refusals_total",
        Sort::Counter,
        "Requests that were refused since the start of the daemon, by the code of the refusal.",
    );
    for (reason, count) in &readings.refusals {
        page.sample("", &[("reason", reason)], count);
    }
}

fn audit(page: &mut Page, daemon: &Daemon) {
    let audit = daemon.gate.audit();
    page.single(
        "covenant_audit_rows_total",
        Sort::Counter,
        "Rows of the audit log since its beginning, also before this start: the number of the last one.",
        *audit.subscribe().borrow(),
    );
    page.single(
        "covenant_audit_lag_seconds",
        Sort::Gauge,
        "Age of the oldest row that was handed to the audit log and is not on disk yet (with [audit] sink = \"database\": \
         not committed); 0 if all are.",
        audit.lag().as_secs_f64(),
    );
}

fn servers(page: &mut Page, daemon: &Daemon) {
    page.family("covenant_servers", Sort::Gauge, "External MCP servers, by how they are.");
    for (state, count) in daemon.desk.fleet.counts() {
        page.sample("", &[("state", state.as_str())], count);
    }
}

fn connections(page: &mut Page, daemon: &Daemon) {
    page.single(
        "covenant_sessions",
        Sort::Gauge,
        "MCP sessions that are open over HTTP.",
        daemon.sessions.count(),
    );
    page.single(
        "covenant_connections",
        Sort::Gauge,
        "Connections that are open, on the socket and on the port, the one that asks included.",
        daemon.stop.going_on(),
    );
    page.single(
        "covenant_spans_dropped_total",
        Sort::Counter,
        "Spans since the start of the daemon that found the queue full or that the collector did not take.",
        daemon.spans.lost(),
    );
}

fn own(page: &mut Page, daemon: &Daemon) {
    page.family("covenant_build_info", Sort::Gauge, "Always 1; the version is in the label.");
    page.sample("", &[("version", VERSION)], 1);
    let millis = daemon.started_at.millis();
    page.single(
        "covenant_start_time_seconds",
        Sort::Gauge,
        "When the daemon started, in seconds since 1970.",
        format_args!("{}.{:03}", millis / 1000, millis % 1000),
    );
    if let Some(bytes) = process::resident_bytes() {
        page.single("process_resident_memory_bytes", Sort::Gauge, "Memory the process has in use.", bytes);
    }
    if let Some(files) = process::open_files() {
        page.single("process_open_fds", Sort::Gauge, "Files and sockets the process has open.", files);
    }
}
