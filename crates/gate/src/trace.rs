//! Where a call stands in a trace: what the `traceparent` of its caller says, and what it says to those a tool calls.

use std::fmt::Write as _;

use covenant_model::id::CallId;
use sha2::{Digest as _, Sha256};

use crate::context::Context;
use crate::random;
use crate::refusal::Fault;

/// The length of `VERSION-TRACE-PARENT-FLAGS`.
const LENGTH: usize = 55;

/// The flags that mean something: sampled, and a trace id that is random.
const KNOWN: u8 = 0b11;

const SAMPLED: u8 = 0b01;

/// A W3C trace, and the span in it that a call belongs under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    id: Hex<32>,
    parent: Option<Hex<16>>,
    flags: u8,
}

/// Lower-case hexadecimal digits, not all of them zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hex<const N: usize>([u8; N]);

impl<const N: usize> Hex<N> {
    fn read(text: &[u8]) -> Option<Self> {
        let digits: [u8; N] = text.try_into().ok()?;
        (digits.iter().all(|byte| is_digit(*byte)) && digits.iter().any(|byte| *byte != b'0'))
            .then_some(Self(digits))
    }

    /// The digits of bytes, two for each.
    fn of(bytes: &[u8]) -> Self {
        let digit = |value: u8| char::from_digit(u32::from(value), 16).map_or(b'0', |digit| digit as u8);
        let mut digits = [b'0'; N];
        let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        for (place, half) in digits.iter_mut().zip(halves) {
            *place = digit(half);
        }
        // All zeros would mean none.
        if let Some(last) = digits.last_mut().filter(|_| bytes.iter().all(|byte| *byte == 0)) {
            *last = b'1';
        }
        Self(digits)
    }

    pub(crate) fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
}

fn two_digits(text: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(text).ok().filter(|text| text.len() == 2 && text.bytes().all(is_digit))?;
    u8::from_str_radix(text, 16).ok()
}

impl Trace {
    /// Reads a `traceparent` value; `None` if it is not one. A later version may say more behind what we know.
    pub fn from_traceparent(text: &str) -> Option<Self> {
        let (known, more) = text.as_bytes().split_at_checked(LENGTH)?;
        let parts: Vec<&[u8]> = known.split(|byte| *byte == b'-').collect();
        let [version, id, parent, flags] = parts.as_slice() else { return None };
        let whole = match two_digits(version)? {
            0 => more.is_empty(),
            0xff => false,
            _ => more.first().is_none_or(|byte| *byte == b'-'),
        };
        let flags = two_digits(flags)? & KNOWN;
        let trace = Self { id: Hex::read(id)?, parent: Some(Hex::read(parent)?), flags };
        whole.then_some(trace)
    }

    /// A trace of its own, which nobody began before.
    pub(crate) fn root() -> Result<Self, Fault> {
        Ok(Self { id: Hex::of(&random::bytes::<16>()?), parent: None, flags: SAMPLED })
    }

    /// The 32 digits of the trace id.
    pub fn as_str(&self) -> &str {
        self.id.as_str()
    }

    /// The 16 digits of the span that asks; `None` at the root.
    pub fn parent(&self) -> Option<&str> {
        self.parent.as_ref().map(Hex::as_str)
    }

    /// Whether those before us keep what they know of it.
    pub fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }

    /// The value to hand on, with that span as the one that asks.
    fn traceparent(&self, span: &Hex<16>) -> String {
        let mut text = String::with_capacity(LENGTH);
        // Writing to a string does not fail.
        let _ = write!(text, "00-{}-{}-{:02x}", self.as_str(), span.as_str(), self.flags);
        text
    }
}

/// The span of a call. It follows from the call's id, so that whoever needs it finds the same one, and nobody pays who
/// does not.
pub(crate) fn span_of(call: &CallId) -> Hex<16> {
    let digest: [u8; 32] = Sha256::digest(call.as_str().as_bytes()).into();
    Hex::of(digest.first_chunk::<8>().unwrap_or(&[0; 8]))
}

impl Context {
    /// The `traceparent` for what this call asks of others: the same trace, with this call as the one that asks. `None`
    /// if the call belongs to no trace.
    pub fn traceparent(&self) -> Option<String> {
        let (trace, call) = (self.trace.as_ref()?, self.call.as_ref()?);
        Some(trace.traceparent(&span_of(call)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio_util::sync::CancellationToken;

    use super::*;

    const ID: &str = "0af7651916cd43dd8448eb211c80319c";
    const PARENT: &str = "b7ad6b7169203331";

    #[test]
    fn a_sound_value_is_read_whole() {
        let trace = Trace::from_traceparent(&format!("00-{ID}-{PARENT}-01")).unwrap();
        assert_eq!((trace.as_str(), trace.parent(), trace.is_sampled()), (ID, Some(PARENT), true));
        assert!(!Trace::from_traceparent(&format!("00-{ID}-{PARENT}-00")).unwrap().is_sampled());
        assert!(Trace::from_traceparent(&format!("00-{ID}-{PARENT}-ff")).unwrap().is_sampled());
    }

    #[test]
    fn a_later_version_may_say_more_and_this_one_may_not() {
        for good in [
            format!("01-{ID}-{PARENT}-01"),
            format!("01-{ID}-{PARENT}-01-"),
            format!("cc-{ID}-{PARENT}-01-what-the-future-brings"),
        ] {
            assert!(Trace::from_traceparent(&good).is_some(), "{good}");
        }
        for bad in [
            format!("00-{ID}-{PARENT}-01-"),
            format!("00-{ID}-{PARENT}-01-more"),
            format!("01-{ID}-{PARENT}-01.more"),
            format!("01-{ID}-{PARENT}-011"),
        ] {
            assert_eq!(Trace::from_traceparent(&bad), None, "{bad}");
        }
    }

    #[test]
    fn what_is_not_one_is_none() {
        let zeros = |count: usize| "0".repeat(count);
        for bad in [
            String::new(),
            "00".to_owned(),
            ID.to_owned(),
            format!("00-{ID}"),
            format!("00-{ID}-{PARENT}"),
            format!("00-{ID}-{PARENT}-"),
            format!("00-{ID}-{PARENT}-1"),
            format!("ff-{ID}-{PARENT}-01"),
            format!("0-{ID}-{PARENT}-001"),
            format!("00-{}-{PARENT}-01", zeros(32)),
            format!("00-{ID}-{}-01", zeros(16)),
            format!("00-{}-{PARENT}-01", ID.to_uppercase()),
            format!("00-{ID}-{}-01", PARENT.to_uppercase()),
            format!("0A-{ID}-{PARENT}-01"),
            format!("00-{ID}-{PARENT}-0A"),
            format!("00-{ID}-{PARENT}-+1"),
            format!("00_{ID}_{PARENT}_01"),
            format!("00-{PARENT}-{ID}-01"),
            format!(" 00-{ID}-{PARENT}-01"),
            format!("00-{ID}-{PARENT}-01 "),
            format!("00-{}-{PARENT}-01", "ä".repeat(16)),
        ] {
            assert_eq!(Trace::from_traceparent(&bad), None, "{bad}");
        }
    }

    #[test]
    fn what_is_handed_on_names_this_call_and_drops_flags_nobody_knows() {
        let call = CallId::from_random([5; 10]);
        let context = |flags: &str| {
            let trace = Trace::from_traceparent(&format!("00-{ID}-{PARENT}-{flags}"));
            let mut context = Context::new(CancellationToken::new()).traced(trace);
            context.call = Some(call.clone());
            context.traceparent().unwrap()
        };
        let handed_on = context("01");
        let ours = Trace::from_traceparent(&handed_on).unwrap();
        assert_eq!((ours.as_str(), ours.parent()), (ID, Some(span_of(&call).as_str())));
        assert_ne!(ours.parent(), Some(PARENT));
        assert!(context("ff").ends_with("-03") && context("00").ends_with("-00"));
        assert_eq!(Context::new(CancellationToken::new()).traceparent(), None);
    }

    #[test]
    fn a_root_is_new_each_time_and_spans_follow_from_calls() {
        let (one, two) = (Trace::root().unwrap(), Trace::root().unwrap());
        assert_ne!(one.as_str(), two.as_str());
        assert!(one.parent().is_none() && one.is_sampled());
        let (a, b) = (CallId::from_random([1; 10]), CallId::from_random([2; 10]));
        assert_eq!(span_of(&a), span_of(&a));
        assert_ne!(span_of(&a), span_of(&b));
        assert_eq!(Hex::<16>::of(&[0; 8]).as_str(), "0000000000000001");
        assert_eq!(Hex::<16>::of(&[0x01, 0xaf, 0, 0, 0, 0, 0, 0xfe]).as_str(), "01af0000000000fe");
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_not_and_what_is_read_is_handed_on(text in ".{0,80}") {
            if let Some(trace) = Trace::from_traceparent(&text) {
                let span = span_of(&CallId::from_random([3; 10]));
                let again = Trace::from_traceparent(&trace.traceparent(&span)).unwrap();
                prop_assert_eq!(again.as_str(), trace.as_str());
            }
        }

        #[test]
        fn every_sound_value_is_read(id in "[0-9a-f]{31}[1-9a-f]", parent in "[0-9a-f]{15}[1-9a-f]", flags: u8) {
            let trace = Trace::from_traceparent(&format!("00-{id}-{parent}-{flags:02x}")).unwrap();
            prop_assert_eq!(trace.as_str(), id);
            prop_assert_eq!(trace.is_sampled(), flags & 1 == 1);
        }
    }
}
