//! Both help texts and the version, from the table of flags. In: the program. Out: a command with
//! the table, or the text.

use clap::{Arg, ArgAction, Command, CommandFactory};

use super::args::{Args, INSTEAD};

/// The program whose command line it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Its name, with its package's before it.
    pub name: String,
    /// Its version, and that of gpubench.
    pub version: String,
    /// True for a bench target, which measures only if cargo's `--bench` is among its arguments.
    pub is_bench_target: bool,
}

impl Default for Caller {
    fn default() -> Self {
        let version = format!("(gpubench {})", env!("CARGO_PKG_VERSION"));
        Self { name: "suite".to_owned(), version, is_bench_target: false }
    }
}

/// The flags that `-h` shows, by their ids; `--help` shows all.
const SHORT_HELP: [&str; 18] = [
    "filters",
    "skip",
    "args",
    "cache",
    "device",
    "quick",
    "precision",
    "max_time",
    "compare_with",
    "save_baseline",
    "baseline",
    "explain",
    "from",
    "resume",
    "list",
    "test",
    "help",
    "version",
];

const EXAMPLES: &str = "\
Examples:
  suite sum --quick                    a rough look at cases named `sum`
  suite --arg n=1Mi,16Mi --cache cold  other sizes, cold caches alone
  suite --json run.json --html run.html
  suite --save-baseline main           keep these times, and later:
  suite --baseline main --fail-on-regression 5%
  cargo bench --bench NAME -- --quick  the same through cargo
";

const ALL_FLAGS: &str = "--help shows all flags, by topic, and the exit codes.";

const NOTES: &str = "\
A setting comes from the command line, else from the environment, else from the file of settings, else it is the default; \
--show-config shows which. In gpubench.toml a setting is called as its flag: precision = \"1%\", quick = true, skip = [\"slow\"]. \
An empty variable counts as unset. If a flag is given twice, the last value counts; lists add up. --quick=false takes back what a \
variable or the file says. A TIME is in seconds, or has a unit, as in 500ms.

Results go to standard output, progress and warnings to standard error. The FILE `-` is standard output, which then carries nothing \
else. Flags of libtest that have no meaning here are accepted, and change nothing.

Exit codes: 0 all measured (suspect rows included), 1 a benchmark failed or is invalid, or cannot be judged by --fail-on-regression, \
2 usage, 3 a regression, 4 nothing matched, 5 the requested device is missing or, with --no-wait, busy, 129/130/143 interrupted by \
SIGHUP, Ctrl-C or SIGTERM, after a report of the measured cases.";

/// The table of flags as the command of a program.
pub(super) fn command(caller: &Caller) -> Command {
    let flag = |name: &'static str, short, action, help: &'static str| {
        Arg::new(name).long(name).short(short).action(action).help(help).help_heading(INSTEAD)
    };
    Args::command()
        .display_name(caller.name.clone())
        .version(caller.version.clone())
        .arg(flag("version", 'V', ArgAction::Version, "Print the version"))
        .arg(flag("help", 'h', ArgAction::Help, "Print this help; --help prints all of it"))
        .after_help(format!("{EXAMPLES}\n{ALL_FLAGS}"))
        .after_long_help(format!("{EXAMPLES}\n{NOTES}"))
}

/// The same for `-h`: one screen, one list.
pub(super) fn short(caller: &Caller) -> Command {
    command(caller).mut_args(|arg| {
        let is_shown = SHORT_HELP.contains(&arg.get_id().as_str());
        let takes_value = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
        let arg = arg.hide_short_help(!is_shown).hide_env(true).help_heading(None);
        if takes_value { arg.hide_possible_values(true) } else { arg }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_of_short_help_is_in_the_table() {
        let command = command(&Caller::default());
        for id in SHORT_HELP {
            assert!(command.get_arguments().any(|arg| arg.get_id() == id), "{id}");
        }
    }

    #[test]
    fn short_help_is_one_screen() {
        let text = short(&Caller::default()).term_width(80).render_help().to_string();
        assert!(text.lines().count() <= 40 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn long_help_is_ordered_by_topic() {
        let text = command(&Caller::default()).term_width(100).render_long_help().to_string();
        insta::assert_snapshot!(text);
    }
}
