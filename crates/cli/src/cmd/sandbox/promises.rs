//! The table of promises: which held, by which means, and what is missing.

use anstyle::AnsiColor;
use covenant_runner::report::{Kept, Measure, Promise, Report};

use crate::exit::Failure;
use crate::print::{self, Cell, Table};

/// Writes it to standard error, beside the program's own output.
pub(super) fn note(report: &Report) {
    print::note_styled(table(report).render(None).trim_end());
}

/// Writes it to standard output, and below it the whole in one sentence.
pub(super) fn print(report: &Report) -> Result<(), Failure> {
    // Not cut to the terminal: what is missing should be read whole.
    print::line(table(report).render(None).trim_end())?;
    print::line(&format!("\n{}", verdict(report)))
}

fn table(report: &Report) -> Table {
    let mut table = Table::new(&["PROMISE", "KEPT", "BY", "NOTE"]);
    for measure in &report.measures {
        let (word, colour) = match measure.kept {
            Kept::Yes => ("yes", AnsiColor::Green),
            Kept::Partly => ("partly", AnsiColor::Yellow),
            Kept::No => ("no", AnsiColor::Red),
        };
        table.row([
            Cell::from(measure.promise.name()),
            Cell::coloured(word, colour),
            Cell::from(measure.by.join(", ")),
            Cell::from(&measure.note),
        ]);
    }
    table
}

/// The whole in one sentence.
pub(super) fn verdict(report: &Report) -> String {
    let short = Promise::ALL.len() - report.measures.iter().filter(|measure| is_kept(measure)).count();
    match short {
        0 => "every promise is kept here".to_owned(),
        1 => "one promise is not kept in full".to_owned(),
        short => format!("{short} of {} promises are not kept in full", Promise::ALL.len()),
    }
}

fn is_kept(measure: &Measure) -> bool {
    measure.kept == Kept::Yes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_promise_nobody_speaks_of_is_not_kept() {
        let mut report = Report::default();
        for promise in Promise::ALL.into_iter().skip(1) {
            report.keeps(promise, &["x"]);
        }
        assert_eq!(verdict(&report), "one promise is not kept in full");
        report.keeps_partly(Promise::Lifetime, &["y"], "sometimes");
        assert_eq!(verdict(&report), "one promise is not kept in full");
        report.keeps(Promise::Lifetime, &["y"]);
        assert_eq!(verdict(&report), "every promise is kept here");
    }

    #[test]
    fn the_table_says_by_which_means_and_what_is_missing() {
        let mut report = Report::default();
        report.keeps(Promise::Calls, &["seccomp"]);
        report.keeps_partly(Promise::Network, &["landlock", "seccomp"], "TCP to port 443 is open");
        let text = anstream::adapter::strip_str(&table(&report).render(None)).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with("network  partly  landlock, seccomp  TCP to port 443"), "{text}");
        assert!(lines[2].starts_with("calls    yes     seccomp"), "{text}");
    }
}
