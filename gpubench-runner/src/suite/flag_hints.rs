//! Hints for flags that a benchmark binary or another target of its package refuses: flags of other tools, flags that need a feature, and the
//! flags of `cargo bench -- FLAGS`, which cargo gives to every target.

use std::{ffi::OsString, fs, path::Path};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};
use toml::de::{DeTable, DeValue as Value};

use gpubench_records::text::did_you_mean;
use gpubench_stats::format::joined;

/// Hints for flags that need a feature, and for flags and commands of Criterion, divan, NVBench, hyperfine and cargo. Each line has the names
/// with spaces between them, then `: ` and the hint.
pub(super) const UNKNOWN_FLAG_HINTS: &str = "\
--tune --budget --save-tuning: races of variants need the feature `tune`: build with `--features gpubench/tune`, or add it to gpubench's features in Cargo.toml
--measurement-time: use --max-time
--warm-up-time -w: use --warmup
--sample-size --sample-count --min-samples --iterations --iters -n: use --samples
--min-runs --max-runs -r -m -M: use --samples N for exactly N launches a case, --runs N for N processes
--significance-level --confidence-level --nresamples: intervals are at 95 %, decisions at 99 %
--noise-threshold: set equivalence-margin in gpubench.toml; see --fail-on-regression
--noplot --plotting-backend: leave it out: nothing is drawn while measuring; `cargo gpubench report --html FILE` draws
--load-baseline: use `cargo gpubench compare`
--baseline-lenient: use --baseline
--discard-baseline: leave it out: only --save-baseline saves a baseline
--output-format --output -o --export-json --export-csv --export-markdown --jsonbin --md: use --json, --csv or --markdown
--profile-time --profile: use --in-process, for profilers
--items-count --bytes-count --chars-count --cycles-count: declare counts in the attribute: #[gpu_bench(bytes = …, items = …)]
--skip-ext-time: leave it out: making inputs is never timed
--timer --stopping-criterion: --path is how launches are timed, --precision ends the samples
--sort --sortr: results keep the order of the source; sort the lines of --csv FILE
--axis -a --parameter-list -L: use --arg
--peak --peaks: set peaks in gpubench.toml, under [peaks]; --measure-peaks measures them
--threads: if a benchmark has `args(threads = …)`: --arg threads=4
--benchmark --filter -k: leave it out: the name of a benchmark needs no flag
-b: give a benchmark's name without a flag, a baseline by --baseline
--devices --gpu -d -g: use --device
--max-noise: use --precision
--lock-gpu-clocks: use --lock-clocks
--throttle-threshold --throttle-recovery-delay: use --cool-down
--cold --hot: use --cache cold or --cache hot
--verbose -v: use --explain
--run-once: use --test
--list -l list: use `cargo bench -- --list`; --format json adds JSON
bench measure: use `cargo gpubench run`, or `cargo bench`
test: use `cargo test --benches`";

/// Returns `error` with another hint. For an unknown flag or command, the hint is ours if another tool has
/// that name, or else clap's guess if it is similar. For an invalid value that is not on the command line,
/// the hint is the variable that has it. For missing values and conflicts, it says what to give or leave out.
pub fn with_hint(mut error: clap::Error, command: &Command, arguments: &[OsString]) -> clap::Error {
    use ContextKind::{InvalidArg, InvalidSubcommand, Suggested, SuggestedArg, SuggestedSubcommand, Usage};
    let get = |kind| error.get(kind).map(ToString::to_string);
    let given = get(InvalidArg).or_else(|| get(InvalidSubcommand)).unwrap_or_default();
    let name = given.split(' ').next().unwrap_or_default();
    let flag = name
        .strip_prefix("--")
        .and_then(|long| command.get_arguments().find(|arg| arg.get_long() == Some(long)));
    let hint = match error.kind() {
        ErrorKind::UnknownArgument | ErrorKind::TooManyValues | ErrorKind::InvalidSubcommand => {
            let mut hints = UNKNOWN_FLAG_HINTS.lines().filter_map(|line| line.split_once(": "));
            let ours = hints.find(|(others, _)| others.split(' ').any(|other| other == given));
            let guess = get(SuggestedArg).or_else(|| get(SuggestedSubcommand));
            let hint = match (ours, flag) {
                (Some((_, hint)), _) => (*hint).to_owned(),
                (None, Some(flag)) if error.kind() == ErrorKind::UnknownArgument => {
                    let words = arguments.iter().map(|word| word.to_string_lossy());
                    let count =
                        if flag.get_action().takes_values() && !flag.is_require_equals_set() { 2 } else { 1 };
                    let typed = joined(words.skip_while(|word| !word.starts_with(name)).take(count), " ");
                    format!(
                        "{name} is a flag of benchmark binaries: `cargo bench -- {typed}`; `ab` and `verify` take it after `--`"
                    )
                }
                _ => did_you_mean(name, guess).replace(": ", ""),
            };
            // The usage is that of the guess.
            for kind in [Suggested, SuggestedArg, SuggestedSubcommand, Usage] {
                error.remove(kind);
            }
            Some(hint).filter(|hint| !hint.is_empty())
        }
        ErrorKind::MissingRequiredArgument if given.starts_with("--") => {
            error.remove(Usage);
            Some(format!("give {given} too"))
        }
        ErrorKind::ArgumentConflict => {
            let is_json = get(ContextKind::PriorArg).is_some_and(|prior| prior.contains("--json"));
            let list = if is_json { ", or print JSON by `--format json`" } else { "" };
            error.remove(Usage);
            Some(format!("leave out one of them{list}"))
        }
        // A missing value.
        ErrorKind::InvalidValue if get(ContextKind::InvalidValue).is_some_and(|value| value.is_empty()) => {
            let value = |flag: &Arg| Some(flag.get_value_names()?.first()?.to_string());
            flag.and_then(|flag| Some(format!("give {name} {}: {}", value(flag)?, flag.get_help()?)))
        }
        _ if arguments.iter().any(|given| given.to_string_lossy().starts_with(name)) => None,
        _ => flag
            .and_then(Arg::get_env)
            .map(|name| format!("the value comes from the environment variable {}", name.display())),
    };
    if let Some(hint) = hint {
        error.insert(Suggested, ContextValue::StyledStrs(vec![hint.into()]));
    }
    error
}

/// Returns true if `cargo bench` starts this `target` of a manifest with the standard test harness, which
/// refuses unknown flags: neither `bench` nor `harness` is false.
fn refuses_flags(target: &Value) -> bool {
    let is_off = |key| target.get(key).and_then(|value| value.get_ref().as_bool()) == Some(false);
    !is_off("bench") && !is_off("harness")
}

/// Returns a warning if the library or a binary of the package in `folder` would refuse flags; `None` if not, or if its manifest cannot be
/// read.
pub(super) fn bench_target_warning(folder: &Path) -> Option<String> {
    let text = fs::read_to_string(folder.join("Cargo.toml")).ok()?;
    let manifest = DeTable::parse(&text).ok()?.into_inner();
    let is_there = |file: &str| folder.join(file).is_file();
    let library = manifest.get("lib").map(|library| refuses_flags(library.get_ref()));
    let library = library.unwrap_or_else(|| is_there("src/lib.rs"));
    let binaries = manifest.get("bin").and_then(|all| all.get_ref().as_array());
    let binary = match binaries {
        Some(all) => all.iter().any(|binary| refuses_flags(binary.get_ref())),
        None => is_there("src/main.rs"),
    };
    let (target, section) = match (library, binary) {
        (true, _) => ("the library", "[lib]"),
        (false, true) => ("a binary", "[[bin]]"),
        (false, false) => return None,
    };
    Some(format!(
        "in this package, flags need the name of the bench target: `cargo bench --bench NAME -- FLAGS`. Without it cargo also gives the flags to \
         the test harness of {target}, which refuses them. Add `bench = false` below {section} in Cargo.toml to do without the name"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_that_would_refuse_flags_are_named() {
        let named = |manifest: &str, files: &[&str]| {
            let folder = tempfile::tempdir().expect("a folder");
            fs::create_dir(folder.path().join("src")).expect("it is empty");
            fs::write(folder.path().join("Cargo.toml"), manifest).expect("it can be written");
            files.iter().for_each(|file| fs::write(folder.path().join(file), "").expect("it can be written"));
            let warning = bench_target_warning(folder.path())?;
            ["[lib]", "[[bin]]"].into_iter().find(|section| warning.contains(section))
        };
        let bench = "[[bench]]\nname = \"kernels\"\nharness = false\n";
        let without = format!("[lib]\nbench = false\n{bench}");
        assert_eq!(named(bench, &[]), None);
        assert_eq!(named(bench, &["src/lib.rs"]), Some("[lib]"));
        assert_eq!(named(&without, &["src/lib.rs"]), None);
        assert_eq!(named(&without, &["src/lib.rs", "src/main.rs"]), Some("[[bin]]"));
        let binaries = "[lib]\nharness = false\n[[bin]]\nname = \"a\"\nbench = false\n";
        assert_eq!(named(binaries, &["src/lib.rs", "src/main.rs"]), None);
        assert_eq!(named(&format!("{binaries}[[bin]]\nname = \"b\"\n"), &[]), Some("[[bin]]"));
    }
}
