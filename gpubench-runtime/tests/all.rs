//! The runtime without a device: comparisons.

mod decisions;
