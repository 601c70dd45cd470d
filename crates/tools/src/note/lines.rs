//! The text of a note line by line, without its code: where headings, tags and links can stand.

/// The lines of a text that are no code.
pub(super) struct Lines<'t> {
    rest: std::str::Lines<'t>,
    fence: Option<(char, usize)>,
    /// Whether the line above was empty, or code by its indent.
    open: bool,
    in_list: bool,
}

/// A line that is no code, though it may hold some.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line<'t>(&'t str);

impl<'t> Lines<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self { rest: text.lines(), fence: None, open: true, in_list: false }
    }

    /// Whether the line begins, ends or lies in a fence.
    fn fenced(&mut self, line: &str) -> bool {
        let text = line.trim_start_matches([' ', '>']);
        let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'));
        let run = mark.map_or(0, |mark| text.chars().take_while(|c| *c == mark).count());
        match (self.fence, mark) {
            (Some((open, least)), Some(mark)) => {
                let closes = mark == open && run >= least && text.trim_end().chars().all(|c| c == mark);
                if closes {
                    self.fence = None;
                }
                true
            }
            (Some(_), None) => true,
            // Backticks behind the mark would be a piece of code in a line.
            (None, Some(mark))
                if run >= 3 && !(mark == '`' && text.get(run..).is_some_and(|rest| rest.contains('`'))) =>
            {
                self.fence = Some((mark, run));
                true
            }
            _ => false,
        }
    }

    /// Whether the line is code because it is indented, and not part of a list.
    fn indented(&mut self, line: &str) -> bool {
        let text = line.trim_start();
        let deep = line.starts_with("    ") || line.starts_with('\t');
        if text.is_empty() {
            self.open = true;
            return false;
        }
        let code = deep && self.open && !self.in_list;
        if !deep || self.in_list {
            let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
            let numbered =
                digits.len() < text.len() && (digits.starts_with(". ") || digits.starts_with(") "));
            let bulleted = text.starts_with("- ") || text.starts_with("* ") || text.starts_with("+ ");
            self.in_list = numbered || bulleted || (self.in_list && line.starts_with([' ', '\t']));
        }
        self.open = code;
        code
    }
}

impl<'t> Iterator for Lines<'t> {
    type Item = Line<'t>;

    fn next(&mut self) -> Option<Line<'t>> {
        loop {
            let line = self.rest.next()?;
            if !self.fenced(line) && !self.indented(line) {
                return Some(Line(line));
            }
        }
    }
}

impl<'t> Line<'t> {
    /// The heading it is.
    pub(super) fn heading(self) -> Option<&'t str> {
        let text = self.0.trim_start_matches(' ');
        let rest = text.trim_start_matches('#');
        let depth = text.len() - rest.len();
        let is_one =
            self.0.len() - text.len() <= 3 && (1..=6).contains(&depth) && rest.starts_with([' ', '\t']);
        let heading = rest.trim();
        let bare = heading.trim_end_matches('#');
        // Marks at the end close a heading, if there is a space before them.
        let heading = if bare.ends_with(' ') || bare.is_empty() { bare.trim_end() } else { heading };
        (is_one && !heading.is_empty()).then_some(heading)
    }

    /// Its pieces between pieces of code.
    pub(super) fn prose(self) -> impl Iterator<Item = &'t str> {
        let mut rest = Some(self.0);
        std::iter::from_fn(move || {
            let text = rest.take()?;
            let Some((open, length)) = ticks(text, None) else { return Some(text) };
            let after = text.get(open + length..).unwrap_or_default();
            match ticks(after, Some(length)) {
                Some((close, _)) => {
                    rest = after.get(close + length..);
                    text.get(..open)
                }
                // A mark that is never closed is text, and so is all that follows.
                None => Some(text),
            }
        })
    }
}

/// Where the next run of backticks begins, of that length if one is given, and how long it is.
fn ticks(text: &str, wanted: Option<usize>) -> Option<(usize, usize)> {
    let mut from = 0;
    loop {
        let at = from + text.get(from..)?.find('`')?;
        let length = text.get(at..)?.bytes().take_while(|b| *b == b'`').count();
        if wanted.is_none_or(|wanted| wanted == length) {
            return Some((at, length));
        }
        from = at + length;
    }
}
