//! The functions of the operating system that the runtime needs: Linux, and other Unix systems where they have the same.

pub(crate) mod children;
pub(crate) mod machine;
pub(crate) mod stdio;
pub(crate) mod stopping;
