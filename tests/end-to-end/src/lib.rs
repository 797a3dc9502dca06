//! What the suites and the tests of this package share: a device whose clock is known, for suites whose numbers must
//! come out exactly, and a way to run a suite and keep all that it said.

pub mod clockwork;
pub mod running;
