//! The text format that Prometheus reads, version 0.0.4: families with their help and type, then their samples.

use std::fmt::{Display, Write as _};

/// What sort of numbers a family has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    Counter,
    Gauge,
    Histogram,
}

/// A page that is being written.
#[derive(Debug, Default)]
pub(super) struct Page {
    text: String,
    family: &'static str,
}

impl Page {
    /// Begins a family; the samples that follow are its own.
    pub(super) fn family(&mut self, name: &'static str, sort: Sort, help: &str) {
        self.family = name;
        let sort = match sort {
            Sort::Counter => "counter",
            Sort::Gauge => "gauge",
            Sort::Histogram => "histogram",
        };
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        // Writing to a string does not fail.
        let _ = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {sort}\n");
    }

    /// A number of the family, with an ending to its name where the sort has such.
    pub(super) fn sample(&mut self, ending: &str, labels: &[(&str, &str)], value: impl Display) {
        self.text.push_str(self.family);
        self.text.push_str(ending);
        for (at, (label, value)) in labels.iter().enumerate() {
            self.text.push(if at == 0 { '{' } else { ',' });
            let _ = write!(self.text, "{label}=\"{}\"", escaped(value));
        }
        let close = if labels.is_empty() { "" } else { "}" };
        let _ = writeln!(self.text, "{close} {value}");
    }

    /// A family of one number.
    pub(super) fn single(&mut self, name: &'static str, sort: Sort, help: &str, value: impl Display) {
        self.family(name, sort, help);
        self.sample("", &[], value);
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_written_as_prometheus_reads_it() {
        let mut page = Page::default();
        page.single("one_total", Sort::Counter, "Says \\ and\nmore.", 7);
        page.family("two", Sort::Gauge, "Two.");
        page.sample("", &[("a", "x\\y"), ("b", "\"q\"\nz")], 0.25);
        page.family("three_seconds", Sort::Histogram, "Three.");
        page.sample("_bucket", &[("le", "+Inf")], 1);
        assert_eq!(
            page.finish(),
            "# HELP one_total Says \\\\ and\\nmore.\n# TYPE one_total counter\none_total 7\n\
             # HELP two Two.\n# TYPE two gauge\ntwo{a=\"x\\\\y\",b=\"\\\"q\\\"\\nz\"} 0.25\n\
             # HELP three_seconds Three.\n# TYPE three_seconds histogram\nthree_seconds_bucket{le=\"+Inf\"} 1\n"
        );
    }
}
