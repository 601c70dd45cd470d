//! The one place that draws random bytes, from the operating system.

use std::cell::RefCell;

use crate::refusal::Fault;

/// How many bytes are drawn ahead for names.
const AHEAD: usize = 640;

thread_local! {
    static DRAWN: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// That many random bytes.
pub fn bytes<const N: usize>() -> Result<[u8; N], Fault> {
    let mut bytes = [0; N];
    fill(&mut bytes)?;
    Ok(bytes)
}

/// That many random bytes for a name that is no secret. They are drawn many at a time: asking the system for each call
/// would be a good part of what a short call costs.
pub(crate) fn name<const N: usize>() -> Result<[u8; N], Fault> {
    DRAWN.with_borrow_mut(|drawn| {
        if drawn.len() < N {
            drawn.resize(AHEAD.max(N), 0);
            fill(drawn)?;
        }
        let rest = drawn.len() - N;
        let mut bytes = [0; N];
        for (byte, drawn) in bytes.iter_mut().zip(drawn.drain(rest..)) {
            *byte = drawn;
        }
        Ok(bytes)
    })
}

fn fill(bytes: &mut [u8]) -> Result<(), Fault> {
    getrandom::fill(bytes).map_err(|error| Fault::new("the system gave no random bytes", error))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_name_is_given_twice() {
        let names: HashSet<[u8; 10]> = (0..10_000).map(|_| name().unwrap()).collect();
        assert_eq!(names.len(), 10_000);
    }
}
