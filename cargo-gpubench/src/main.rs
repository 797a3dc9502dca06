//! `cargo gpubench`: the commands around benchmark binaries. They start benchmark binaries and read the runs that
//! these store. Results go to standard output, messages to standard error.

mod commands;
mod manifest;
mod output;

use std::{env, ffi::OsString, process::ExitCode};

use clap::{CommandFactory, FromArgMatches};
use gpubench_runner::__private::{Caller, keep_exit_statuses, run_as_child, with_conventions, with_hint};

use self::commands::CargoArgs;

fn main() -> ExitCode {
    if let Some(exit) = run_as_child() {
        return exit;
    }
    keep_exit_statuses();
    let command = with_conventions(CargoArgs::command());
    let arguments = as_subcommand(env::args_os());
    let matches = command.try_get_matches_from(&arguments);
    let args = matches
        .map_err(|error| with_hint(error, &Caller::default().to_command(), &arguments))
        .and_then(|matches| CargoArgs::from_arg_matches(&matches));
    let CargoArgs::Gpubench(args) = args.unwrap_or_else(|error| error.exit());
    let ended = commands::run(&args).unwrap_or_else(|error| {
        output::error(&error);
        error.exit
    });
    ended.into()
}

/// Returns the arguments as cargo passes them to a subcommand: the program, then `gpubench`. Inserts
/// `gpubench` if it is missing, because the user called the program directly.
fn as_subcommand(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.collect();
    if arguments.get(1).is_none_or(|first| first != "gpubench") {
        arguments.insert(1.min(arguments.len()), "gpubench".into());
    }
    arguments
}
