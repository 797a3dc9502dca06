//! The command line: flags, their environment twins and the settings of the user's file in, validated [`Options`] out, and the table
//! of exit codes.

mod args;
mod help;
mod libtest;
mod manifest;
mod modes;
mod options;
mod origins;
mod peaks;
mod settings;
mod values;
mod variables;

use std::env;
use std::ffi::OsString;
use std::path::Path;

use clap::builder::Resettable;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};

pub(crate) use self::args::TextFormat;
pub use self::help::Caller;
pub(crate) use self::options::{Action, Options, OutputOptions};
pub(crate) use gpubench_records::exit::Exit;

use self::args::Args;
use self::origins::Origins;
use self::settings::FileSettings;
use super::SuiteError;
use super::options::{MeasureOptions, OptionsError};
use gpubench_records::selection::split_names;

/// Reads the command line of this process: `arguments`, beginning with the program's name.
///
/// # Errors
/// Returns an error with the message to print. Requested help goes to standard output, mistakes to standard
/// error.
pub fn parse(arguments: impl IntoIterator<Item = OsString>, caller: &Caller) -> Result<Options, clap::Error> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let settings = Settings::read(&arguments, caller)?;
    let args = settings.args()?;
    if let Some(text) = settings.text(&args) {
        return Options::printing(args, text).map_err(|error| settings.refused(error));
    }
    let measured = || {
        modes::refuse_beside_stored_run(&settings.command, &settings.matches, &args)?;
        modes::refuse_without_races(&settings.command, &settings.matches, &args)?;
        let of_results = modes::format_of_results(&settings.command, &settings.matches, &args);
        let mut options = Options::of(args, caller.is_bench_target)?;
        options.warnings.extend(match options.action {
            Action::Measure if of_results.is_some() => of_results,
            Action::Test { .. } => modes::ignored_in_test_mode(&settings.command, &settings.matches),
            // `cargo bench` without flags, which the next call may have.
            Action::Measure if caller.is_bench_target && arguments[1..] == ["--bench"] => {
                env::var_os("CARGO_MANIFEST_DIR").and_then(|folder| manifest::advice(Path::new(&folder)))
            }
            _ => None,
        });
        Ok(options)
    };
    measured().map_err(|error| settings.refused(error))
}

/// Reads the options of a measurement from the environment and the user's file alone.
///
/// # Errors
/// Returns an error if a variable or a setting has a value that its flag would not take, or a variable asks for something else than a
/// measurement.
pub(crate) fn from_env() -> Result<MeasureOptions, SuiteError> {
    let read = || {
        let settings = Settings::read(&[OsString::from("suite")], &Caller::default())?;
        Ok((settings.args()?, settings))
    };
    let (args, settings) = read().map_err(SuiteError::Environment)?;
    let others = [
        ("GPUBENCH_LIST", args.actions.list),
        ("GPUBENCH_TEST", args.actions.test),
        ("GPUBENCH_FROM", args.stored.from.is_some()),
        ("GPUBENCH_MEASURE_PEAKS", args.peaks.measure_peaks),
        ("GPUBENCH_TUNE", args.tuning.tune),
        ("GPUBENCH_SHOW_CONFIG", args.actions.show_config),
    ];
    if let Some((variable, _)) = others.into_iter().find(|(_, is_set)| *is_set) {
        return Err(OptionsError::NoMeasurement { variable }.into());
    }
    let options = options::measure_options(args).and_then(|options| options.validate().map(|()| options));
    options.map_err(|error| settings.origins().place(error).into())
}

/// The parsed command line, with the environment and the user's file behind it.
struct Settings {
    /// The table of flags.
    command: Command,
    matches: ArgMatches,
    file: FileSettings,
}

impl Settings {
    fn read(arguments: &[OsString], caller: &Caller) -> Result<Self, clap::Error> {
        let command = help::command(caller);
        let parser = switches_take_values(without_empty_twins(command.clone()));
        let given = match parser.clone().try_get_matches_from(arguments) {
            // The help names every twin, whatever the environment holds.
            Err(error) if error.kind() == ErrorKind::DisplayHelp => {
                let is_long = arguments.iter().any(|argument| argument == "--help");
                let shown = if is_long { command } else { help::short(caller) };
                return Err(shown.try_get_matches_from(arguments).err().unwrap_or(error));
            }
            Err(error) if error.kind() == ErrorKind::InvalidUtf8 => {
                return Err(command.clone().error(ErrorKind::InvalidUtf8, not_utf8(&command, arguments)));
            }
            given => given.map_err(|error| of_variable(error, &parser, arguments))?,
        };
        if let Some(misspelt) = variables::misspelt_variable(&command) {
            return Err(command.clone().error(ErrorKind::ValueValidation, misspelt));
        }
        let without_environment = parser.clone().mut_args(|arg| arg.env(Resettable::Reset));
        let args = Args::from_arg_matches(&given).map_err(|error| error.format(&mut command.clone()))?;
        let file = FileSettings::of(&without_environment, &given, &args)
            .map_err(|error| command.clone().error(ErrorKind::ValueValidation, error))?;
        let matches = match file.is_empty() {
            true => given,
            false => file.as_defaults(parser).try_get_matches_from(arguments)?,
        };
        Ok(Self { command, matches, file })
    }

    fn args(&self) -> Result<Args, clap::Error> {
        let args = Args::from_arg_matches(&self.matches);
        let mut args = args.map_err(|error| error.format(&mut self.command.clone()))?;
        // A variable holds several names. On the command line, test runners give whole ones, with commas of their own.
        for (id, names) in [("filters", &mut args.cases.filters), ("skip", &mut args.cases.skip)] {
            if args.cases.exact && self.matches.value_source(id) == Some(ValueSource::EnvVariable) {
                *names = names.iter().flat_map(|names| split_names(names)).collect();
            }
        }
        Ok(args)
    }

    fn origins(&self) -> Origins<'_> {
        Origins { command: &self.command, matches: &self.matches, file: &self.file }
    }

    /// Returns the text to print instead of anything else, if the user wants one.
    fn text(&self, args: &Args) -> Option<String> {
        args.actions.show_config.then(|| self.origins().show())
    }

    /// Returns the error of a setting with the place that it comes from.
    fn refused(&self, error: OptionsError) -> clap::Error {
        self.command.clone().error(ErrorKind::ValueValidation, self.origins().place(error))
    }
}

/// Names the arguments and the variables that are no UTF-8, paths among them, though those need not be: clap does not tell which one it
/// refused.
fn not_utf8(command: &Command, arguments: &[OsString]) -> String {
    let arguments = arguments.iter().skip(1).filter(|argument| argument.to_str().is_none());
    let arguments = arguments.map(|argument| format!("{argument:?}"));
    let variables = command.get_arguments().filter_map(|arg| {
        let value = env::var_os(arg.get_env()?).filter(|value| value.to_str().is_none())?;
        Some(format!("{}={value:?}", arg.get_env()?.display()))
    });
    format!("invalid UTF-8: {}", arguments.chain(variables).collect::<Vec<_>>().join(", "))
}

/// Names the environment variable whose value is wrong, in place of the flag that nobody has given.
fn of_variable(mut error: clap::Error, parser: &Command, arguments: &[OsString]) -> clap::Error {
    let Some(flag) = error.get(ContextKind::InvalidArg).map(ToString::to_string) else { return error };
    let mut built = parser.clone();
    built.build();
    let Some(arg) = built.get_arguments().find(|arg| arg.to_string() == flag) else { return error };
    let Some(variable) = arg.get_env().filter(|variable| env::var_os(variable).is_some()) else {
        return error;
    };
    let without = parser.clone().mut_arg(arg.get_id().clone(), |arg| arg.env(Resettable::Reset));
    if without.try_get_matches_from(arguments).is_ok() {
        let variable = variable.to_string_lossy().into_owned();
        error.insert(ContextKind::InvalidArg, ContextValue::String(variable));
    }
    error
}

/// Makes the command ignore variables with an empty value: `GPUBENCH_SKIP=` is the way in which a shell or a
/// CI omits a variable.
fn without_empty_twins(command: Command) -> Command {
    let is_empty = |arg: &Arg| arg.get_env().and_then(env::var_os).is_some_and(|value| value.is_empty());
    command.mut_args(|arg| if is_empty(&arg) { arg.env(Resettable::Reset) } else { arg })
}

/// Lets `--quick=false` take back what a variable or the user's file says. Help shows switches without a value.
fn switches_take_values(command: Command) -> Command {
    command.mut_args(|arg| match arg.get_action() {
        ArgAction::SetTrue if !arg.is_hide_set() => arg
            .action(ArgAction::Set)
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .default_value("false"),
        _ => arg,
    })
}

#[cfg(test)]
mod tests {
    use super::help::{Caller, command};

    #[test]
    fn every_flag_that_is_shown_has_its_environment_twin() {
        let command = command(&Caller::default());
        command.clone().debug_assert();
        let shown = command
            .get_arguments()
            .filter(|arg| !arg.is_hide_set() && !["help", "version"].contains(&arg.get_id().as_str()));
        for arg in shown {
            let twin = arg.get_env().map(|name| name.to_string_lossy().into_owned());
            let flag = arg.get_long().unwrap_or("filter").replace('-', "_").to_uppercase();
            assert_eq!(twin, Some(format!("GPUBENCH_{flag}")));
        }
    }
}
