//! Windows: job objects, handles, and the registry. What it lacks is a documented absence, on the page about other GPUs.

pub(crate) mod children;
pub(crate) mod lock_file;
pub(crate) mod machine;
pub(crate) mod stdio;
pub(crate) mod stopping;
