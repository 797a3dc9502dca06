//! Launches of cubecl and burn, which hide their streams.

#[cfg(feature = "burn")]
pub mod matmul;
pub mod saxpy;

mod direct;

/// The error of the libraries, and of the driver.
pub type Error = Box<dyn std::error::Error + Send + Sync>;
