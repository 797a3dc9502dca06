//! `cargo gpubench`: everything around suites, which measure. In: a command line; out: results on standard output,
//! everything else on standard error, and an exit code. Nothing is measured here: `run` starts suites, and stored runs hold all that is shown of them.

mod args;
mod commands;
mod error;
mod manifest;
mod output;

use std::env;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::process::ExitCode;

use clap::Parser;
use gpubench_records::exit::Exit;

use self::args::Cargo;
use self::error::CommandError;

fn main() -> ExitCode {
    if let Some(exit) = gpubench_runtime::__private::machine::run_as_child() {
        return exit;
    }
    output::outlive_file_limits();
    gpubench_runtime::__private::system::remember_ends();
    let Cargo::Gpubench(args) = match Cargo::try_parse_from(as_subcommand(env::args_os())) {
        Ok(cargo) => cargo,
        Err(message) => {
            let exit = match message.print() {
                // If even this cannot be printed, the exit code still reports it.
                _ if message.use_stderr() => Exit::Usage,
                Err(error) if error.kind() != ErrorKind::BrokenPipe => {
                    output::error(&CommandError::Unprintable(error));
                    Exit::Failed
                }
                _ => Exit::Done,
            };
            return exit.into();
        }
    };
    let ended = commands::run(&args).unwrap_or_else(|error| {
        output::error(&error);
        error.exit()
    });
    ended.into()
}

/// Returns the arguments as `cargo gpubench` passes them: the name of the subcommand stands before the others. Called by its own
/// name, the program gets them without.
fn as_subcommand(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.collect();
    if arguments.get(1).is_none_or(|first| first != "gpubench") {
        arguments.insert(1.min(arguments.len()), "gpubench".into());
    }
    arguments
}
