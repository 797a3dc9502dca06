//! The command line: flags and their environment twins in, settled [`Options`] out, and the table of exit codes.

mod args;
mod exit;
mod options;
mod peaks;

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

pub use self::args::ListFormat;
pub use self::exit::Exit;
pub use self::options::{Options, RunsDir};

use self::args::Args;

/// Reads the command line of this process, `arguments` with the program's name first. A `bench_target` is in test mode
/// unless cargo's `--bench` is among them.
///
/// # Errors
/// What to print, and where to: help that was asked for goes to standard output, mistakes to standard error.
pub fn parse(
    arguments: impl IntoIterator<Item = OsString>,
    bench_target: bool,
) -> Result<Options, clap::Error> {
    let args = Args::try_parse_from(arguments)?;
    Options::of(args, bench_target)
        .map_err(|message| Args::command().error(ErrorKind::ValueValidation, message))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Args;

    #[test]
    fn every_flag_that_is_shown_has_its_environment_twin() {
        let command = Args::command();
        command.clone().debug_assert();
        let shown = command.get_arguments().filter(|arg| !arg.is_hide_set() && arg.get_id() != "help");
        for arg in shown {
            let twin = arg.get_env().map(|name| name.to_string_lossy().into_owned());
            let flag = arg.get_long().unwrap_or("filter").replace('-', "_").to_uppercase();
            assert_eq!(twin, Some(format!("GPUBENCH_{flag}")));
        }
    }
}
