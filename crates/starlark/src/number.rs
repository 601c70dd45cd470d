//! Whole numbers of up to 65,536 bits, and how they meet floats: exactly, or with a fault, never wrapped around.

use crate::fault::{Fault, Outcome};
use num_bigint::{BigInt, Sign};
use std::cmp::Ordering;

/// The most bits of a whole number: enough for any purpose, and every operation stays short.
pub(crate) const MAX_BITS: u64 = 65_536;

/// A whole number; `Big` only where it does not fit `Small`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Whole {
    Small(i64),
    Big(BigInt),
}

impl From<BigInt> for Whole {
    fn from(value: BigInt) -> Self {
        i64::try_from(&value).map_or(Self::Big(value), Self::Small)
    }
}

impl Whole {
    pub(crate) fn big(&self) -> BigInt {
        match self {
            Self::Small(value) => BigInt::from(*value),
            Self::Big(value) => value.clone(),
        }
    }

    fn bits(&self) -> u64 {
        match self {
            Self::Small(value) => u64::from(64 - value.unsigned_abs().leading_zeros()),
            Self::Big(value) => value.bits(),
        }
    }

    /// Words of 64 bits: what arithmetic with it costs by.
    pub(crate) fn words(&self) -> u64 {
        self.bits() / 64 + 1
    }

    pub(crate) fn is_zero(&self) -> bool {
        matches!(self, Self::Small(0))
    }

    pub(crate) fn is_negative(&self) -> bool {
        match self {
            Self::Small(value) => *value < 0,
            Self::Big(value) => value.sign() == Sign::Minus,
        }
    }

    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Small(a), Self::Small(b)) => a.cmp(b),
            _ => self.big().cmp(&other.big()),
        }
    }

    pub(crate) fn add(&self, other: &Self) -> Outcome<Self> {
        self.either(other, i64::checked_add, |a, b| a + b)
    }

    pub(crate) fn subtract(&self, other: &Self) -> Outcome<Self> {
        self.either(other, i64::checked_sub, |a, b| a - b)
    }

    pub(crate) fn multiply(&self, other: &Self) -> Outcome<Self> {
        if self.bits() + other.bits() > MAX_BITS + 1 {
            return Err(too_large());
        }
        self.either(other, i64::checked_mul, |a, b| a * b)
    }

    fn either(
        &self,
        other: &Self,
        small: fn(i64, i64) -> Option<i64>,
        large: fn(BigInt, BigInt) -> BigInt,
    ) -> Outcome<Self> {
        if let (Self::Small(a), Self::Small(b)) = (self, other)
            && let Some(value) = small(*a, *b)
        {
            return Ok(Self::Small(value));
        }
        bounded(large(self.big(), other.big()))
    }

    /// The quotient towards negative infinity, and what remains.
    pub(crate) fn divide(&self, other: &Self) -> Outcome<(Self, Self)> {
        if other.is_zero() {
            return Err(Fault::new("division by zero"));
        }
        if let (Self::Small(a), Self::Small(b)) = (self, other)
            && let (Some(quotient), Some(remainder)) = (a.checked_div(*b), a.checked_rem(*b))
        {
            let below = remainder != 0 && (remainder < 0) != (*b < 0);
            return Ok(if below {
                (Self::Small(quotient - 1), Self::Small(remainder + b))
            } else {
                (Self::Small(quotient), Self::Small(remainder))
            });
        }
        let (a, b) = (self.big(), other.big());
        let (quotient, remainder) = (&a / &b, &a % &b);
        let below = remainder.sign() != Sign::NoSign && remainder.sign() != b.sign();
        let (quotient, remainder) =
            if below { (quotient - BigInt::from(1), remainder + b) } else { (quotient, remainder) };
        Ok((bounded(quotient)?, bounded(remainder)?))
    }

    pub(crate) fn shift_left(&self, by: &Self) -> Outcome<Self> {
        if by.is_negative() {
            return Err(Fault::new("cannot shift by a negative number"));
        }
        if self.is_zero() {
            return Ok(Self::Small(0));
        }
        match by {
            Self::Small(by) => {
                let by = by.unsigned_abs();
                if self.bits().saturating_add(by) > MAX_BITS {
                    return Err(too_large());
                }
                bounded(self.big() << by)
            }
            Self::Big(_) => Err(too_large()),
        }
    }

    pub(crate) fn shift_right(&self, by: &Self) -> Outcome<Self> {
        if by.is_negative() {
            return Err(Fault::new("cannot shift by a negative number"));
        }
        let end = if self.is_negative() { -1 } else { 0 };
        match (self, by) {
            (Self::Small(value), Self::Small(by)) => {
                let by = u32::try_from(*by).unwrap_or(u32::MAX);
                Ok(Self::Small(value.checked_shr(by).unwrap_or(end)))
            }
            (Self::Big(value), Self::Small(by)) if by.unsigned_abs() <= MAX_BITS => {
                Ok(Self::from(value >> by.unsigned_abs()))
            }
            _ => Ok(Self::Small(end)),
        }
    }

    pub(crate) fn bitwise(
        &self,
        other: &Self,
        small: fn(i64, i64) -> i64,
        large: fn(BigInt, BigInt) -> BigInt,
    ) -> Outcome<Self> {
        match (self, other) {
            (Self::Small(a), Self::Small(b)) => Ok(Self::Small(small(*a, *b))),
            _ => bounded(large(self.big(), other.big())),
        }
    }

    /// The nearest float, unless it is beyond the largest.
    pub(crate) fn float(&self) -> Outcome<f64> {
        let value = match self {
            Self::Small(value) => nearest(*value),
            Self::Big(value) if value.bits() <= 1024 => value.to_string().parse().unwrap_or(f64::INFINITY),
            Self::Big(_) => f64::INFINITY,
        };
        if value.is_finite() { Ok(value) } else { Err(Fault::new("the int is too large for a float")) }
    }

    /// Compares exactly; a float that is not a number is greater than everything.
    pub(crate) fn compare_float(&self, other: f64) -> Ordering {
        if other.is_nan() || other == f64::INFINITY {
            return Ordering::Less;
        }
        let Some(floor) = truncated(other.floor()) else { return Ordering::Greater };
        self.compare(&floor).then(if other.fract() == 0.0 { Ordering::Equal } else { Ordering::Less })
    }
}

#[expect(clippy::cast_precision_loss, reason = "the nearest float is what is asked for")]
fn nearest(value: i64) -> f64 {
    value as f64
}

/// The whole part of a finite float, exactly.
pub(crate) fn truncated(value: f64) -> Option<Whole> {
    if !value.is_finite() {
        return None;
    }
    let bits = value.abs().to_bits();
    let exponent = bits >> 52;
    let fraction = bits & ((1 << 52) - 1);
    if exponent < 1023 {
        return Some(Whole::Small(0));
    }
    let significand = fraction | (1 << 52);
    let magnitude = if exponent <= 1075 {
        BigInt::from(significand >> (1075 - exponent))
    } else {
        BigInt::from(significand) << (exponent - 1075)
    };
    Some(Whole::from(if value < 0.0 { -magnitude } else { magnitude }))
}

fn bounded(value: BigInt) -> Outcome<Whole> {
    if value.bits() > MAX_BITS { Err(too_large()) } else { Ok(Whole::from(value)) }
}

fn too_large() -> Fault {
    Fault::new(format!("the int is too large: it would have more than {MAX_BITS} bits"))
}

/// Reads digits without a sign; `None` if they are not all digits of that base.
pub(crate) fn parse(digits: &str, radix: u32) -> Outcome<Option<Whole>> {
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Ok(None);
    }
    if let Ok(value) = i64::from_str_radix(digits, radix) {
        return Ok(Some(Whole::Small(value)));
    }
    let significant = digits.trim_start_matches('0');
    if u64::try_from(significant.len()).unwrap_or(u64::MAX) > MAX_BITS {
        return Err(too_large());
    }
    BigInt::parse_bytes(significant.as_bytes(), radix).map(bounded).transpose()
}

/// Quotient towards negative infinity and remainder of floats; the divisor is not zero.
pub(crate) fn divide_floats(a: f64, b: f64) -> (f64, f64) {
    let remainder = a % b;
    let remainder =
        if remainder != 0.0 && (remainder < 0.0) != (b < 0.0) { remainder + b } else { remainder };
    ((a / b).floor(), remainder)
}

/// A float as the language shows it: the shortest digits that denote it, with a point or an exponent.
pub(crate) fn show_float(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+inf" } else { "-inf" }.to_owned();
    }
    let exponential = format!("{value:e}");
    let exponent = exponential.split_once('e').and_then(|(_, text)| text.parse::<i32>().ok()).unwrap_or(0);
    if value != 0.0 && !(-4..17).contains(&exponent) {
        return exponent_of_two_digits(&exponential);
    }
    let plain = format!("{value}");
    if plain.contains('.') { plain } else { format!("{plain}.0") }
}

/// `1.5e7` as `1.5e+07`, which is how C writes it.
pub(crate) fn exponent_of_two_digits(text: &str) -> String {
    let Some((digits, exponent)) = text.split_once('e') else { return text.to_owned() };
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    format!("{digits}e{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_become_whole_numbers_exactly() {
        for (float, whole) in [
            (0.5, "0"),
            (-1.9, "-1"),
            (9_007_199_254_740_993.0, "9007199254740992"),
            (1e22, "10000000000000000000000"),
        ] {
            assert_eq!(truncated(float).unwrap().big().to_string(), whole);
        }
        assert_eq!(truncated(f64::NAN), None);
    }

    #[test]
    fn floats_are_shown_by_their_shortest_digits() {
        for (float, text) in
            [(0.0, "0.0"), (-0.0, "-0.0"), (1.5, "1.5"), (1e16, "10000000000000000.0"), (1e17, "1e+17")]
        {
            assert_eq!(show_float(float), text);
        }
        assert_eq!(show_float(1.25e-7), "1.25e-07");
    }
}
