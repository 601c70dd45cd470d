//! A week of a team as a text for people: which sections there are, and how much stands in each.

mod markdown;

use covenant_model::time::Timestamp;

/// The most lines of a section; of more the number is told.
pub const LINES: u32 = 30;

/// How much of a title and of a longer text stands in a line, in characters.
const TITLE: usize = 160;
const TEXT: usize = 400;

/// What is told of a week.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Week {
    /// From when.
    pub since: Timestamp,
    /// Until when.
    pub until: Timestamp,
    /// In this order.
    pub sections: Vec<Section>,
}

/// Some of it, under a heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The heading, in words of ours.
    pub heading: &'static str,
    /// What stands there.
    pub lines: Vec<Line>,
    /// How many there are in all.
    pub number: u64,
}

/// One line. What people wrote is written so that it stays text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// When it was; of work nothing is told.
    pub at: Option<Timestamp>,
    /// What it is called, or what it says.
    pub text: String,
    /// Whose it is, and how it stands: each in a word or two.
    pub marks: Vec<String>,
    /// What came of it, or why; may be empty.
    pub more: String,
}

impl Week {
    /// The text.
    pub fn markdown(&self) -> String {
        let mut text = format!("# Week from {} to {}\n", day(self.since), day(self.until));
        for section in &self.sections {
            text.extend(["\n## ", section.heading, "\n\n"]);
            if section.lines.is_empty() {
                text.push_str("Nothing.\n");
            }
            let told = || section.lines.iter().zip(0..LINES).map(|(line, _)| line);
            text.extend(told().map(Line::markdown));
            let more = section.number.saturating_sub(u64::try_from(told().count()).unwrap_or(u64::MAX));
            text.extend((more > 0).then(|| format!("- and {more} more\n")));
        }
        text
    }
}

impl Line {
    fn markdown(&self) -> String {
        let text = |most| match markdown::plain(&self.text, most) {
            text if text.is_empty() => "without a title".to_owned(),
            text => text,
        };
        // A line begins with a sign of ours in either case: what people write cannot be a heading or a list in it.
        let mut line = match self.at {
            Some(at) => format!("- {}: {}", day(at), text(TEXT)),
            None => format!("- **{}**", text(TITLE)),
        };
        let marks: Vec<_> = self.marks.iter().map(|mark| markdown::plain(mark, TITLE)).collect();
        if !marks.is_empty() {
            line.extend([" (", &marks.join(", "), ")"]);
        }
        let more = markdown::plain(&self.more, TEXT);
        if !more.is_empty() {
            line.extend([": ", &more]);
        }
        line.push('\n');
        line
    }
}

/// A day, as a date.
fn day(at: Timestamp) -> String {
    at.to_string().chars().take(10).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn line(text: &str) -> Line {
        Line { at: None, text: text.to_owned(), marks: vec!["ada".to_owned()], more: String::new() }
    }

    fn week(heading: &'static str, lines: Vec<Line>, number: u64) -> Week {
        let since = Timestamp::from_millis(1_800_000_000_000);
        let sections = vec![Section { heading, lines, number }];
        Week { since, until: since.plus(Duration::from_hours(168)), sections }
    }

    #[test]
    fn a_week_is_a_heading_for_each_section_and_a_line_for_each_thing() {
        let since = Timestamp::from_millis(1_800_000_000_000);
        let decided = Line {
            at: Some(since),
            text: "We retry.".to_owned(),
            marks: vec!["bob".to_owned()],
            more: "three times".to_owned(),
        };
        let mut told = week("Completed", vec![line("Retry uploads"), decided], 2);
        told.sections.push(Section { heading: "Planned", lines: Vec::new(), number: 0 });
        assert_eq!(
            told.markdown(),
            "# Week from 2027-01-15 to 2027-01-22\n\n## Completed\n\n- **Retry uploads** (ada)\n\
             - 2027-01-15: We retry. (bob): three times\n\n## Planned\n\nNothing.\n"
        );
    }

    #[test]
    fn of_many_some_are_told_and_of_the_rest_the_number() {
        let lines = (0..40).map(|number| line(&format!("task {number}"))).collect();
        let told = week("Completed", lines, 1234).markdown();
        assert_eq!(told.lines().filter(|line| line.starts_with("- **")).count(), 30);
        assert!(told.ends_with("- and 1204 more\n"), "{told}");
    }

    #[test]
    fn a_week_is_bounded_whatever_people_write() {
        let long = "*".repeat(100_000);
        let line = Line { at: None, text: long.clone(), marks: vec![long.clone(); 3], more: long };
        let sections: Vec<_> =
            (0..8).map(|_| Section { heading: "x", lines: vec![line.clone(); 50], number: 50 }).collect();
        let told = Week { sections, ..week("x", Vec::new(), 0) }.markdown();
        assert!(told.len() < 1 << 19, "{}", told.len());
    }
}
