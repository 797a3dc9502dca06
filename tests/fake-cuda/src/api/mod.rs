//! The functions of libcuda, by what they are about. What they do to the state stands with that state.

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
