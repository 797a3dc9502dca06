//! The work of a child process, which another process of this program started. In: the first argument. Out: the end of
//! that work.

use std::env;
use std::path::PathBuf;

use super::SuiteError;
use super::cli::Exit;
use crate::runner::clock_lock;
use crate::worker::{self, profiled};

/// Measures, keeps clocks locked or launches under a profiler for the process that started this one for it. Returns `None` in any other process.
pub(super) fn run_as_child() -> Option<Result<Exit, SuiteError>> {
    let served = match env::args_os().nth(1)? {
        flag if flag == worker::FLAG => worker::serve(),
        flag if flag == clock_lock::FLAG => {
            let arguments: Vec<String> = env::args().skip(2).collect();
            clock_lock::serve(&arguments)
        }
        flag if flag == profiled::FLAG => {
            let file = env::args_os().nth(2).map(PathBuf::from);
            profiled::serve(&file.unwrap_or_default())
        }
        _ => return None,
    };
    Some(served.map(|()| Exit::Done).map_err(SuiteError::Child))
}
