//! What is different between two texts, line by line, and no character of either that hides another.

use crate::print;

/// How many lines around a change are shown.
const AROUND: usize = 2;

/// Longer texts are not compared line by line: the work grows with both.
const MOST: usize = 4000;

/// A line as it is: characters that steer a terminal, join others or turn the writing around are written out.
pub(crate) fn visible(line: &str) -> String {
    print::escape_block(line).into_owned()
}

/// One line of a comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step<'t> {
    Same(&'t str),
    Gone(&'t str),
    New(&'t str),
}

/// The changed lines of two texts that are not the same, `-` and `+` before them, with a few around each.
pub(crate) fn lines(before: &str, after: &str) -> Vec<String> {
    if before == after {
        // Both are seen without secrets, and without what looks like a token of ours.
        return vec!["something in what is redacted, which is not shown: look at the file itself".to_owned()];
    }
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    if before.len() > MOST || after.len() > MOST {
        return vec![format!("{} lines became {}", before.len(), after.len())];
    }
    let steps = steps(&before, &after);
    let changed: Vec<usize> = steps
        .iter()
        .enumerate()
        .filter(|(_, step)| !matches!(step, Step::Same(_)))
        .map(|(place, _)| place)
        .collect();
    if changed.is_empty() {
        return vec!["nothing but what ends the lines".to_owned()];
    }
    let near = |place: usize| changed.iter().any(|change| change.abs_diff(place) <= AROUND);
    let mut shown = Vec::new();
    let mut gap = false;
    for (place, step) in steps.iter().enumerate() {
        if !near(place) {
            gap = true;
            continue;
        }
        if std::mem::take(&mut gap) && !shown.is_empty() {
            shown.push("  …".to_owned());
        }
        shown.push(match step {
            Step::Same(line) => format!("  {}", visible(line)),
            Step::Gone(line) => format!("- {}", visible(line)),
            Step::New(line) => format!("+ {}", visible(line)),
        });
    }
    shown
}

/// How one becomes the other with the fewest lines gone and new.
fn steps<'t>(before: &[&'t str], after: &[&'t str]) -> Vec<Step<'t>> {
    let width = after.len() + 1;
    // How many lines the rests have in common, for each pair of places.
    let mut common = vec![0_u16; (before.len() + 1) * width];
    let at = |common: &[u16], i: usize, j: usize| common.get(i * width + j).copied().unwrap_or_default();
    for (i, old) in before.iter().enumerate().rev() {
        for (j, new) in after.iter().enumerate().rev() {
            let count = if old == new {
                at(&common, i + 1, j + 1) + 1
            } else {
                at(&common, i + 1, j).max(at(&common, i, j + 1))
            };
            if let Some(cell) = common.get_mut(i * width + j) {
                *cell = count;
            }
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut steps = Vec::new();
    loop {
        match (before.get(i), after.get(j)) {
            (Some(old), Some(new)) if old == new => {
                steps.push(Step::Same(old));
                (i, j) = (i + 1, j + 1);
            }
            (Some(old), new) if new.is_none() || at(&common, i + 1, j) >= at(&common, i, j + 1) => {
                steps.push(Step::Gone(old));
                i += 1;
            }
            (_, Some(new)) => {
                steps.push(Step::New(new));
                j += 1;
            }
            _ => return steps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_and_what_is_new_is_shown_with_its_neighbours() {
        let before = "a\nb\nc\nd\ne\nf\ng\n";
        let after = "a\nb\nc\nD\ne\nf\ng\nh\n";
        assert_eq!(lines(before, after), ["  b", "  c", "- d", "+ D", "  e", "  f", "  g", "+ h"]);
        assert_eq!(lines("a\n", "a\r\n"), ["nothing but what ends the lines"]);
        let redacted = "x = \"[REDACTED:TOKEN]\"\n";
        assert_eq!(
            lines(redacted, redacted),
            ["something in what is redacted, which is not shown: look at the file itself"]
        );
        assert_eq!(lines("", "a"), ["+ a"]);
        assert_eq!(lines("a", ""), ["- a"]);
    }

    #[test]
    fn no_character_hides_another() {
        assert_eq!(visible("a\u{202e}b\u{1b}[2Jc\td"), "a\\u{202e}b\\u{1b}[2Jc\td");
        assert_eq!(visible("x\u{200b}y\u{feff}z\u{e0041}"), "x\\u{200b}y\\u{feff}z\\u{e0041}");
    }

    #[test]
    fn texts_too_long_to_compare_are_counted() {
        let long = "x\n".repeat(MOST + 1);
        assert_eq!(lines(&long, "x"), [format!("{} lines became 1", MOST + 1)]);
    }
}
