//! Parts that the suites and the tests of this package share: a device whose clock is known, for suites whose numbers must
//! come out exactly, a way to run a suite and keep all its output, and the page about the cost of each fault.

pub mod caught;
pub mod clockwork;
pub mod reliability;
pub mod running;
