//! What tables and escaping promise.

use proptest::prelude::*;

use super::*;

fn plain(table: &Table, width: Option<usize>) -> String {
    anstream::adapter::strip_str(&table.render(width)).to_string()
}

fn sample() -> Table {
    let mut table = Table::new(&["NAME", "DESCRIPTION"]);
    table.row(["echo".into(), "Returns the provided text argument verbatim.".into()]);
    table.row(["workspace_read".into(), "Reads.".into()]);
    table
}

#[test]
fn columns_are_aligned() {
    assert_eq!(
        plain(&sample(), None),
        "NAME            DESCRIPTION\n\
         echo            Returns the provided text argument verbatim.\n\
         workspace_read  Reads.\n"
    );
}

#[test]
fn the_last_column_is_cut_to_the_terminal() {
    let text = plain(&sample(), Some(40));
    assert!(text.contains("echo            Returns the provided te…\n"), "{text}");
    assert!(text.lines().all(|line| columns(line) <= 40), "{text}");
}

/// A table like the widest ones: an id, an empty column, long texts.
fn wide() -> Table {
    let mut table = Table::new(&["ID", "SUBJECT", "ACTION", "EXPIRES", "APPROVAL", "WHERE"]);
    table.row([
        "grant_4kx2m7c9qhtw3ab".into(),
        "client:a-rather-long-name".into(),
        "tool.call.github__list_pull_requests".into(),
        "2026-11-16T08:30:00Z".into(),
        "".into(),
        r#"{"arguments":{"path":{"path":"notes/**"}},"max_calls":20}"#.into(),
    ]);
    table
}

#[test]
fn a_table_that_has_room_is_shown_whole() {
    let text = plain(&wide(), Some(200));
    assert!(text.contains("APPROVAL") && !text.contains('…'), "{text}");
}

#[test]
fn a_narrow_terminal_cuts_and_never_wraps_and_keeps_the_id() {
    let text = plain(&wide(), Some(80));
    assert!(text.lines().all(|line| columns(line) <= 80), "{text}");
    assert!(text.contains("grant_4kx2m7c9qhtw3ab  client:"), "{text}");
    assert!(!text.contains("APPROVAL"), "an empty column takes no room: {text}");
    for heading in ["ID", "SUBJECT", "ACTION", "EXPIRES", "WHERE"] {
        assert!(text.contains(heading), "{heading}: {text}");
    }
    assert!(text.contains("{\"arguments…"), "the last column keeps 12 columns: {text}");
}

#[test]
fn a_cell_is_one_line_whatever_it_holds() {
    let mut table = Table::new(&["A", "B"]);
    table.row(["x\ny".into(), "\u{1b}[2J\r\u{202e}evil".into()]);
    let text = plain(&table, None);
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.ends_with("x y  \\u{1b}[2J \\u{202e}evil\n"), "{text}");
}

#[test]
fn wide_characters_take_two_columns() {
    assert_eq!(columns("日本"), 4);
    assert_eq!(cut("日本語", 5), "日本…");
}

#[test]
fn a_block_keeps_its_lines_and_loses_its_tricks() {
    assert_eq!(escape_block("one\n\ttwo\u{7}\u{9b}31m\u{2066}"), "one\n\ttwo\\u{7}\\u{9b}31m\\u{2066}");
    assert!(matches!(escape_block("Grüße\n日本 ✓"), Cow::Borrowed(_)));
}

proptest! {
    #[test]
    fn json_for_a_terminal_is_the_same_json(text in any::<String>()) {
        let written = serde_json::to_string(&text).unwrap();
        let shown = escape_json(&written).into_owned();
        prop_assert!(!shown.chars().any(is_hidden));
        prop_assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
    }

    #[test]
    fn nothing_escaped_moves_the_cursor(text in any::<String>()) {
        prop_assert!(!escape(&text).chars().any(is_hidden));
        prop_assert!(!escape_block(&text).chars().any(|c| is_hidden(c) && c != '\n' && c != '\t'));
    }

    #[test]
    fn a_cut_text_fits(text in "[a-z日本\u{301}]{0,40}", most in 1_usize..50) {
        prop_assert!(columns(&cut(&text, most)) <= most);
    }

    #[test]
    fn a_table_has_one_line_per_row(cells in prop::collection::vec(any::<String>(), 0..8), width in 1_usize..120) {
        let mut table = Table::new(&["A"]);
        for cell in &cells {
            table.row([cell.into()]);
        }
        prop_assert_eq!(table.render(Some(width)).lines().count(), cells.len() + 1);
    }

    #[test]
    fn a_table_is_not_wider_than_the_terminal(
        rows in prop::collection::vec(prop::collection::vec("[a-z日本 ]{0,40}", 0..7), 0..5),
        width in 19_usize..200,
    ) {
        let mut table = Table::new(&["SEQ", "TIME", "PRINCIPAL", "ABOUT", "KIND", "DECISION", "DETAIL"]);
        for row in rows {
            table.row(row.iter().map(Cell::from));
        }
        let text = plain(&table, Some(width));
        prop_assert!(text.lines().all(|line| columns(line) <= width), "{}", text);
    }
}

#[test]
fn what_is_drawn_as_nothing_is_written_out() {
    let hidden = [
        '\u{ad}',
        '\u{34f}',
        '\u{61c}',
        '\u{115f}',
        '\u{1160}',
        '\u{17b4}',
        '\u{17b5}',
        '\u{180b}',
        '\u{180f}',
        '\u{200b}',
        '\u{2028}',
        '\u{202e}',
        '\u{2060}',
        '\u{206f}',
        '\u{2800}',
        '\u{3164}',
        '\u{fe00}',
        '\u{fe0f}',
        '\u{feff}',
        '\u{ffa0}',
        '\u{fff0}',
        '\u{fffb}',
        '\u{1bca0}',
        '\u{1bca3}',
        '\u{1d159}',
        '\u{1d173}',
        '\u{1d17a}',
        '\u{e0001}',
        '\u{e0100}',
        '\u{e01ef}',
        '\u{e0fff}',
    ];
    for character in hidden {
        let shown = format!("a\\u{{{:x}}}b", u32::from(character));
        assert_eq!(escape_block(&format!("a{character}b")), shown);
    }
    for plain in ['é', 'е', '한', '中', '⠁', '😀', '\u{301}'] {
        assert_eq!(escape(&plain.to_string()), plain.to_string());
    }
}
