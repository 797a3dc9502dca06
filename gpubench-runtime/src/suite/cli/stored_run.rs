//! Flags beside `--from`, which shows a stored run and measures nothing. In: the command line. Out: an error for a
//! flag that would have no effect. An environment variable is no mistake there: it may be set for all runs.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, CommandFactory};

use super::args::Args;
use crate::suite::options::OptionsError;

/// The heading of flags that say how to measure.
const MEASURING: &str = "How to measure";

/// Flags under other headings that have no effect on a stored run.
const OTHERS: [&str; 9] =
    ["test", "list", "compare_with", "band", "runs", "resume", "runs_dir", "share", "share_times"];

/// Refuses `--from` beside a flag that it would ignore.
pub(super) fn refuse_other_flags(matches: &ArgMatches, args: &Args) -> Result<(), OptionsError> {
    if args.from.is_none() {
        return Ok(());
    }
    let command = Args::command();
    let ignored = |arg: &&Arg| {
        let id = arg.get_id().as_str();
        let measures = arg.get_help_heading() == Some(MEASURING) || OTHERS.contains(&id);
        measures && matches.value_source(id) == Some(ValueSource::CommandLine)
    };
    match command.get_arguments().find(ignored).and_then(Arg::get_long) {
        Some(flag) => Err(OptionsError::BesideStoredRun { flag: flag.to_owned() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use crate::suite::cli::{Action, parse};

    fn beside(flags: &[&str]) -> Result<Action, String> {
        let words = ["suite", "--from", "run.json"].iter().chain(flags).map(OsString::from);
        parse(words, false).map(|options| options.action).map_err(|error| error.to_string())
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
