//! The functions of the operating system that the runtime needs: Linux, and other Unix systems where they
//! have the same.

pub(crate) mod ending;
pub mod machine;
pub mod stdio;
