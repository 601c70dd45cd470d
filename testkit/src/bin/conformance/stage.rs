//! What fixtures share: the gate they stand behind, and what of them can change while it runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use covenant_gate::{Gate, SystemClock, ToolRegistry};

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
        self.another_tool.fetch_xor(true, Ordering::SeqCst);
        let mut registry = ToolRegistry::default();
        for tool in covenant_tools::native(Arc::new(SystemClock)).into_iter().chain(tools::all(self)) {
            registry.register(tool).map_err(|error| error.to_string())?;
        }
        gate.set_tools(registry);
        Ok(())
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
