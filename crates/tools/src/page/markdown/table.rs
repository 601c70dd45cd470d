//! A table, row by row.

use crate::page::tree::Id;

/// The widest a cell can say it is.
const WIDEST: usize = 20;

/// A table whose rows are still coming.
pub(super) struct Table {
    /// The element it is.
    pub(super) element: Id,
    rows: Vec<Vec<String>>,
    cell: Option<String>,
}

impl Table {
    pub(super) fn new(element: Id) -> Self {
        Self { element, rows: Vec::new(), cell: None }
    }

    /// Begins a row.
    pub(super) fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    /// Begins a cell.
    pub(super) fn cell(&mut self) {
        self.cell = Some(String::new());
    }

    /// The cell that is being written.
    pub(super) fn open_cell(&mut self) -> Option<&mut String> {
        self.cell.as_mut()
    }

    /// Ends it; it is as wide as that.
    pub(super) fn end_cell(&mut self, span: usize) {
        let (Some(cell), Some(row)) = (self.cell.take(), self.rows.last_mut()) else { return };
        row.push(cell.replace('|', "\\|"));
        row.extend((1..span.min(WIDEST)).map(|_| String::new()));
    }

    /// The whole of it. Its first row is its head: Markdown knows no table without.
    pub(super) fn into_text(mut self) -> String {
        self.rows.retain(|row| row.iter().any(|cell| !cell.is_empty()));
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let mut lines = Vec::with_capacity(self.rows.len() + 1);
        for (number, row) in self.rows.iter().enumerate() {
            let missing = columns - row.len();
            let cells: Vec<_> =
                row.iter().map(String::as_str).chain(std::iter::repeat_n("", missing)).collect();
            lines.push(format!("| {} |", cells.join(" | ")));
            if number == 0 {
                lines.push(format!("|{}", " --- |".repeat(columns)));
            }
        }
        lines.join("\n")
    }
}
