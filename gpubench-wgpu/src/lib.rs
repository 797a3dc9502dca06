//! Launches on [wgpu], on GPUs of any vendor, as benchmarks of gpubench. A launch function takes an [`Encoder`], and
//! encodes its passes there; gpubench submits them, and times them by timestamp queries.
//!
//! Adapters are a [`Device`](gpubench_runtime::device::Device) by public traits alone.

#![forbid(unsafe_code)]

mod adapter;
mod device;
mod encoder;
mod errors;
mod flush;
mod kernel;
mod peaks;
mod sampling;
mod timer;
mod timestamps;

#[cfg(test)]
mod tests;

pub use wgpu;

pub use self::device::Wgpu;
pub use self::encoder::Encoder;
pub use self::kernel::Kernel;
