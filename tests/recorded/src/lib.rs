//! Launches of libraries that hide their stream.

#[cfg(feature = "candle")]
pub mod candle;
pub mod graphs;
pub mod session;
