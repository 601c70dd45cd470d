//! Whether two patterns can cover one path: the product of two small automata, segment by segment, each pair of places looked
//! at once.

use super::{Segment, Token};

/// How many pairs of places are looked at, for all comparisons of one call.
#[derive(Debug, Clone)]
pub struct Effort(u32);

impl Effort {
    /// Enough for some hundred thousand ordinary comparisons.
    pub fn ordinary() -> Self {
        Self(20_000_000)
    }

    /// Whether it was used up, so that patterns were taken to meet without being compared to the end.
    pub fn is_spent(&self) -> bool {
        self.0 == 0
    }

    fn spend(&mut self) {
        self.spend_on(1);
    }

    /// Uses so many steps up.
    pub fn spend_on(&mut self, steps: usize) {
        self.0 = self.0.saturating_sub(u32::try_from(steps).unwrap_or(u32::MAX));
    }
}

/// How many cells of room are made for the price of one step.
const CELLS: usize = 64;

/// Places in one that were reached together with places in another.
struct Seen {
    width: usize,
    cells: Vec<bool>,
}

impl Seen {
    fn new(height: usize, width: usize) -> Self {
        Self { width: width + 1, cells: vec![false; (height + 1).saturating_mul(width + 1)] }
    }

    /// Whether that pair is new.
    fn enter(&mut self, (row, column): (usize, usize)) -> bool {
        let cell = self.cells.get_mut(row.saturating_mul(self.width).saturating_add(column));
        cell.is_some_and(|cell| !std::mem::replace(cell, true))
    }
}

/// Walks through both at once: `steps` says where a pair of places leads. Whether the end of both is reached.
fn reaches(
    (height, width): (usize, usize),
    effort: &mut Effort,
    mut steps: impl FnMut(usize, usize, &mut Effort, &mut Vec<(usize, usize)>),
) -> bool {
    // The room for it is work too.
    effort.spend_on((height + 1).saturating_mul(width + 1) / CELLS);
    let (mut seen, mut ahead) = (Seen::new(height, width), vec![(0, 0)]);
    while let Some((one, two)) = ahead.pop() {
        if (one, two) == (height, width) || effort.is_spent() {
            return true;
        }
        if seen.enter((one, two)) {
            effort.spend();
            steps(one, two, effort, &mut ahead);
        }
    }
    false
}

/// Whether some path is covered by both.
pub(super) fn paths(one: &[Segment], two: &[Segment], effort: &mut Effort) -> bool {
    // Most pairs differ in the beginning.
    effort.spend();
    if let (Some(Segment::Name(first)), Some(Segment::Name(second))) = (one.first(), two.first())
        && first != second
    {
        return effort.is_spent();
    }
    if leads_to(one, two) || leads_to(two, one) {
        return true;
    }
    reaches((one.len(), two.len()), effort, |row, column, effort, ahead| {
        let (here, there) = (one.get(row), two.get(column));
        if here == Some(&Segment::Deep) {
            ahead.push((row + 1, column));
        }
        if there == Some(&Segment::Deep) {
            ahead.push((row, column + 1));
        }
        match (here, there) {
            (Some(Segment::Deep), Some(Segment::Name(_) | Segment::Glob(_))) => {
                ahead.push((row, column + 1));
            }
            (Some(Segment::Name(_) | Segment::Glob(_)), Some(Segment::Deep)) => {
                ahead.push((row + 1, column));
            }
            (Some(here), Some(there)) if names(here, there, effort) => ahead.push((row + 1, column + 1)),
            _ => {}
        }
    })
}

/// Whether one is a plain path, and the other goes on where it ends: then it is a folder, whatever it is called.
fn leads_to(folder: &[Segment], beneath: &[Segment]) -> bool {
    let is_plain = folder.iter().all(|segment| matches!(segment, Segment::Name(_)));
    is_plain && beneath.len() > folder.len() && beneath.starts_with(folder)
}

/// Whether some name fits both segments.
fn names(one: &Segment, two: &Segment, effort: &mut Effort) -> bool {
    match (one, two) {
        (Segment::Name(one), Segment::Name(two)) => one == two,
        (Segment::Glob(one), Segment::Glob(two)) => tokens(one, two, effort),
        (Segment::Name(name), Segment::Glob(glob)) | (Segment::Glob(glob), Segment::Name(name)) => {
            // To spell it out is work too.
            effort.spend_on(name.len());
            effort.is_spent() || tokens(&spelled(name), glob, effort)
        }
        _ => false,
    }
}

fn spelled(name: &str) -> Vec<Token> {
    name.chars().map(|sign| Token::One(vec![(u32::from(sign), u32::from(sign))])).collect()
}

fn tokens(one: &[Token], two: &[Token], effort: &mut Effort) -> bool {
    reaches((one.len(), two.len()), effort, |row, column, _, ahead| {
        let (here, there) = (one.get(row), two.get(column));
        if here == Some(&Token::Star) {
            ahead.push((row + 1, column));
        }
        if there == Some(&Token::Star) {
            ahead.push((row, column + 1));
        }
        match (here, there) {
            (Some(Token::Star), Some(Token::One(_))) => ahead.push((row, column + 1)),
            (Some(Token::One(_)), Some(Token::Star)) => ahead.push((row + 1, column)),
            (Some(Token::One(one)), Some(Token::One(two))) if share(one, two) => {
                ahead.push((row + 1, column + 1));
            }
            _ => {}
        }
    })
}

/// Whether some character lies in both.
fn share(one: &[(u32, u32)], two: &[(u32, u32)]) -> bool {
    one.iter().any(|(from, to)| two.iter().any(|(start, end)| from <= end && start <= to))
}
