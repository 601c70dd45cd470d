//! stub
use std::path::{Path, PathBuf};
pub(super) struct Scratch(PathBuf);
impl Scratch { pub(super) fn make(p: &Path, run: &str, _: (u32,u32)) -> std::io::Result<Self> { let p = p.join(run); std::fs::create_dir_all(&p)?; Ok(Self(p)) } pub(super) fn path(&self) -> &Path { &self.0 } pub(super) fn remove(self) { std::fs::remove_dir_all(self.0).ok(); } }
