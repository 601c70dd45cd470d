//! A waiting line that anyone may leave from the middle; who has stood in it longest is known at once.

/// A line of those who have a number. Nothing in it takes longer when it is long.
#[derive(Default)]
pub(super) struct Line {
    places: Vec<Place>,
    first: Option<usize>,
    last: Option<usize>,
}

/// Who stands before and behind that number, if it stands in the line.
#[derive(Default, Clone, Copy)]
struct Place {
    stands: bool,
    before: Option<usize>,
    behind: Option<usize>,
}

impl Line {
    /// That number goes to the end of the line. It must not stand in it.
    pub(super) fn join(&mut self, number: usize) {
        if self.places.len() <= number {
            self.places.resize(number + 1, Place::default());
        }
        let before = self.last.replace(number);
        self.put(number, Place { stands: true, before, behind: None });
        match before.and_then(|before| self.places.get_mut(before)) {
            Some(before) => before.behind = Some(number),
            None => self.first = Some(number),
        }
    }

    /// That number leaves the line, if it stands in it.
    pub(super) fn leave(&mut self, number: usize) {
        let Some(Place { stands: true, before, behind }) = self.places.get(number).copied() else { return };
        self.put(number, Place::default());
        match before.and_then(|before| self.places.get_mut(before)) {
            Some(before) => before.behind = behind,
            None => self.first = behind,
        }
        match behind.and_then(|behind| self.places.get_mut(behind)) {
            Some(behind) => behind.before = before,
            None => self.last = before,
        }
    }

    /// Who has stood in it longest.
    pub(super) fn first(&self) -> Option<usize> {
        self.first
    }

    fn put(&mut self, number: usize, new: Place) {
        if let Some(place) = self.places.get_mut(number) {
            *place = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    #[test]
    fn whoever_stands_longest_is_first_whoever_else_leaves() {
        let mut line = Line::default();
        assert_eq!(line.first(), None);
        for number in [5, 1, 3, 0] {
            line.join(number);
        }
        assert_eq!(line.first(), Some(5));
        line.leave(3);
        line.leave(3);
        line.leave(77);
        line.leave(5);
        assert_eq!(line.first(), Some(1));
        line.join(5);
        line.leave(1);
        assert_eq!(line.first(), Some(0));
        line.leave(0);
        line.leave(5);
        assert_eq!(line.first(), None, "and the line can become empty");
        line.join(2);
        assert_eq!(line.first(), Some(2));
    }

    #[test]
    fn it_behaves_like_a_list_under_any_order_of_coming_and_going() {
        let (mut line, mut list) = (Line::default(), VecDeque::new());
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        for _ in 0..20_000 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let number = usize::try_from((state >> 16) % 40).unwrap();
            if list.contains(&number) {
                list.retain(|other| *other != number);
                line.leave(number);
            } else {
                list.push_back(number);
                line.join(number);
            }
            assert_eq!(line.first(), list.front().copied());
        }
    }
}
