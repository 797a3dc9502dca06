//! The flags of formats on a command line, one for each [`Format`], with the feature `clap`.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, Error, FromArgMatches, builder::ValueParser};

use gpubench_table::export::Format;

use super::FORMATS;

/// The formats with the files that the user names for them.
#[derive(Clone, Debug, Default)]
pub struct ExportArgs(pub Vec<(Format, PathBuf)>);

/// The flag of a format.
fn flag(format: Format) -> Arg {
    let name = format.name;
    Arg::new(name)
        .long(name)
        .value_name("FILE")
        .value_parser(ValueParser::path_buf())
        .help(format.description)
        .help_heading("Results")
}

impl clap::Args for ExportArgs {
    fn augment_args(command: Command) -> Command {
        command.args(FORMATS.into_iter().map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ExportArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let file = |format: Format| Some((format, matches.get_one::<PathBuf>(format.name)?.clone()));
        Ok(Self(FORMATS.into_iter().filter_map(file).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
