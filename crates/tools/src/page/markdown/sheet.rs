//! Blocks under one another: what separates them, and what stands before each line of them.

/// What is between two blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gap {
    /// A blank line.
    Blank,
    /// Nothing but the end of the line.
    Line,
}

/// What is written so far.
pub(super) struct Sheet {
    text: String,
    /// What stands before each line, from the left.
    margins: Vec<Margin>,
    gap: Gap,
    most: usize,
    full: bool,
}

/// A part of what stands before a line: something else before the first one.
struct Margin {
    first: Option<String>,
    rest: String,
}

impl Sheet {
    pub(super) fn new(most: usize) -> Self {
        Self { text: String::new(), margins: Vec::new(), gap: Gap::Blank, most, full: false }
    }

    /// Begins something whose first line has a marker, and the others an indent.
    pub(super) fn begin(&mut self, gap: Gap, marker: String, indent: String) {
        self.gap = gap;
        self.margins.push(Margin { first: Some(marker), rest: indent });
    }

    /// Begins a quotation.
    pub(super) fn begin_quote(&mut self) {
        self.margins.push(Margin { first: Some("> ".to_owned()), rest: "> ".to_owned() });
    }

    /// Ends what was begun last.
    pub(super) fn end(&mut self) {
        self.margins.pop();
        self.gap = Gap::Blank;
    }

    /// Writes a block.
    pub(super) fn block(&mut self, block: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
            if self.gap == Gap::Blank {
                let known = self.margins.iter().take_while(|margin| margin.first.is_none());
                let margin: String = known.map(|margin| margin.rest.as_str()).collect();
                self.text.push_str(margin.trim_end());
                self.text.push('\n');
            }
        }
        for (number, line) in block.split('\n').enumerate() {
            if self.is_full() {
                break;
            }
            if number > 0 {
                self.text.push('\n');
            }
            let start = self.text.len();
            for margin in &mut self.margins {
                let first = margin.first.take();
                self.text.push_str(first.as_ref().unwrap_or(&margin.rest));
            }
            self.text.push_str(line);
            if line.is_empty() {
                let end = self.text.trim_end_matches(' ').len().max(start);
                self.text.truncate(end);
            }
        }
        self.gap = Gap::Blank;
        self.full = self.is_full();
    }

    /// Whether enough was written.
    pub(super) fn is_full(&self) -> bool {
        self.full || self.text.len() > self.most
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}
