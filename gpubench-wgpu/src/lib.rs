//! Launches on [wgpu], on GPUs of any vendor, as benchmarks of gpubench. A launch function takes an
//! [`Encoder`], and encodes its passes there; gpubench submits them, and times them by timestamp queries.
//!
//! The encoder is all that an annotated library links. The feature `runtime` adds the device: adapters are a
//! `Device` of gpubench-runtime by public traits alone.

#![forbid(unsafe_code)]
#![cfg_attr(not(feature = "runtime"), expect(dead_code, reason = "only a device makes an encoder"))]

#[cfg(feature = "runtime")]
mod device;
mod encoder;

pub use wgpu;

#[cfg(feature = "runtime")]
pub use self::device::Wgpu;
pub use self::encoder::{Encoder, Kernel};
