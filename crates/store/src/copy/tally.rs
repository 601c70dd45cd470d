//! What the rows of a table come to: how many, and a number that is the same in whatever order they were read.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::Pages;
use crate::db::{DbError, Shape, Tx, Value};

/// Rows, counted and summed up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tally {
    rows: u64,
    /// The hashes of all rows, added up. Equal rows do not cancel out, as they would if bits were only flipped.
    sums: [u128; 2],
}

impl Tally {
    /// That of a table, or of as many of its rows as it takes to see that there are more.
    pub(super) async fn of(
        tx: &mut Tx,
        shape: &Shape,
        most: u64,
        told: impl Fn(u64),
    ) -> Result<Self, DbError> {
        let (mut tally, mut pages) = (Self::default(), Pages::of(shape));
        while tally.rows <= most
            && let Some(rows) = pages.next(tx).await?
        {
            for row in &rows {
                tally.add(row);
            }
            told(tally.rows);
        }
        Ok(tally)
    }

    /// Takes a row in.
    pub(super) fn add(&mut self, row: &[Value]) {
        let mut hash = Sha256::new();
        for value in row {
            // A byte for what it is, then how long it is: no two rows have the same bytes.
            let (int, real);
            let (tag, bytes): (u8, &[u8]) = match value {
                Value::Null => (0, &[]),
                Value::Int(number) => {
                    int = number.to_be_bytes();
                    (1, &int)
                }
                Value::Real(number) => {
                    real = number.to_be_bytes();
                    (2, &real)
                }
                Value::Text(text) => (3, text.as_bytes()),
                Value::Blob(bytes) => (4, bytes),
            };
            hash.update([tag]);
            hash.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_be_bytes());
            hash.update(bytes);
        }
        let hash: [u8; 32] = hash.finalize().into();
        let (high, low) = hash.split_at(16);
        for (sum, half) in self.sums.iter_mut().zip([high, low]) {
            let half: [u8; 16] = half.try_into().unwrap_or_default();
            *sum = sum.wrapping_add(u128::from_be_bytes(half));
        }
        self.rows = self.rows.saturating_add(1);
    }

    /// How many rows.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// The sum, as people compare it.
    pub(super) fn digest(&self) -> String {
        self.sums.iter().fold(String::new(), |mut text, sum| {
            // Writing to a `String` cannot fail.
            let _ = write!(text, "{sum:032x}");
            text
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(rows: &[Vec<Value>]) -> Tally {
        let mut tally = Tally::default();
        for row in rows {
            tally.add(row);
        }
        tally
    }

    #[test]
    fn order_does_not_matter_and_everything_else_does() {
        let (one, two): (Vec<Value>, Vec<Value>) =
            (vec![1_i64.into(), "x".into()], vec![2_i64.into(), Value::Null]);
        let both = tally(&[one.clone(), two.clone()]);
        assert_eq!(both, tally(&[two.clone(), one.clone()]));
        for other in [
            vec![one.clone()],
            vec![one.clone(), one.clone()],
            vec![two.clone(), two.clone()],
            vec![one.clone(), vec![2_i64.into(), "".into()]],
            vec![one.clone(), vec!["2".into(), Value::Null]],
            vec![vec!["x".into(), 1_i64.into()], two.clone()],
            vec![one.clone(), vec![Value::Null, 2_i64.into()]],
        ] {
            assert_ne!(both, tally(&other), "{other:?}");
        }
        let texts = |a: &str, b: &str| tally(&[vec![a.into(), b.into()]]);
        assert_ne!(texts("ab", "c"), texts("a", "bc"));
        assert_ne!(tally(&[vec!["a".into()]]), tally(&[vec![Value::Blob(b"a".to_vec())]]));
    }
}
