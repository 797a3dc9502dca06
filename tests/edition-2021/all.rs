//! Tests of `tests/attribute`, compiled in the edition before the current one.

#[path = "../attribute/tests/generics.rs"]
mod generics;
#[path = "../attribute/tests/support/mod.rs"]
mod support;
#[path = "../attribute/tests/surroundings.rs"]
mod surroundings;
