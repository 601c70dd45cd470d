//! A page written down as Markdown: a walk through its tree, in which each element begins or ends a block, or marks a part of
//! a line.

mod element;
mod inline;
mod sheet;
mod table;

use url::Url;

pub(super) use self::element::is_block;
use self::inline::Line;
pub(super) use self::inline::is_unseen;
use self::sheet::{Gap, Sheet};
use self::table::Table;
use super::content::{Content, is_section};
use super::tree::{Id, Step, Tree};

/// Writes the content of a page, and stops some way after so many bytes; whether it did.
pub(super) fn write(tree: &Tree, content: &Content, base: &Url, most: usize) -> (String, bool) {
    let mut writer = Writer {
        tree,
        content,
        line: Line::new(base, most),
        sheet: Sheet::new(most),
        lists: Vec::new(),
        heading: None,
        code: None,
        table: None,
        sections: usize::from(content.marked),
    };
    let mut walk = tree.walk(content.root);
    let mut passed = None;
    while let Some(step) = walk.next()
        && !writer.is_full()
    {
        match step {
            Step::Enter(id) => {
                if writer.leaves_out(id) || !writer.enter(id) {
                    walk.pass_over(id);
                    passed = Some(id);
                }
            }
            // What was not begun does not end.
            Step::Leave(id) if passed == Some(id) => passed = None,
            Step::Leave(id) => writer.leave(id),
        }
    }
    writer.finish()
}

struct Writer<'t> {
    tree: &'t Tree,
    content: &'t Content,
    line: Line,
    sheet: Sheet,
    /// The lists around, with the number of the next item where there is one.
    lists: Vec<List>,
    heading: Option<usize>,
    code: Option<Fence>,
    table: Option<Table>,
    /// How many sections there are around.
    sections: usize,
}

struct List {
    number: Option<u64>,
    first: bool,
}

/// Text that is written as it stands.
struct Fence {
    element: Id,
    language: String,
    text: String,
}

impl Writer<'_> {
    fn is_full(&self) -> bool {
        self.line.is_full() || self.sheet.is_full()
    }

    fn leaves_out(&self, id: Id) -> bool {
        id != self.content.root && self.content.leaves_out(self.tree, id, self.sections > 0)
    }

    /// All of it, and whether there was more. What is still open ends here.
    fn finish(mut self) -> (String, bool) {
        let stopped = self.is_full();
        if let Some(code) = self.code.take() {
            self.end_code(&code);
        }
        self.end_line();
        if let Some(mut table) = self.table.take() {
            table.end_cell(1);
            self.sheet.block(&table.into_text());
        }
        (self.sheet.into_text(), stopped)
    }

    /// Begins an element, or writes a text; whether to go on with what is in it.
    fn enter(&mut self, id: Id) -> bool {
        if let Some(text) = self.tree.text(id) {
            match &mut self.code {
                Some(code) => code.text.push_str(self.line.spend(text)),
                None => self.line.push(text),
            }
            return false;
        }
        let name = self.tree.name(id);
        self.sections += usize::from(is_section(self.tree, id));
        if let Some(code) = &mut self.code {
            if name == "br" {
                code.text.push('\n');
            }
            return true;
        }
        if element::is_block(name) {
            self.end_line();
        }
        match name {
            "br" => self.line_break(),
            "hr" => {
                self.end_line();
                self.sheet.block("---");
            }
            "img" => self.line.image(self.tree.attribute(id, "alt"), self.tree.attribute(id, "src")),
            "math" => return self.formula(id),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.heading = name.bytes().last().map(|digit| usize::from(digit - b'0'));
            }
            "pre" => {
                self.code = Some(Fence {
                    element: id,
                    language: element::language(self.tree, id),
                    text: String::new(),
                });
            }
            "ul" | "ol" => self.begin_list(id),
            "li" => self.begin_item(),
            "dd" => self.sheet.begin(Gap::Line, ": ".to_owned(), "  ".to_owned()),
            "blockquote" => self.sheet.begin_quote(),
            "table" => self.begin_table(id),
            "tr" => self.in_table(Table::row),
            "td" | "th" => self.in_table(Table::cell),
            _ => self.line.begin(element::mark(self.tree, id)),
        }
        true
    }

    /// Ends an element.
    fn leave(&mut self, id: Id) {
        self.sections = self.sections.saturating_sub(usize::from(is_section(self.tree, id)));
        if let Some(code) = self.code.take_if(|code| code.element == id) {
            self.end_code(&code);
            return;
        }
        if self.code.is_some() {
            return;
        }
        let name = self.tree.name(id);
        if element::is_block(name) {
            self.end_line();
        }
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.heading = None,
            "ul" | "ol" => {
                self.lists.pop();
            }
            "li" | "dd" | "blockquote" => self.sheet.end(),
            "td" | "th" => {
                let span = self.tree.attribute(id, "colspan").and_then(|span| span.parse().ok()).unwrap_or(1);
                self.in_table(|table| table.end_cell(span));
            }
            "table" => {
                if let Some(table) = self.table.take_if(|table| table.element == id) {
                    self.sheet.block(&table.into_text());
                }
            }
            "br" | "hr" | "img" | "math" | "pre" | "tr" => {}
            _ => self.line.end(),
        }
    }

    /// Writes down the line so far.
    fn end_line(&mut self) {
        let line = self.line.take();
        if line.is_empty() {
            return;
        }
        if let Some(cell) = self.table.as_mut().and_then(Table::open_cell) {
            cell.push_str(if cell.is_empty() { "" } else { " " });
            cell.push_str(&inline::on_one_line(&line));
        } else if let Some(level) = self.heading {
            self.sheet.block(&format!("{} {}", "#".repeat(level), inline::on_one_line(&line)));
        } else {
            self.sheet.block(&inline::guarded(&line));
        }
    }

    fn line_break(&mut self) {
        // Two of them are how many people end a paragraph.
        if self.line.is_broken() && self.heading.is_none() && self.table.is_none() {
            self.end_line();
        } else {
            self.line.line_break();
        }
    }

    fn begin_list(&mut self, id: Id) {
        let start = self.tree.attribute(id, "start").and_then(|start| start.trim().parse().ok()).unwrap_or(1);
        let number = (self.tree.name(id) == "ol").then_some(start);
        self.lists.push(List { number, first: true });
    }

    fn begin_item(&mut self) {
        let nested = self.lists.len() > 1;
        let (mut gap, mut marker) = (Gap::Line, "- ".to_owned());
        if let Some(list) = self.lists.last_mut() {
            if list.first && !nested {
                gap = Gap::Blank;
            }
            list.first = false;
            if let Some(number) = &mut list.number {
                marker = format!("{number}. ");
                *number = number.saturating_add(1);
            }
        }
        let indent = " ".repeat(marker.len());
        self.sheet.begin(gap, marker, indent);
    }

    fn begin_table(&mut self, id: Id) {
        if self.table.is_none() && self.content.is_table(self.tree, id) {
            self.table = Some(Table::new(id));
        }
    }

    fn in_table(&mut self, change: impl FnOnce(&mut Table)) {
        if let Some(table) = &mut self.table {
            change(table);
        }
    }

    fn end_code(&mut self, code: &Fence) {
        let text = code.text.trim_matches('\n').trim_end();
        if text.is_empty() {
            return;
        }
        if let Some(cell) = self.table.as_mut().and_then(Table::open_cell) {
            let words: Vec<_> = text.split_whitespace().collect();
            cell.push_str(&inline::code(&words.join(" ")));
            return;
        }
        let fence = "`".repeat(inline::longest_run(text, '`').max(2) + 1);
        self.sheet.block(&format!("{fence}{}\n{text}\n{fence}", code.language));
    }

    /// A formula that says in words what it is; whether to go on with its parts.
    fn formula(&mut self, id: Id) -> bool {
        let Some(words) = self.tree.attribute(id, "alttext") else { return true };
        self.line.push_raw(&format!("${}$", inline::on_one_line(words)));
        false
    }
}
