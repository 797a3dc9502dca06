//! Kernels with known work, their launch functions, and the benchmarks that ship with them.
//!
//! A suite includes them by name: `gpubench::main!(gpubench_kernels);`. Each kernel's documentation gives the shapes of its
//! arrays and the work of one launch; each checks its outputs against a plain reference.

pub mod cuda;
pub mod host;
pub mod inputs;
#[doc(hidden)]
pub mod reference;
mod vectorised;
#[cfg(feature = "wgpu")]
pub mod wgpu;
