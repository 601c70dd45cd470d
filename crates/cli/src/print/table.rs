//! Tables: a heading per column, one line per row, and never wider than the terminal. Where it is narrow, empty columns
//! go, then the last column gives way, then the widest of the others; the first, which names the row, does so last.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use super::{HEADING, columns, cut, escape, line, terminal_width};
use crate::exit::Failure;

/// The narrowest the last column is cut to while others can still give way.
const NARROWEST: usize = 12;

/// The narrowest any other column is cut to while the last one can still give way.
const NARROW: usize = 8;

/// What stands between two columns.
const GAP: usize = 2;

/// One cell: a text in one line, and how it looks on a terminal.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// A cell in that colour.
    pub(crate) fn coloured(text: impl AsRef<str>, colour: AnsiColor) -> Self {
        Self { style: Style::new().fg_color(Some(colour.into())), ..Self::from(text.as_ref()) }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        let flat = text.as_ref().split_whitespace().collect::<Vec<_>>().join(" ");
        Self { text: escape(&flat).into_owned(), style: Style::new() }
    }
}

/// A table with a heading per column.
#[derive(Debug)]
pub(crate) struct Table {
    headings: &'static [&'static str],
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty table.
    pub(crate) fn new(headings: &'static [&'static str]) -> Self {
        Self { headings, rows: Vec::new() }
    }

    /// Adds a row; missing cells are empty.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Writes it to standard output.
    pub(crate) fn print(&self) -> Result<(), Failure> {
        line(self.render(terminal_width()).trim_end_matches('\n'))
    }

    /// The table as text, with styles; not wider than `width`.
    pub(crate) fn render(&self, width: Option<usize>) -> String {
        let mut widths: Vec<usize> = (0..self.headings.len()).map(|place| self.natural(place)).collect();
        if let Some(width) = width.filter(|&width| total(&widths) > width) {
            for (place, column) in widths.iter_mut().enumerate().skip(1) {
                if self.cells(place).all(|cell| cell.text.is_empty()) {
                    *column = 0;
                }
            }
            fit(&mut widths, width);
        }
        let mut text = String::new();
        let headings =
            self.headings.iter().map(|heading| Cell { text: (*heading).to_owned(), style: HEADING });
        write_row(&mut text, &headings.collect::<Vec<_>>(), &widths);
        for row in &self.rows {
            write_row(&mut text, row, &widths);
        }
        text
    }

    fn cells(&self, place: usize) -> impl Iterator<Item = &Cell> {
        self.rows.iter().filter_map(move |row| row.get(place))
    }

    /// As wide as its widest cell.
    fn natural(&self, place: usize) -> usize {
        let heading = self.headings.get(place).map_or(0, |heading| columns(heading));
        self.cells(place).map(|cell| columns(&cell.text)).max().unwrap_or_default().max(heading)
    }
}

/// How wide a line is: the columns that are shown, and the gaps between them.
fn total(widths: &[usize]) -> usize {
    let shown = widths.iter().filter(|&&column| column > 0);
    shown.map(|column| column + GAP).sum::<usize>().saturating_sub(GAP)
}

/// Narrows the columns until a line fits, as far as that is possible.
fn fit(widths: &mut [usize], width: usize) {
    let Some(last) = widths.iter().rposition(|&column| column > 0) else { return };
    shrink(widths, width, |place| if place == last { NARROWEST } else { usize::MAX });
    shrink(widths, width, |place| if (1..last).contains(&place) { NARROW } else { usize::MAX });
    shrink(widths, width, |place| if place > 0 { 1 } else { usize::MAX });
    shrink(widths, width, |_| 1);
}

/// Takes from the widest column that is above its floor, again and again.
fn shrink(widths: &mut [usize], width: usize, floor: impl Fn(usize) -> usize) {
    while total(widths) > width {
        let above = widths.iter_mut().enumerate().filter(|(place, column)| **column > floor(*place));
        let Some((_, widest)) = above.max_by_key(|(_, column)| **column) else { return };
        *widest -= 1;
    }
}

fn write_row(text: &mut String, row: &[Cell], widths: &[usize]) {
    let mut gap = 0;
    let full = row.iter().rposition(|cell| !cell.text.is_empty()).map_or(0, |last| last + 1);
    for (cell, &width) in row.iter().take(full).zip(widths).filter(|(_, width)| **width > 0) {
        let shown = cut(&cell.text, width);
        let style = cell.style;
        // Writing to a `String` cannot fail.
        let _ = write!(text, "{:gap$}{style}{shown}{style:#}", "");
        gap = width.saturating_sub(columns(&shown)) + GAP;
    }
    text.push('\n');
}
