//! A page without secrets, before any of it is marked, escaped or cut: `\_` in the middle of a secret would hide it from
//! whoever looks for it later.

use std::borrow::Cow;

use covenant_gate::Veil;

use super::markdown::{is_block, is_unseen};
use super::tree::{Id, ROOT, Step, Tree};

/// Takes secrets out of texts and attributes, also where a text is spread over several elements of a line.
pub(super) fn hide(tree: &mut Tree, veil: &Veil) {
    tree.change_attributes(|value| match veil.without_secrets(value) {
        Cow::Borrowed(_) => None,
        Cow::Owned(clean) => Some(clean),
    });
    for line in lines(tree) {
        hide_line(tree, &line, veil);
    }
}

/// The texts that stand in one line, line by line.
fn lines(tree: &Tree) -> Vec<Vec<Id>> {
    let (mut lines, mut line) = (Vec::new(), Vec::new());
    for step in tree.walk(ROOT) {
        let (Step::Enter(id) | Step::Leave(id)) = step;
        if tree.text(id).is_some() {
            line.extend((step == Step::Enter(id)).then_some(id));
        } else if (is_block(tree.name(id)) || tree.name(id) == "title") && !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
    }
    lines.push(line);
    lines
}

fn hide_line(tree: &mut Tree, line: &[Id], veil: &Veil) {
    // Letters that nobody sees are left out later, and would keep the parts of a secret from each other until then.
    let seen = |id: &Id| tree.text(*id).unwrap_or_default().chars().filter(|letter| !is_unseen(*letter));
    let whole: String = line.iter().flat_map(seen).collect();
    let Cow::Owned(clean) = veil.without_secrets(&whole) else { return };
    let parts = line.iter().map(|id| veil.without_secrets(&seen(id).collect::<String>()).into_owned());
    let mut parts: Vec<String> = parts.collect();
    if parts.concat() != clean {
        // It is spread over several: its line loses its marks.
        parts.fill(String::new());
        if let Some(first) = parts.first_mut() {
            *first = clean;
        }
    }
    for (id, part) in line.iter().zip(parts) {
        tree.set_text(*id, part);
    }
}
