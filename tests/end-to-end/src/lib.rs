//! What the suites and the tests of this package share: a device whose clock is known, for suites whose numbers must
//! come out exactly, a way to run a suite and keep all that it said, and the page that says what each fault costs.

pub mod clockwork;
pub mod reliability;
pub mod running;
