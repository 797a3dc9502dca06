//! The flags of formats on a command line: one for each [`Format`]. In: what the user gave; out: the files that are named, by
//! format. With the feature `clap`.

use std::path::PathBuf;

use clap::builder::ValueParser;
use clap::{Arg, ArgMatches, Command, Error, FromArgMatches};

use super::Format;

/// The formats with the files that the user names for them. With `TWINS`, each flag has a twin in the environment, such as
/// `GPUBENCH_CSV_SAMPLES`.
#[derive(Clone, Debug, Default)]
pub struct ExportArgs<const TWINS: bool>(pub Vec<(Format, PathBuf)>);

/// The flag of a format.
fn flag(format: Format, twin: bool) -> Arg {
    let name = format.name();
    let flag = Arg::new(name)
        .long(name)
        .value_name("FILE")
        .value_parser(ValueParser::path_buf())
        .help(format.description())
        .help_heading("Results");
    if twin { flag.env(format!("GPUBENCH_{}", name.replace('-', "_").to_uppercase())) } else { flag }
}

impl<const TWINS: bool> clap::Args for ExportArgs<TWINS> {
    fn augment_args(command: Command) -> Command {
        command.args(Format::ALL.iter().map(|format| flag(*format, TWINS)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const TWINS: bool> FromArgMatches for ExportArgs<TWINS> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let file = |format: &Format| Some((*format, matches.get_one::<PathBuf>(format.name())?.clone()));
        Ok(Self(Format::ALL.iter().filter_map(file).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
