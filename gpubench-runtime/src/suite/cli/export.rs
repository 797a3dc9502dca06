//! The flags that write a run in another format: one for each [`Format`], with its environment twin. In: the command line. Out:
//! the files that the user names.

use std::path::PathBuf;

use clap::builder::ValueParser;
use clap::{Arg, ArgMatches, Command, Error, FromArgMatches};

use gpubench_report::export::Format;

/// The formats with the files that the user names for them.
#[derive(Debug, Default)]
pub(super) struct ExportArgs(pub(super) Vec<(Format, PathBuf)>);

/// The flag of a format.
fn flag(format: Format) -> Arg {
    let name = format.name();
    let twin = format!("GPUBENCH_{}", name.replace('-', "_").to_uppercase());
    Arg::new(name)
        .long(name)
        .env(twin)
        .value_name("FILE")
        .value_parser(ValueParser::path_buf())
        .help(format.description())
        .help_heading("Results")
}

impl clap::Args for ExportArgs {
    fn augment_args(command: Command) -> Command {
        command.args(Format::ALL.iter().copied().map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ExportArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let file = |format: &Format| Some((*format, matches.get_one::<PathBuf>(format.name())?.clone()));
        Ok(Self(Format::ALL.iter().filter_map(file).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
