//! What takes secrets out of a text before a tool cuts, marks or rewrites it: what is cut apart is not found afterwards.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use covenant_model::redact::Redactor;

/// The secrets that a call must not show. Outside of the gate there are none.
#[derive(Debug, Clone, Default)]
pub struct Veil(Vec<Arc<Redactor>>);

impl Veil {
    /// Hides what these redactors find.
    pub fn of(redactors: impl IntoIterator<Item = Arc<Redactor>>) -> Self {
        Self(redactors.into_iter().collect())
    }

    /// The text without secrets; borrowed if it held none.
    pub fn without_secrets<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.0.iter().fold(Cow::Borrowed(text), |text, redactor| match redactor.redact(&text) {
            Cow::Owned(clean) => Cow::Owned(clean),
            Cow::Borrowed(_) => text,
        })
    }

    /// A part of the bytes without secrets, those included that begin before it or end behind it.
    pub fn part(&self, bytes: &[u8], part: Range<usize>) -> Vec<u8> {
        let Some((first, others)) = self.0.split_first() else {
            return bytes.get(part.start..part.end.min(bytes.len())).unwrap_or_default().to_vec();
        };
        // What was a secret when the call began is looked for around the part; what became one since, within it.
        others.iter().fold(first.redact_part(bytes, part), |part, redactor| {
            let whole = 0..part.len();
            redactor.redact_part(&part, whole)
        })
    }
}
