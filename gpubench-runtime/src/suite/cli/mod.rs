//! The command line: flags and their environment twins in, validated [`Options`] out, and the table of exit
//! codes.

mod args;
mod options;
mod peaks;
mod stored_run;
mod values;

use std::env;
use std::ffi::OsString;

use clap::builder::Resettable;
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Command, CommandFactory, FromArgMatches};

pub use self::args::ListFormat;
pub use self::options::{Action, Options, OutputOptions};
pub use gpubench_records::exit::Exit;

use self::args::Args;
use super::Error;
use super::options::{MeasureOptions, OptionsError};

/// Reads the command line of this process: `arguments`, beginning with the program's name. A `bench_target`
/// is in test mode unless cargo's `--bench` is among them.
///
/// # Errors
/// Returns an error with the message to print. Requested help goes to standard output, mistakes to standard
/// error.
pub fn parse(
    arguments: impl IntoIterator<Item = OsString>,
    bench_target: bool,
) -> Result<Options, clap::Error> {
    let matches = matches(arguments.into_iter().collect())?;
    let args = read(&matches)?;
    stored_run::refuse_other_flags(&matches, &args)
        .and_then(|()| Options::of(args, bench_target))
        .map_err(|error| Args::command().error(ErrorKind::ValueValidation, error))
}

/// Reads the options of a measurement from the environment alone.
///
/// # Errors
/// Returns an error if a variable has a value that its flag would not take, or asks for something else than a
/// measurement.
pub(crate) fn from_env() -> Result<MeasureOptions, Error> {
    let args = matches(vec![OsString::from("suite")]).and_then(|matches| read(&matches));
    let args = args.map_err(Error::Environment)?;
    let others = [
        ("GPUBENCH_LIST", args.list),
        ("GPUBENCH_TEST", args.test),
        ("GPUBENCH_FROM", args.from.is_some()),
        ("GPUBENCH_MEASURE_PEAKS", args.measure_peaks),
    ];
    if let Some((variable, _)) = others.into_iter().find(|(_, is_set)| *is_set) {
        return Err(OptionsError::NoMeasurement { variable }.into());
    }
    let options = options::measure_options(args)?;
    options.validate()?;
    Ok(options)
}

fn read(matches: &ArgMatches) -> Result<Args, clap::Error> {
    Args::from_arg_matches(matches).map_err(|error| error.format(&mut Args::command()))
}

fn matches(arguments: Vec<OsString>) -> Result<ArgMatches, clap::Error> {
    let parsed = without_empty_twins(Args::command()).try_get_matches_from(&arguments);
    match parsed {
        // The help names every twin, whatever the environment holds.
        Err(error) if error.kind() == ErrorKind::DisplayHelp => {
            Args::command().try_get_matches_from(arguments)
        }
        parsed => parsed,
    }
}

/// Makes the command ignore variables with an empty value: `GPUBENCH_SKIP=` is the way in which a shell or a
/// CI omits a variable.
fn without_empty_twins(command: Command) -> Command {
    let is_empty = |arg: &Arg| arg.get_env().and_then(env::var_os).is_some_and(|value| value.is_empty());
    command.mut_args(|arg| if is_empty(&arg) { arg.env(Resettable::Reset) } else { arg })
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
