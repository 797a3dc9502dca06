//! Launches of libraries that hide their stream.

#[cfg(feature = "candle")]
pub mod candle;
#[cfg(feature = "candle")]
pub mod candle_sizes;
pub mod graphs;
pub mod session;
