//! Flags without effect: beside `--from`, which shows a stored run and measures nothing, and in test mode. In: the command line. Out:
//! an error, or a warning that names them. An environment variable or a setting of the file is no mistake there: it may be set for
//! all runs.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

use super::args::{Args, INSTEAD, METHOD, PEAKS, TextFormat};
use crate::suite::options::OptionsError;

/// Flags under other headings than those of [`measures`] that have no effect on a stored run.
const NOT_STORED: [&str; 9] =
    ["compare_with", "band", "runs", "resume", "runs_dir", "history", "share", "budget", "save_tuning"];

/// What test mode obeys.
const TESTED: [&str; 16] = [
    "filters",
    "exact",
    "skip",
    "tag",
    "ignored",
    "include_ignored",
    "args",
    "device",
    "share",
    "share_times",
    "timeout",
    "in_process",
    "color",
    "quiet",
    "width",
    "config",
];

/// Refuses `--from` beside a flag that it would ignore.
pub(super) fn refuse_beside_stored_run(
    command: &Command,
    matches: &ArgMatches,
    args: &Args,
) -> Result<(), OptionsError> {
    if args.stored.from.is_none() {
        return Ok(());
    }
    let is_ignored = |arg: &&Arg| {
        let id = arg.get_id().as_str();
        measures(arg) || (is_action(arg) && id != "from") || NOT_STORED.contains(&id) || id == "share_times"
    };
    match given(command, matches).find(is_ignored).and_then(Arg::get_long) {
        Some(flag) => Err(OptionsError::BesideStoredRun { flag: flag.to_owned() }),
        None => Ok(()),
    }
}

/// Refuses a flag of races without any. A variable or a setting may be there for the next one.
pub(super) fn refuse_without_races(
    command: &Command,
    matches: &ArgMatches,
    args: &Args,
) -> Result<(), OptionsError> {
    let is_of_races = |arg: &&Arg| ["budget", "save_tuning"].contains(&arg.get_id().as_str());
    let lone = given(command, matches).find(is_of_races).filter(|_| !args.tuning.tune);
    match lone.and_then(Arg::get_long) {
        Some(flag) => Err(OptionsError::WithoutRaces { flag: flag.to_owned() }),
        None => Ok(()),
    }
}

/// Returns a warning that names the given flags that test mode ignores.
pub(super) fn ignored_in_test_mode(command: &Command, matches: &ArgMatches) -> Option<String> {
    let is_ignored = |arg: &&Arg| {
        let id = arg.get_id().as_str();
        !arg.is_hide_set() && !is_action(arg) && !TESTED.contains(&id) && id != "profile"
    };
    let flags = given(command, matches).filter(is_ignored).filter_map(Arg::get_long);
    let flags: Vec<String> = flags.map(|flag| format!("--{flag}")).collect();
    let (last, others) = flags.split_last()?;
    let (named, verb) = match others {
        [] => (last.clone(), "has"),
        _ => (format!("{} and {last}", others.join(", ")), "have"),
    };
    Some(format!("test mode launches each case once and times nothing: {named} {verb} no effect"))
}

/// Returns a warning if the format of lists is given where results are printed. `pretty` asks for nothing else.
pub(super) fn format_of_results(command: &Command, matches: &ArgMatches, args: &Args) -> Option<String> {
    let is_given = given(command, matches).any(|arg| arg.get_id() == "format");
    (is_given && args.actions.format != TextFormat::Pretty).then(|| {
        "--format is the format of --list and --test: --json FILE and --junit FILE write results".to_owned()
    })
}

/// Returns the flags on the command line.
fn given<'a>(command: &'a Command, matches: &'a ArgMatches) -> impl Iterator<Item = &'a Arg> {
    let is_given = |arg: &&Arg| {
        let id = arg.get_id().as_str();
        matches.try_contains_id(id).is_ok() && matches.value_source(id) == Some(ValueSource::CommandLine)
    };
    command.get_arguments().filter(is_given)
}

/// True for a flag that says how to measure.
fn measures(arg: &Arg) -> bool {
    [Some(METHOD), Some(PEAKS)].contains(&arg.get_help_heading())
}

/// True for a flag that says what to do.
pub(super) fn is_action(arg: &Arg) -> bool {
    arg.get_help_heading() == Some(INSTEAD)
        || ["from", "measure_peaks", "tune"].contains(&arg.get_id().as_str())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use crate::suite::cli::{Action, Caller, parse};

    fn beside(flags: &[&str]) -> Result<Action, String> {
        let words = ["suite", "--from", "run.json"].iter().chain(flags).map(OsString::from);
        parse(words, &Caller::default()).map(|options| options.action).map_err(|error| error.to_string())
    }

    #[test]
    fn a_format_of_lists_is_told_where_results_are_printed() {
        let warnings = |flags: &[&str]| {
            let words = ["suite"].iter().chain(flags).map(OsString::from);
            parse(words, &Caller::default()).expect("they are flags").warnings
        };
        assert!(warnings(&["--format", "json"])[0].contains("--json FILE"));
        for flags in [
            &["--format", "pretty"][..],
            &["--list", "--format", "json"],
            &["--test", "--format", "terse"],
            &[],
        ] {
            assert_eq!(warnings(flags), [""; 0], "{flags:?}");
        }
    }

    #[test]
    fn flags_that_a_stored_run_would_ignore_are_refused_by_name() {
        for flags in [
            &["--test"][..],
            &["--list"],
            &["--resume"],
            &["--runs", "3"],
            &["--samples", "30"],
            &["--quick"],
            &["--compare-with", "sum"],
            &["--measure-peaks"],
            &["--precision", "1%"],
            &["--path", "stream"],
            &["--runs-dir", "none"],
            &["--share", "3/8"],
            &["--in-process"],
            &["--timeout", "3"],
            &["--peak", "memory=1GB/s"],
        ] {
            let refused = beside(flags).expect_err("it has no effect");
            let expected =
                format!("error: --from and {}: --from shows a stored run and measures nothing", flags[0]);
            assert!(refused.starts_with(&expected), "{refused}");
        }
    }

    #[test]
    fn flags_that_select_compare_and_write_stand_beside_a_stored_run() {
        for flags in [
            &["sum", "--exact", "--skip", "x", "--tag", "slow", "--cache", "cold", "--arg", "n=1"][..],
            &["--device", "host", "--baseline", "then", "--fail-on-regression", "5%"],
            &["--save-baseline", "now", "--explain", "--json", "-", "--color", "never"],
            &["--fail-on-regression", "5%"],
        ] {
            assert!(matches!(beside(flags), Ok(Action::Report(_))), "{flags:?}: {:?}", beside(flags));
        }
    }
}
