//! The functions of libcuda, grouped by topic. The modules of the state implement their effects.

#![expect(unsafe_code, reason = "C functions, exported under their C names")]

mod copies;
pub(crate) mod cupti;
mod device;
mod graphs;
mod links;
mod memory;
mod modules;
mod nvml;
mod streams;
