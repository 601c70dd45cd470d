//! One row of the log for people: when, who, what, how it ended, and why.

use anstyle::AnsiColor;
use covenant_model::time::Timestamp;
use serde_json::Value;

use crate::cmd::capabilities::short;
use crate::print::{self, Cell, Table};

/// A table of rows.
pub(super) fn table() -> Table {
    Table::new(&["SEQ", "TIME", "PRINCIPAL", "ABOUT", "KIND", "DECISION", "DETAIL"])
}

/// How the moment of a row is written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Times {
    /// With its date.
    Dated,
    /// On a terminal, where room is scarce: without the date, where that is today's.
    Today(Timestamp),
}

impl Times {
    fn write(self, moment: &str) -> String {
        let moment = short(moment);
        match (self, moment.split_once('T')) {
            (Self::Today(now), Some((date, time))) if now.to_string().starts_with(date) => time.to_owned(),
            _ => moment,
        }
    }
}

/// The cells of one row; a line that is no row is shown as it is.
pub(super) fn cells(line: &[u8], times: Times) -> Vec<Cell> {
    let Ok(row) = serde_json::from_slice::<Value>(line) else {
        return vec![String::from_utf8_lossy(line).as_ref().into()];
    };
    let decision = text(&row, "decision");
    vec![
        number(&row, "seq").into(),
        times.write(&text(&row, "ts")).into(),
        text(&row, "principal").into(),
        text(&row, "agent_id").into(),
        text(&row, "kind").into(),
        match colour(&decision) {
            Some(colour) => Cell::coloured(&decision, colour),
            None => decision.into(),
        },
        detail(&row).into(),
    ]
}

/// One row as one line, for a stream whose widths are not known beforehand.
pub(super) fn line(line: &[u8]) -> String {
    let Ok(row) = serde_json::from_slice::<Value>(line) else {
        return print::escape(&String::from_utf8_lossy(line)).into_owned();
    };
    let decision = text(&row, "decision");
    let style = colour(&decision).map(anstyle::AnsiColor::on_default).unwrap_or_default();
    let safe = |text: String| print::escape(&text).into_owned();
    format!(
        "{:>6} {} {} {} {} {style}{}{style:#} {}",
        number(&row, "seq"),
        safe(short(&text(&row, "ts"))),
        safe(text(&row, "principal")),
        safe(text(&row, "agent_id")),
        safe(text(&row, "kind")),
        safe(decision),
        safe(detail(&row))
    )
    .trim_end()
    .to_owned()
}

fn text(row: &Value, member: &str) -> String {
    row.get(member).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn number(row: &Value, member: &str) -> String {
    row.get(member).and_then(Value::as_u64).map(|number| number.to_string()).unwrap_or_default()
}

fn colour(decision: &str) -> Option<AnsiColor> {
    match decision {
        "allowed" | "ok" => Some(AnsiColor::Green),
        "refused" | "error" | "failed" | "timed_out" | "interrupted" => Some(AnsiColor::Red),
        "cancelled" => Some(AnsiColor::Yellow),
        _ => None,
    }
}

/// What else the row says that a person looks for: the reason first, then the action and how long it took.
fn detail(row: &Value) -> String {
    let took = row.get("duration_us").and_then(Value::as_u64).map(duration);
    let parts = [text(row, "reason"), text(row, "action"), text(row, "grant"), took.unwrap_or_default()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

fn duration(micros: u64) -> String {
    match micros {
        0..1_000 => format!("{micros} µs"),
        1_000..1_000_000 => format!("{}.{} ms", micros / 1000, micros % 1000 / 100),
        _ => format!("{}.{} s", micros / 1_000_000, micros % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_one_readable_line() {
        let row = br#"{"seq":7,"ts":"2026-11-16T08:30:00.123Z","principal":"client:claude","agent_id":"tool:echo",
            "kind":"CallFinished","decision":"ok","action":"tool.call.echo","duration_us":1234,"prev":"","hash":""}"#;
        let plain = anstream::adapter::strip_str(&line(row)).to_string();
        assert_eq!(
            plain,
            "     7 2026-11-16T08:30:00Z client:claude tool:echo CallFinished ok tool.call.echo · 1.2 ms"
        );
    }

    const ROW: &[u8] = br#"{"seq":1234,"ts":"2026-11-16T08:30:00.123Z","principal":"client:claude",
        "agent_id":"tool:echo","kind":"CapabilityCheck","decision":"refused","action":"tool.call.echo",
        "reason":"not_granted","prev":"","hash":""}"#;

    fn shown(times: Times, width: usize) -> Vec<String> {
        let mut table = table();
        table.row(cells(ROW, times));
        let text = anstream::adapter::strip_str(&table.render(Some(width))).to_string();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn a_row_of_today_fits_a_terminal_of_eighty_columns() {
        let today = Times::Today("2026-11-16T09:00:00Z".parse().unwrap());
        let lines = shown(today, 80);
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:#?}");
        assert!(
            lines[0].starts_with("SEQ   TIME       PRINCIPAL") && lines[0].ends_with("DETAIL"),
            "{lines:#?}"
        );
        assert!(lines[1].starts_with("1234  08:30:00Z  client:claude"), "{lines:#?}");
        assert!(lines[1].contains("refused") && lines[1].contains("not_granted"), "{lines:#?}");
    }

    #[test]
    fn a_row_is_shown_whole_where_there_is_room() {
        let tomorrow = Times::Today("2026-11-17T09:00:00Z".parse().unwrap());
        for times in [tomorrow, Times::Dated] {
            let lines = shown(times, 200);
            assert!(lines[1].contains("2026-11-16T08:30:00Z"), "{lines:#?}");
            assert!(lines[1].ends_with("not_granted · tool.call.echo"), "{lines:#?}");
        }
    }

    #[test]
    fn what_a_row_holds_cannot_move_the_cursor() {
        let row = "{\"seq\":1,\"reason\":\"\\u001b[2J\\n\u{202e}\"}".as_bytes();
        assert!(line(row).contains("\\u{1b}[2J\\n\\u{202e}"), "{}", line(row));
    }
}
