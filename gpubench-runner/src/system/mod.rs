//! The functions of the operating system that leading a run needs: Linux, and other Unix systems where they have the same.

pub(crate) mod children;
pub(crate) mod stopping;
