//! What only Linux can do: see, count, bound and end a tree of processes.

#[cfg(test)]
mod alone;
pub(crate) mod cgroup;
pub(crate) mod scratch;
mod sys;
pub(crate) mod tree;
pub(crate) mod watch;
