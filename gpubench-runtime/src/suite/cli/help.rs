//! Both help texts and the version.

use clap::{Arg, ArgAction, Command, CommandFactory};

use super::super::extension::Extension;
use super::{Args, INSTEAD};

/// The program whose command line it is.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Its name, after that of its package.
    pub name: String,
    /// What people type to start it, such as `cargo bench --`.
    pub command: String,
    /// Its version, and that of gpubench.
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

const NOTES: &str = "\
A TIME has a unit, as in 500ms, or is in seconds. Flags that take lists can be repeated. `-` as a FILE is standard output.

A setting comes from the command line, else from its variable, else from gpubench.toml, the nearest at or above the package or the \
current folder, or the file that GPUBENCH_CONFIG names. There it has the name of its flag, as in precision = \"1%\". Settings \
without a flag: equivalence-margin, no-wait, one-at-a-time, history, cache-dir (GPUBENCH_CACHE_DIR), and sections \
[peaks.\"NVIDIA H200\"] with lines such as memory = \"4800GB/s\". GPUBENCH_LIBCUDA and GPUBENCH_CUPTI name libraries.

`cargo gpubench report` shows stored runs, and writes pages, JUnit and other formats.

Exit codes: 0 measured, 1 a benchmark failed or is invalid or cannot be judged, 2 usage, 3 a regression, 4 nothing matched, 5 the \
device is missing or busy, 129, 130 or 143 interrupted.";

/// Returns the flags as the command of the program.
pub(super) fn command(caller: &Caller) -> Command {
    let flag = |name: &'static str, short, action, help: &'static str| {
        Arg::new(name).long(name).short(short).action(action).help(help).help_heading(INSTEAD)
    };
    let command = match caller.extension {
        Some(extension) => (extension.add_flags)(Args::command()),
        None => Args::command(),
    };
    command
        .name("suite")
        .bin_name(caller.command.clone())
        .display_name(caller.name.clone())
        .version(caller.version.clone())
        .arg(flag("version", 'V', ArgAction::Version, "Print the version"))
        .arg(flag("help", 'h', ArgAction::Help, "Print help; --help describes all flags"))
        .after_help("--help describes all flags.")
        .after_long_help(NOTES)
}

/// Makes the help fit a screen: one list of flags, without variables and possible values.
pub(super) fn short(command: Command) -> Command {
    command.mut_args(|arg| {
        let takes_value = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
        arg.hide_env(true).hide_possible_values(takes_value).help_heading(None)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usual() -> Command {
        command(&Caller::default())
    }

    #[test]
    fn short_help_is_a_selection_that_fits_a_screen() {
        usual().debug_assert();
        let text = short(usual()).term_width(80).render_help().to_string();
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
