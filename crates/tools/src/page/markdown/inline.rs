//! One line of text: blanks as browsers show them, marks around parts of it, and nothing in it that Markdown would take for
//! something else.

use url::Url;

/// The schemes of links that are shown.
const SCHEMES: &[&str] = &["http", "https", "mailto", "tel", "ftp", "geo", "magnet"];

/// How what stands for a secret begins; it ends with `]`.
const LABEL: &str = "[REDACTED:";

/// How a part of a line is marked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mark {
    /// Not at all.
    None,
    /// By what stands before and after it.
    Around(&'static str, &'static str),
    /// As code.
    Code,
    /// As a link to there.
    Link(String),
}

/// A line that is being read.
pub(super) struct Line {
    text: String,
    /// The marks that are open, and where each begins.
    marks: Vec<(Mark, usize)>,
    base: Url,
    left: usize,
}

impl Line {
    pub(super) fn new(base: &Url, most: usize) -> Self {
        Self { text: String::new(), marks: Vec::new(), base: base.clone(), left: most.saturating_mul(2) }
    }

    /// Whether enough was read.
    pub(super) fn is_full(&self) -> bool {
        self.left == 0
    }

    /// Counts a text as read, and gives it back.
    pub(super) fn spend<'t>(&mut self, text: &'t str) -> &'t str {
        self.left = self.left.saturating_sub(text.len());
        text
    }

    /// Adds a text: any number of blanks are one.
    pub(super) fn push(&mut self, text: &str) {
        self.spend(text);
        let code = self.marks.iter().any(|(mark, _)| *mark == Mark::Code);
        let mut rest = text;
        while let Some((before, label, after)) = labelled(rest) {
            self.push_letters(before, code);
            self.text.push_str(label);
            rest = after;
        }
        self.push_letters(rest, code);
    }

    fn push_letters(&mut self, text: &str, code: bool) {
        let mut letters = text.chars().filter(|letter| !is_unseen(*letter)).peekable();
        while let Some(letter) = letters.next() {
            if is_blank(letter) {
                self.blank();
            } else {
                if !code && is_special(letter, self.text.chars().next_back(), letters.peek().copied()) {
                    self.text.push('\\');
                }
                self.text.push(letter);
            }
        }
    }

    /// Adds a text as it is.
    pub(super) fn push_raw(&mut self, text: &str) {
        self.spend(text);
        self.text.push_str(text);
    }

    fn blank(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
    }

    /// Whether the last thing was a line break.
    pub(super) fn is_broken(&self) -> bool {
        self.text.ends_with('\n')
    }

    /// Ends the line within its block.
    pub(super) fn line_break(&mut self) {
        let end = self.text.trim_end_matches(' ').len();
        let begun = self.marks.last().map_or(0, |(_, at)| *at);
        self.text.truncate(end.max(begun));
        if !self.text.is_empty() {
            self.text.push_str("  \n");
        }
    }

    /// Adds a picture by what it shows.
    pub(super) fn image(&mut self, alt: Option<&str>, src: Option<&str>) {
        let alt = on_one_line(alt.unwrap_or_default());
        if alt.is_empty() {
            return;
        }
        let address = src.and_then(|src| self.address(src)).filter(|url| url.starts_with("http"));
        let address = address.map(|url| format!("({url})")).unwrap_or_default();
        let alt = alt.replace(['[', ']'], "");
        self.push_raw(&format!("![{alt}]{address}"));
    }

    /// Begins a part that is marked so.
    pub(super) fn begin(&mut self, mark: Mark) {
        let within = |found: &Mark| self.marks.iter().any(|(open, _)| open == found);
        // What is code shows its marks, and what is bold does not become bolder.
        let idle = within(&Mark::Code) || within(&mark);
        self.marks.push((if idle { Mark::None } else { mark }, self.text.len()));
    }

    /// Ends the part that was begun last.
    pub(super) fn end(&mut self) {
        if let Some((mark, at)) = self.marks.pop() {
            self.close(&mark, at);
        }
    }

    /// The line so far. Marks that are open go on in the next one.
    pub(super) fn take(&mut self) -> String {
        let mut marks = std::mem::take(&mut self.marks);
        for (mark, at) in marks.iter_mut().rev() {
            self.close(mark, std::mem::take(at));
        }
        self.marks = marks;
        let line = std::mem::take(&mut self.text);
        line.trim().to_owned()
    }

    /// Marks everything from there on.
    fn close(&mut self, mark: &Mark, at: usize) {
        if *mark == Mark::None || !self.text.is_char_boundary(at) {
            return;
        }
        let part = self.text.split_off(at);
        let inner = part.trim();
        if part.starts_with(is_blank) {
            self.blank();
        }
        if !inner.is_empty() {
            let marked = self.marked(mark, inner);
            self.push_raw(&marked);
        }
        if part.ends_with(is_blank) {
            self.blank();
        }
    }

    fn marked(&self, mark: &Mark, inner: &str) -> String {
        match mark {
            Mark::None => inner.to_owned(),
            Mark::Around(before, after) => format!("{before}{inner}{after}"),
            Mark::Code => code(inner),
            // A sign that leads to the heading it stands at.
            Mark::Link(href) if href.starts_with('#') && matches!(inner, "¶" | "#" | "\\#" | "§" | "🔗") => {
                String::new()
            }
            Mark::Link(href) => match self.address(href) {
                Some(url) if url == inner => format!("<{url}>"),
                Some(url) => format!("[{inner}]({url})"),
                None => inner.to_owned(),
            },
        }
    }

    /// Where a link leads; nothing if it leads nowhere else, or to a script.
    fn address(&self, href: &str) -> Option<String> {
        if href.trim_start().starts_with('#') {
            return None;
        }
        let url = self.base.join(href).ok()?;
        let shown = SCHEMES.contains(&url.scheme());
        shown.then(|| url.as_str().replace('(', "%28").replace(')', "%29"))
    }
}

/// What stands before the first label of a secret, the label, and what comes after it.
fn labelled(text: &str) -> Option<(&str, &str, &str)> {
    let at = text.find(LABEL)?;
    let inside = text.get(at + LABEL.len()..)?;
    let name =
        inside.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(inside.len());
    let end = at + LABEL.len() + name + usize::from(inside.get(name..)?.starts_with(']'));
    let (before, rest) = text.split_at_checked(at)?;
    let (label, after) = rest.split_at_checked(end - at)?;
    Some((before, label, after))
}

/// A text as code, whatever backticks it holds.
pub(super) fn code(text: &str) -> String {
    let text = on_one_line(text);
    let fence = match longest_run(&text, '`') {
        0 => "`".to_owned(),
        run => "`".repeat(run + 1),
    };
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// The longest run of a letter.
pub(super) fn longest_run(text: &str, letter: char) -> usize {
    let (mut longest, mut run) = (0, 0);
    for found in text.chars() {
        run = if found == letter { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

/// A text without line breaks.
pub(super) fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A paragraph of which no line is taken for a heading, a list or a quotation.
pub(super) fn guarded(paragraph: &str) -> String {
    paragraph.split('\n').map(guarded_line).collect::<Vec<_>>().join("\n")
}

fn guarded_line(line: &str) -> String {
    let digits = line.find(|letter: char| !letter.is_ascii_digit()).unwrap_or_default();
    let (number, rest) = line.split_at_checked(digits).unwrap_or(("", line));
    let spaced = |rest: &str| rest.is_empty() || rest.starts_with(' ');
    if (1..10).contains(&digits)
        && let Some(behind) = rest.strip_prefix(['.', ')'])
        && spaced(behind)
    {
        return format!("{number}\\{rest}");
    }
    let headed = line.trim_start_matches('#');
    let heading = headed.len() < line.len() && spaced(headed);
    let item = line.strip_prefix(['-', '+']).is_some_and(spaced);
    let rule = line.len() > 1 && line.chars().all(|letter| matches!(letter, '-' | '=' | ' '));
    let fence = line.starts_with("~~~");
    if heading || item || rule || fence || line.starts_with('>') {
        format!("\\{line}")
    } else {
        line.to_owned()
    }
}

/// Whether Markdown would take a letter for a mark, between those two.
fn is_special(letter: char, before: Option<char>, after: Option<char>) -> bool {
    let word = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    match letter {
        '*' | '`' | '[' | ']' => true,
        '_' => !(word(before) && word(after)),
        '<' => after.is_some_and(|after| after.is_ascii_alphabetic() || matches!(after, '/' | '!' | '?')),
        '\\' => after.is_some_and(|after| after.is_ascii_punctuation()),
        _ => false,
    }
}

fn is_blank(letter: char) -> bool {
    letter.is_whitespace()
}

/// Letters that nobody sees: they only hide words from people who look at the page.
pub(in crate::page) fn is_unseen(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{200b}' | '\u{2060}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
        || (letter.is_control() && !letter.is_whitespace())
}
