//! Gives memory back that was needed once: the code that only a start runs, and what the allocator keeps for the next burst.

/// Lets go of this program's code and constants and of free memory. What is run again comes back from the file, which the
/// system still holds; a page costs a microsecond then. Where the system has no such means, nothing happens.
pub fn give_back() {
    #[cfg(target_os = "linux")]
    crate::linux::give_back();
}
