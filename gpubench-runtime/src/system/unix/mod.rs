//! Unix: groups of processes, signals, and files of the system that tell about it.

pub(crate) mod children;
pub(crate) mod lock_file;
pub(crate) mod machine;
pub(crate) mod stdio;
pub(crate) mod stopping;
