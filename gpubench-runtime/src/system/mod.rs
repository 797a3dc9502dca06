//! What differs between operating systems, each thing once for Unix and once for Windows, under the same names. In: what the rest of
//! the runtime wants of a system. Out: the same from each, or nothing where a system has no such thing.
//!
//! - `children`: processes that end together with everything that they start, and the words for their ends;
//! - `stdio`: the standard streams, taken away from the user's code;
//! - `stopping`: the signals that ask a run to end;
//! - `lock_file`: a lock that all programs of a machine see;
//! - `machine`: its name, its kernel and the times of its threads;
//! - `stat`: the words of Linux on a process or a thread, from text.

pub(crate) mod stat;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use self::unix::{children, lock_file, machine, stdio, stopping};
#[cfg(windows)]
pub(crate) use self::windows::{children, lock_file, machine, stdio, stopping};
