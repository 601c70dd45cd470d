//! What fixtures share: the gate they stand behind, and what of them can change while it runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use covenant_gate::{Gate, Prepared};

use crate::{resources, tools};

/// The gate, and which fixtures are shown now.
#[derive(Default)]
pub(crate) struct Stage {
    gate: OnceLock<Weak<Gate>>,
    another_tool: AtomicBool,
    another_prompt: AtomicBool,
}

impl Stage {
    /// Stands behind that gate from now on.
    pub(crate) fn open(&self, gate: &Arc<Gate>) {
        // There is one gate, and it is opened once.
        let _ = self.gate.set(Arc::downgrade(gate));
    }

    fn gate(&self) -> Result<Arc<Gate>, String> {
        self.gate.get().and_then(Weak::upgrade).ok_or_else(|| "the gate is not open".to_owned())
    }

    /// Whether the tool that comes and goes is there.
    pub(crate) fn another_tool(&self) -> bool {
        self.another_tool.load(Ordering::SeqCst)
    }

    /// Whether the prompt that comes and goes is there.
    pub(crate) fn another_prompt(&self) -> bool {
        self.another_prompt.load(Ordering::SeqCst)
    }

    /// Adds a tool, or takes it away again.
    pub(crate) fn change_tools(self: &Arc<Self>) -> Result<(), String> {
        let gate = self.gate()?;
        let before = tools::all(self).iter().map(|tool| tool.spec().name).collect();
        self.another_tool.fetch_xor(true, Ordering::SeqCst);
        let prepared = tools::all(self).into_iter().map(Prepared::new).collect::<Result<Vec<_>, _>>();
        let refused = gate.exchange_tools(&before, prepared.map_err(|error| error.to_string())?);
        refused.first().map_or(Ok(()), |(name, reason)| Err(format!("{name}: {reason}")))
    }

    /// Adds a prompt, or takes it away again.
    pub(crate) fn change_prompts(&self) -> Result<(), String> {
        let gate = self.gate()?;
        self.another_prompt.fetch_xor(true, Ordering::SeqCst);
        gate.announce();
        Ok(())
    }

    /// Says that the watched resource has changed.
    pub(crate) fn change_resource(&self) -> Result<(), String> {
        self.gate()?.resource_updated(resources::WATCHED);
        Ok(())
    }
}
