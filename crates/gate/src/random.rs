//! The one place that draws random bytes, from the operating system.

use crate::refusal::Fault;

/// That many random bytes.
pub fn bytes<const N: usize>() -> Result<[u8; N], Fault> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| Fault::new("the system gave no random bytes", error))?;
    Ok(bytes)
}
