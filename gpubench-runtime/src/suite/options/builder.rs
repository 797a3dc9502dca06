//! Methods that set [`MeasureOptions`], one for each flag. In: a value of the program's own types. Out: the options.

use std::path::PathBuf;
use std::time::Duration;

use super::{MeasureOptions, RunsDir, ShareChoice};
use crate::device::ClockTarget;
use crate::plan::Ignored;
use crate::suite::cli;
use crate::suite::program_error::Error;
use gpubench_records::comparison::Threshold;
use gpubench_records::facts::Peak;
use gpubench_records::id::{Arg, BenchmarkId};
use gpubench_records::method::{Cache, Flush, Path};
use gpubench_records::selection::NameFilter;
use gpubench_stats::units::Nanoseconds;

/// The selection of cases.
impl MeasureOptions {
    /// Reads the options from the environment twins of the flags, such as `GPUBENCH_PRECISION`, and from the user's file of settings
    /// behind them.
    ///
    /// # Errors
    /// Returns an error if a variable or a setting has a value that its flag would not take, or a variable asks for something else
    /// than a measurement, as `GPUBENCH_LIST` does.
    pub fn from_env() -> Result<Self, Error> {
        Ok(cli::from_env()?)
    }

    /// Drops the selection of cases made so far, such as that of the environment: every benchmark is measured.
    #[must_use]
    pub fn all_cases(mut self) -> Self {
        self.selection = Default::default();
        self
    }

    /// Measures cases whose name contains `part`, beside those selected so far.
    #[must_use]
    pub fn filter(mut self, part: impl Into<String>) -> Self {
        self.selection.cases.filters.push(NameFilter::Text(part.into()));
        self
    }

    /// Measures the case of this whole name, beside those selected so far. Filters and skips are then whole names.
    #[must_use]
    pub fn exact(mut self, name: impl Into<String>) -> Self {
        self.selection.cases.exact = true;
        self.filter(name)
    }

    /// Leaves out cases whose name contains `part`.
    #[must_use]
    pub fn skip(mut self, part: impl Into<String>) -> Self {
        self.selection.cases.skip.push(NameFilter::Text(part.into()));
        self
    }

    /// Measures only benchmarks that have this tag, or one given before.
    #[must_use]
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.selection.tags.push(tag.into());
        self
    }

    /// Measures benchmarks that are marked `ignore` too.
    #[must_use]
    pub fn include_ignored(mut self) -> Self {
        self.selection.ignored = Ignored::Included;
        self
    }

    /// Adds values of an argument, in place of those that the benchmark lists. Of a type or a constant, chooses among
    /// those that it lists.
    #[must_use]
    pub fn arg<V: ToString>(mut self, name: impl Into<String>, values: impl IntoIterator<Item = V>) -> Self {
        let values = values.into_iter().map(|value| value.to_string());
        self.selection.cases.args.entry(name.into()).or_default().extend(values);
        self
    }

    /// Measures this cache state, whatever the benchmark asks for.
    #[must_use]
    pub fn cache(self, cache: Cache) -> Self {
        self.caches([cache])
    }

    /// Measures these cache states in this order, whatever the benchmark asks for.
    #[must_use]
    pub fn caches(mut self, caches: impl IntoIterator<Item = Cache>) -> Self {
        self.selection.cases.caches = Some(caches.into_iter().collect());
        self
    }

    /// Measures on these devices, in the words of `--device`: `0`, `0,2`, a UUID, `host` or `all`.
    #[must_use]
    pub fn device(mut self, device: impl Into<String>) -> Self {
        self.device = Some(device.into());
        self
    }
}

/// The sampling of cases.
impl MeasureOptions {
    /// Takes a rough look: warm-ups of at most 25 ms, at most 50 ms of sampling a case, or 0.3 s where six samples take that long, no
    /// energy. Other settings of sampling go before that, in any order.
    #[must_use]
    pub fn quick(mut self) -> Self {
        self.sampling.quick = true;
        self
    }

    /// Samples until the relative half-width of the median's 95 % confidence interval is at most this fraction.
    #[must_use]
    pub fn precision(mut self, fraction: f64) -> Self {
        self.sampling.precision = Some(fraction);
        self
    }

    /// Takes exactly this number of samples of each case.
    #[must_use]
    pub fn samples(mut self, samples: usize) -> Self {
        self.sampling.samples = Some(samples);
        self
    }

    /// Warms a case up at least this long.
    #[must_use]
    pub fn warm_up(mut self, time: impl Into<Nanoseconds>) -> Self {
        self.sampling.warm_up = Some(time.into());
        self
    }

    /// Warms a case up with exactly this number of launches.
    #[must_use]
    pub fn warm_up_launches(mut self, launches: usize) -> Self {
        self.sampling.warm_up_launches = Some(launches);
        self
    }

    /// Samples a case at least this long.
    #[must_use]
    pub fn min_time(mut self, time: impl Into<Nanoseconds>) -> Self {
        self.sampling.min_time = Some(time.into());
        self
    }

    /// Samples a case at most this long.
    #[must_use]
    pub fn max_time(mut self, time: impl Into<Nanoseconds>) -> Self {
        self.sampling.max_time = Some(time.into());
        self
    }

    /// Empties the last-level cache in this way before cold samples.
    #[must_use]
    pub fn flush(mut self, flush: Flush) -> Self {
        self.sampling.flush = Some(flush);
        self
    }

    /// Times samples on this path.
    #[must_use]
    pub fn path(mut self, path: Path) -> Self {
        self.sampling.path = Some(path);
        self
    }

    /// Checks each time by CUPTI's trace of launches behind its samples.
    #[must_use]
    pub fn verify_by_cupti(mut self) -> Self {
        self.verifiers.cupti = true;
        self
    }

    /// Counts what the launches of each case move and compute, by Nsight Compute, before the samples.
    #[must_use]
    pub fn verify_by_ncu(mut self) -> Self {
        self.verifiers.ncu = true;
        self
    }

    /// Opens this library for CUPTI, rather than the first in the usual places.
    #[must_use]
    pub fn cupti(mut self, library: impl Into<PathBuf>) -> Self {
        self.cupti = Some(library.into());
        self
    }

    /// Measures the energy of launches or leaves it out, whatever benchmarks ask for.
    #[must_use]
    pub fn energy(mut self, energy: bool) -> Self {
        self.sampling.energy = Some(energy);
        self
    }
}

/// Comparisons.
impl MeasureOptions {
    /// Compares every selected case with this benchmark, with the same arguments.
    #[must_use]
    pub fn compare_with(mut self, benchmark: impl Into<String>) -> Self {
        self.selection.compare_with = Some(BenchmarkId { benchmark: benchmark.into(), args: Vec::new() });
        self
    }

    /// Gives the benchmark of [`compare_with`](Self::compare_with) an argument in which it differs.
    #[must_use]
    pub fn compare_with_arg(mut self, name: impl Into<String>, value: impl ToString) -> Self {
        let arg = Arg { name: name.into(), value: value.to_string() };
        let none = || BenchmarkId { benchmark: String::new(), args: Vec::new() };
        self.selection.compare_with.get_or_insert_with(none).args.push(arg);
        self
    }

    /// Takes a difference of two times up to this fraction for none.
    #[must_use]
    pub fn band(mut self, fraction: f64) -> Self {
        self.sampling.band = Some(fraction);
        self
    }

    /// Measures everything this number of times, each time in a new process.
    #[must_use]
    pub fn runs(mut self, runs: usize) -> Self {
        self.runs = Some(runs);
        self
    }

    /// Compares the run with the baseline of this name, or in this file.
    #[must_use]
    pub fn baseline(mut self, name: impl Into<String>) -> Self {
        self.baseline = Some(name.into());
        self
    }

    /// Stores the run as the baseline of this name, or in this file.
    #[must_use]
    pub fn save_baseline(mut self, name: impl Into<String>) -> Self {
        self.save_baseline = Some(name.into());
        self
    }

    /// Counts cases that are slower by this much as [regressions](gpubench_records::record::Run::regressions).
    #[must_use]
    pub fn fail_on_regression(mut self, threshold: Threshold) -> Self {
        self.threshold = Some(threshold);
        self
    }
}

/// The devices' limits, and the run.
impl MeasureOptions {
    /// Gives every device this peak, in place of one of the same quantity given before.
    #[must_use]
    pub fn peak(mut self, peak: Peak) -> Self {
        self.peaks.retain(|other| other.quantity != peak.quantity);
        self.peaks.push(peak);
        self
    }

    /// Reads the user's peaks from this file, rather than from the nearest `gpubench.toml`. Its settings are those of a command line,
    /// and not read.
    #[must_use]
    pub fn config(mut self, file: impl Into<PathBuf>) -> Self {
        self.config = Some(file.into());
        self
    }

    /// Reads measured ceilings from this folder, rather than from the user's cache.
    #[must_use]
    pub fn cache_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cache_dir = Some(folder.into());
        self
    }

    /// Locks the clock of the GPUs' multiprocessors for the run.
    #[must_use]
    pub fn lock_clocks(mut self, target: ClockTarget) -> Self {
        self.lock_clocks = Some(target);
        self
    }

    /// Limits the wall time of each case.
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(limit);
        self
    }

    /// Refuses a GPU that another suite is measuring, rather than wait for it.
    #[must_use]
    pub fn no_wait(mut self) -> Self {
        self.no_wait = true;
        self
    }

    /// Measures one case at a time on all devices together, rather than those that share nothing side by side.
    #[must_use]
    pub fn one_at_a_time(mut self) -> Self {
        self.one_at_a_time = true;
        self
    }

    /// Measures in this process, for debuggers: a crash ends the program.
    #[must_use]
    pub fn in_process(mut self) -> Self {
        self.in_process = true;
        self
    }

    /// Resumes a run that ended early, by its name; `last` is the last one of this program.
    #[must_use]
    pub fn resume(mut self, run: impl Into<String>) -> Self {
        self.resume = Some(run.into());
        self
    }

    /// Stores the run in this folder while it is measured.
    #[must_use]
    pub fn runs_dir(mut self, folder: RunsDir) -> Self {
        self.runs_dir = folder;
        self
    }

    /// Adds the run to the history in this folder, under the commit that the program was built from.
    #[must_use]
    pub fn history(mut self, folder: impl Into<PathBuf>) -> Self {
        self.history = Some(folder.into());
        self
    }

    /// Measures this share of the cases. If it is empty, so is the run.
    #[must_use]
    pub fn share(mut self, share: ShareChoice) -> Self {
        self.share = share;
        self
    }

    /// Balances shares by the times of this stored run, which must be the same for all tasks.
    #[must_use]
    pub fn share_times(mut self, run: impl Into<String>) -> Self {
        self.share_times = Some(run.into());
        self
    }
}
