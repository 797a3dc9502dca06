//! Launches that deceive, launches that were mistaken once, and launches that are as they should be, each compared with the
//! verdict that it must have. On a GPU, or on the fake driver.
//!
//! ```sh
//! gpu_caught                       # all of them, as a table of 80 columns; exit 1 if one has another verdict
//! gpu_caught side_stream lazy      # two of them
//! GPUBENCH_RUNS_DIR=runs gpu_caught  # stores the run, for `cargo gpubench report --explain`
//! gpu_caught --markdown FILE       # all of them, and the tables of docs/results/caught.md in a file
//! ```

#![expect(unsafe_code, reason = "calls the driver")]

mod calls;
mod deceiving;
mod expected;
mod gpu;
mod once_mistaken;
mod right;
mod stateful;

use std::process::ExitCode;

use crate::expected::GROUPS;

fn main() -> ExitCode {
    gpubench::program(|suite| end_to_end::caught::run(suite, GROUPS))
}
