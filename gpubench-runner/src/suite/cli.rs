//! The command line of a benchmark binary: its flags, and the settings of `gpubench.toml`.

use std::{env, ffi::OsString, path::Path};

use clap::{
    Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueEnum, builder::Resettable,
    error::ErrorKind, parser::ValueSource,
};

use super::flag_hints::{bench_target_warning, with_hint};
use super::{Error, measure::Extension};
use crate::settings::{Settings, ShareChoice, plain_message, value_origin};
use gpubench_records::selection::split_names;

pub(crate) use gpubench_records::Exit;

/// The topic in --help of flags for actions in place of a measurement, such as --list.
const INSTEAD_TOPIC: &str = "Instead of measuring";

/// The topics of --help, each after the id of its first flag. The flags after this one have the same topic,
/// up to the first flag of the next.
const HELP_TOPICS: [(&str, &str); 4] =
    [("filter", "Cases"), ("quick", "Method"), ("json", "Results"), ("list", INSTEAD_TOPIC)];

/// The ids of the flags that `-h` lists, with spaces between them.
const SHORT_HELP_FLAGS: &str = "filter skip arg cache device quick precision max_time json explain baseline save_baseline compare_with list test version help";

/// The command-line flags of a benchmark binary, besides those of [`Settings`].
#[derive(Debug, clap::Args)]
#[command(
    about = "Measure the benchmarks of this program",
    disable_help_flag = true,
    disable_version_flag = true,
    // A flag overrides an earlier one, since scripts append flags.
    args_override_self = true
)]
struct SuiteArgs {
    /// List the selected benchmarks, with their arguments
    #[arg(long, conflicts_with_all = RESULT_FLAGS)]
    list: bool,

    /// Print --list and --test as pretty, terse or json [default: pretty]
    #[arg(long, value_name = "FORMAT", hide_possible_values = true)]
    format: Option<TextFormat>,

    /// Launch and check each case once (the default under `cargo test`)
    #[arg(long, conflicts_with_all = RESULT_FLAGS)]
    test: bool,

    /// Measure the device's peaks (memory, L2, arithmetic), and keep them for later runs
    #[arg(long, conflicts_with_all = ["list", "test", "resume"])]
    measure_peaks: bool,

    /// Print the version
    #[arg(short = 'V', long, action = ArgAction::Version)]
    version: Option<bool>,

    /// Print help: `-h` common flags, `--help` all
    #[arg(short, long, action = ArgAction::Help)]
    help: Option<bool>,

    // Flags of libtest, besides those that mean the same here, such as `--exact`, `--skip` and `--list`.
    /// Added by `cargo bench`: a bench target measures
    #[arg(long, hide = true)]
    bench: bool,

    /// Test mode launches nothing more after a failure
    #[arg(long, hide = true)]
    fail_fast: bool,

    /// Changes nothing
    #[arg(long = "nocapture", aliases = ["no-capture", "show-output", "ensure-time", "shuffle", "force-run-in-process", "exclude-should-panic"], hide = true)]
    ignored_flag: bool,

    /// Changes nothing
    #[arg(long = "test-threads", short = 'Z', aliases = ["logfile", "shuffle-seed"], value_name = "VALUE", hide = true)]
    ignored_option: Option<String>,

    /// Changes nothing
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "plain")]
    report_time: Option<String>,
}

/// The ids of the flags of results, which conflict with --list and --test, since only a measurement has results.
const RESULT_FLAGS: [&str; 6] =
    ["json", "csv", "markdown", "baseline", "save_baseline", "fail_on_regression"];

/// The format of `--list` and of test mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TextFormat {
    /// For people
    #[default]
    // A format of libtest without a meaning here.
    #[value(alias = "junit")]
    Pretty,
    /// For test runners: `name: benchmark`; a letter for each case in test mode
    Terse,
    /// For programs: one JSON object per line; in test mode those of libtest
    Json,
}

/// A command line that was read and checked.
#[derive(Clone, Debug)]
pub struct Options {
    /// The action that is requested.
    pub action: Action,
    /// The settings of the command line, the environment and `gpubench.toml`, checked.
    pub settings: Settings,
    /// A warning about the command line, if there is one.
    pub warning: Option<String>,
}

/// The action that the command line requests of a benchmark binary.
#[derive(Clone, Debug)]
pub enum Action {
    /// Measures the selected cases.
    Measure,
    /// Measures the peaks of the device and no benchmark.
    MeasurePeaks,
    /// Performs the action of an extension, which reads its flags from these matches.
    Extension(Extension, ArgMatches),
    /// Lists the selected cases in this format, and measures nothing.
    List(TextFormat),
    /// Launches each benchmark once and times nothing.
    Test {
        /// The format of the results.
        format: TextFormat,
        /// True to launch nothing more after a failure.
        fail_fast: bool,
    },
}

/// Reads the command line `arguments`, beginning with the program's name, and the settings of the environment
/// and of `gpubench.toml`.
///
/// # Errors
/// Returns an error with the message to print: a mistake, for standard error, or the help or version that is
/// requested, for standard output.
pub fn parse(arguments: impl IntoIterator<Item = OsString>, caller: &Caller) -> Result<Options, clap::Error> {
    let mut command = caller.to_command();
    let arguments = with_negative_values(arguments, &command);
    let matches = match with_conventions(caller.to_command()).try_get_matches_from(&arguments) {
        Err(error)
            if error.kind() == ErrorKind::DisplayHelp && !arguments.iter().any(|given| given == "--help") =>
        {
            return Err(short_help(command).try_get_matches_from(arguments).err().unwrap_or(error));
        }
        Err(error) if error.kind() == ErrorKind::InvalidUtf8 => {
            let message = invalid_utf8_message(&command, &arguments);
            return Err(command.error(ErrorKind::InvalidUtf8, message));
        }
        matches => matches.map_err(|error| with_hint(error, &command, &arguments))?,
    };
    let args = SuiteArgs::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
    let action = action(&args, &matches, caller);
    let mut refused =
        |error: &str| command.error(ErrorKind::ValueValidation, error.to_owned() + &value_origin(error));
    // The usage of the command line would distract from the line of the file.
    let wrong_file = |error| clap::Error::raw(ErrorKind::ValueValidation, format!("{error}\n"));
    let mut settings = Settings::with_file(&matches).map_err(wrong_file)?;
    // A variable holds several names. On the command line, test runners give whole ones, with commas of their own.
    if matches.get_flag("exact") && matches.value_source("filter") == Some(ValueSource::EnvVariable) {
        settings.filter = settings.filter.iter().flat_map(|names| split_names(names)).collect();
    }
    if matches!(action, Action::List(_) | Action::Test { .. }) {
        // They measure nothing, and `gpubench.toml` is for measurements too.
        (settings.verify, settings.fail_on_regression) = (None, None);
    }
    settings.validate().map_err(|error| refused(&error))?;
    if matches!(action, Action::MeasurePeaks) && settings.share.is_some_and(ShareChoice::splits) {
        return Err(refused("--measure-peaks and --share: each GPU has peaks of its own; leave out --share"));
    }
    let warning = match action {
        Action::Measure if args.format.is_some_and(|format| format != TextFormat::Pretty) => {
            Some("--format is for --list and --test; --json FILE writes results".to_owned())
        }
        // `cargo bench` without flags, which the next call may have.
        Action::Measure if caller.is_bench_target && arguments[1..] == ["--bench"] => {
            env::var_os("CARGO_MANIFEST_DIR").and_then(|folder| bench_target_warning(Path::new(&folder)))
        }
        _ => None,
    };
    Ok(Options { action, settings, warning })
}

impl Settings {
    /// Reads the settings from the `GPUBENCH_…` variables and from the user's `gpubench.toml`, and not the command
    /// line of this process.
    ///
    /// # Errors
    /// Returns an error if a variable or the file has a wrong setting.
    pub fn from_env() -> Result<Self, Error> {
        let options = parse([OsString::from("suite")], &Caller::default());
        Ok(options.map_err(|error| Error::Environment(plain_message(&error)))?.settings)
    }
}

/// Returns the action that the flags request; if they request several, the first of a list, peaks, a test and
/// an extension. A bench target without `--bench` counts as a test.
fn action(args: &SuiteArgs, matches: &ArgMatches, caller: &Caller) -> Action {
    let format = args.format.unwrap_or_default();
    // `cargo test` runs a bench target without `--bench`.
    let is_test = args.test || (caller.is_bench_target && !args.bench);
    if args.list {
        Action::List(format)
    } else if args.measure_peaks {
        Action::MeasurePeaks
    } else if is_test {
        // `-q` of libtest prints a letter for each test.
        let format = if matches.get_flag("quiet") { TextFormat::Terse } else { format };
        Action::Test { format, fail_fast: args.fail_fast }
    } else if let Some(extension) = caller.extension.filter(|one| matches.get_flag(one.flag)) {
        Action::Extension(extension, matches.clone())
    } else {
        Action::Measure
    }
}

/// Returns the error for a command line that is not UTF-8. It names the arguments and the variables, which clap does not.
fn invalid_utf8_message(command: &Command, arguments: &[OsString]) -> String {
    let arguments = arguments.iter().skip(1).filter(|argument| argument.to_str().is_none());
    let variables = command.get_arguments().filter_map(|arg| {
        let value = env::var_os(arg.get_env()?).filter(|value| value.to_str().is_none())?;
        Some(format!("{}={value:?}", arg.get_env()?.display()))
    });
    let named: Vec<String> = arguments.map(|argument| format!("{argument:?}")).chain(variables).collect();
    format!("invalid UTF-8: {}", named.join(", "))
}

/// Returns `arguments` with a value such as `-3s` joined to its flag by `=`, so that clap's error is about
/// the value.
fn with_negative_values(arguments: impl IntoIterator<Item = OsString>, command: &Command) -> Vec<OsString> {
    let takes_value = |flag: &OsString| {
        let long = flag.to_str().and_then(|flag| flag.strip_prefix("--"));
        let arg = command.get_arguments().find(|arg| long.is_some() && arg.get_long() == long);
        arg.is_some_and(|arg| arg.get_action().takes_values())
    };
    let mut joined: Vec<OsString> = Vec::new();
    for argument in arguments {
        let is_negative = matches!(argument.as_encoded_bytes(), [b'-', b'0'..=b'9', ..]);
        match joined.last_mut().filter(|flag| is_negative && takes_value(flag)) {
            Some(flag) => flag.push(OsString::from_iter(["=".as_ref(), &*argument])),
            None => joined.push(argument),
        }
    }
    joined
}

/// Sets the rules for all flags. An empty variable counts as unset, since shells and CI set one to omit a
/// value. An argument such as `-3` is a value and not a flag, so that the error is about the number.
pub fn with_conventions(command: Command) -> Command {
    let is_empty = |arg: &Arg| arg.get_env().and_then(env::var_os).is_some_and(|value| value.is_empty());
    command
        .mut_args(|arg| {
            let takes_value = arg.get_action().takes_values();
            let arg = if is_empty(&arg) { arg.env(Resettable::Reset) } else { arg };
            arg.allow_negative_numbers(takes_value)
        })
        .mut_subcommands(with_conventions)
}

/// The program whose command line is read.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The name of its package, `/` and its own name.
    pub name: String,
    /// What people type to start it, such as `cargo bench --`.
    pub command: String,
    /// Its version and that of gpubench, such as `1.2.0 (gpubench 0.3.0)`.
    pub version: String,
    /// True for a bench target, which measures only if cargo's `--bench` is among its arguments.
    pub is_bench_target: bool,
    /// The action that another crate adds.
    pub extension: Option<Extension>,
}

impl Default for Caller {
    fn default() -> Self {
        let version = format!("(gpubench {})", env!("CARGO_PKG_VERSION"));
        let (name, command) = ("suite".to_owned(), "suite".to_owned());
        Self { name, command, version, is_bench_target: false, extension: None }
    }
}

impl Caller {
    /// Returns the command of the program for clap: its flags with their topics, those of the extension, and the notes of --help.
    pub fn to_command(&self) -> Command {
        let (mut topic, mut order) = (INSTEAD_TOPIC, 0..);
        let own = SuiteArgs::augment_args(Settings::augment_args(Command::new("suite"))).mut_args(|arg| {
            let id = arg.get_id().as_str();
            topic = HELP_TOPICS.iter().find(|(first, _)| *first == id).map_or(topic, |(_, topic)| topic);
            let is_short = SHORT_HELP_FLAGS.split(' ').any(|flag| flag == id);
            // Also the filters, which clap would put last.
            let arg = arg.display_order(order.next().unwrap_or_default());
            arg.help_heading(topic).hide_short_help(!is_short).hide_env(true)
        });
        let command = match self.extension {
            Some(extension) => (extension.add_flags)(own),
            None => own,
        };
        command
            .bin_name(self.command.clone())
            .display_name(self.name.clone())
            .version(self.version.clone())
            .after_long_help(HELP_NOTES)
    }
}

/// The text after the flags in --help, which `-h` leaves out.
const HELP_NOTES: &str = "\
A TIME has a unit, as in 500ms, or is in seconds (--warmup: a number without a unit counts launches). \
Flags that take lists can be repeated. `-` as a FILE is standard output.

A setting comes from the command line, else from the environment, else from gpubench.toml: the file that GPUBENCH_CONFIG names, or \
the first that is found in the package's folder and its parents. Its keys are flags, as in precision = \"1%\". Keys without a flag: \
equivalence-margin (smaller differences do not matter), no-wait (do not wait for a GPU that another benchmark is using), \
one-at-a-time (measure on one GPU after another), cache-dir (the folder of measured peaks; also GPUBENCH_CACHE_DIR), and sections [peaks.\"NVIDIA H200\"] with lines such as memory = \"4800GB/s\". \
Variables that set flags: GPUBENCH_DEVICE, \
GPUBENCH_FILTER, GPUBENCH_RUNS_DIR and GPUBENCH_SHARE. GPUBENCH_LIBCUDA and GPUBENCH_CUPTI are the paths of these libraries.

`cargo gpubench report` shows stored runs, and writes pages, JUnit and other formats.

Columns:
  time       the median time of a launch
  ± %        half of the median's 95 % interval, with timer errors; `?`: unknown, or 100 % or more
  % of peak  bandwidth and arithmetic in % of their peaks: the larger one, with the name of the peak
             `L2` or `cache` in place of a number: it served the data, faster than memory can
  spread     histogram: the middle bar within 0.2 % of the median, the next 1 %, 5 %, and more
  cold/hot   the cold time over the hot time
  ? ! [1]    `?` before a name: suspect; `!`: invalid; [1]: the reason, which is below the table

Exit codes, the first that applies:
  129, 130, 143  interrupted by a signal
  2              wrong usage
  5              the device is missing or busy
  4              nothing matched
  1              a benchmark failed or is invalid, or --fail-on-regression could not judge one
  3              a regression
  0              measured";

/// Makes the help fit a screen: one list of flags, without variables and possible values.
pub(super) fn short_help(command: Command) -> Command {
    command.mut_args(|arg| {
        let takes_value = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
        arg.hide_env(true).hide_possible_values(takes_value).help_heading(None)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::flag_hints::UNKNOWN_FLAG_HINTS;

    fn parsed(flags: &[&str]) -> Result<Options, String> {
        let words = ["suite"].iter().chain(flags).map(OsString::from);
        parse(words, &Caller::default()).map_err(|error| error.to_string())
    }

    #[test]
    fn flags_of_other_tools_are_answered_with_ours() {
        let hints = UNKNOWN_FLAG_HINTS.lines().filter_map(|line| line.split_once(": "));
        let flags = hints.flat_map(|(flags, hint)| flags.split(' ').map(move |flag| (flag, hint)));
        for (flag, hint) in flags.filter(|(flag, _)| flag.starts_with('-')) {
            let told = parsed(&[&format!("{flag}=1")]).expect_err("there is none");
            assert!(told.contains(flag) && told.contains(hint), "{told}");
            let here = hint
                .split_once("use --")
                .map_or("json", |(_, rest)| rest)
                .split(' ')
                .next()
                .unwrap_or_default();
            let here = here.trim_end_matches(',');
            let command = Caller::default().to_command();
            assert!(command.get_arguments().any(|arg| arg.get_long() == Some(here)), "--{here}");
        }
    }

    #[test]
    fn the_format_of_lists_has_no_effect_on_results() {
        let warning = |flags: &[&str]| parsed(flags).expect("they are flags").warning;
        assert!(warning(&["--format", "json"]).expect("a warning").contains("--json FILE"));
        for flags in [
            &["--format", "pretty"][..],
            &["--list", "--format", "json"],
            &["--test", "--format", "terse"],
            &[],
        ] {
            assert_eq!(warning(flags), None, "{flags:?}");
        }
    }

    /// `cargo test` ignores what only a measurement needs, such as a line of `gpubench.toml`. An explicit `--test` or `--list` with a
    /// baseline is refused.
    #[test]
    fn tests_and_lists_pass_over_what_only_a_measurement_needs() {
        let in_cargo_test = Caller { is_bench_target: true, ..Caller::default() };
        for flags in [["--verify", "cupti"], ["--fail-on-regression", "5%"]] {
            let words = ["suite"].iter().chain(&flags).map(OsString::from);
            let settings = parse(words, &in_cargo_test).expect("they are flags").settings;
            assert_eq!((settings.verify, settings.fail_on_regression), (None, None));
        }
        for task in ["--test", "--list"] {
            let verified = parsed(&[task, "--verify", "cupti"]).expect("they are flags");
            assert_eq!(verified.settings.verify, None);
            for result in
                [["--baseline", "main"], ["--save-baseline", "main"], ["--fail-on-regression", "5%"]]
            {
                let refused = parsed(&[&[task][..], &result].concat()).expect_err("nothing is measured");
                assert!(refused.contains("cannot be used with"), "{refused}");
            }
        }
        let measured = parsed(&["--fail-on-regression", "5%"]).expect_err("there is no baseline");
        assert!(measured.contains("--fail-on-regression needs --baseline"), "{measured}");
    }

    #[test]
    fn a_switch_can_be_turned_off() {
        assert_eq!(parsed(&["--quick=false"]).expect("a flag").settings.quick, Some(false));
        assert_eq!(parsed(&["--quick", "sum"]).expect("flags").settings.filter, ["sum"]);
    }
}

#[cfg(test)]
mod help_tests {
    use super::*;

    fn usual() -> Command {
        Caller::default().to_command()
    }

    #[test]
    fn short_help_is_a_selection_that_fits_a_screen() {
        usual().debug_assert();
        let text = short_help(usual()).term_width(80).render_help().to_string();
        assert!(text.lines().count() <= 40 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn long_help_has_all_flags_in_200_lines() {
        let text = usual().term_width(100).render_long_help().to_string();
        assert!(text.lines().count() <= 200, "{}", text.lines().count());
        let flags =
            usual().get_arguments().filter(|arg| !arg.is_hide_set() && arg.get_long().is_some()).count();
        assert!(flags <= 44, "{flags} flags, --help and --version among them");
        insta::assert_snapshot!(text);
    }
}
