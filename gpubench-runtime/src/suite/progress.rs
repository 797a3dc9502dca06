//! The progress of a run on standard error, with its warnings. In: the events of the run. Out: one line that moves, if
//! standard error is a terminal; else a line now and then; and of several runs a line for each.

use std::fmt::Debug;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::messages::{remark, warn};
use crate::plan::{Job, Plan};
use crate::runner::RunEvents;
use gpubench_records::failure::Step;
use gpubench_records::record::{Record, Run};
use gpubench_records::text::printable;
use gpubench_stats::format;

/// The time between two lines where nobody sees a line move.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// Shows the progress of a run on standard error, with its warnings, as suites do: the current case with its samples and
/// interval so far, and the number of cases done.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    mode: Mode,
    messages: Box<dyn Messages>,
    /// True if jobs on several devices are in progress together.
    several_devices: bool,
    repeats: Repeats,
    /// True once cases are measured again.
    is_again: bool,
}

/// The runs of a repeated measurement.
#[derive(Clone, Copy, Debug, Default)]
struct Repeats {
    runs: usize,
    /// The number of cases of each.
    cases: usize,
    /// The number of cases that are done, of all runs.
    done: usize,
}

impl Repeats {
    /// Counts a case. Returns the number of the run that ends with it, if there are several.
    fn count(&mut self) -> Option<usize> {
        self.done += 1;
        let ends = self.cases > 0 && self.done.is_multiple_of(self.cases);
        (self.runs > 1 && ends).then(|| self.done / self.cases)
    }
}

/// The clock, and the place of messages.
trait Messages: Debug + Send {
    fn now(&self) -> Instant;
    fn warn(&self, warning: &str);
    fn remark(&self, remark: &str);
}

/// The machine's clock, and standard error.
#[derive(Debug)]
struct StandardError;

impl Messages for StandardError {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn warn(&self, warning: &str) {
        warn(warning);
    }

    fn remark(&self, text: &str) {
        remark(text);
    }
}

/// The way in which progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// A line that moves.
    Bar,
    /// A line every ten seconds, the last one at this time.
    Lines(Instant),
    /// Not at all.
    Quiet,
}

impl Default for Progress {
    fn default() -> Self {
        Self::new(if io::stderr().is_terminal() { Mode::Bar } else { Mode::Lines(Instant::now()) })
    }
}

impl Progress {
    /// Shows warnings and no progress.
    #[must_use]
    pub fn quiet() -> Self {
        Self::new(Mode::Quiet)
    }

    fn new(mode: Mode) -> Self {
        Self::with(mode, Box::new(StandardError))
    }

    fn with(mode: Mode, messages: Box<dyn Messages>) -> Self {
        let (bar, repeats) = (ProgressBar::hidden(), Repeats::default());
        Self { bar, mode, messages, several_devices: false, repeats, is_again: false }
    }

    /// Returns a progress that counts up to `total` of `what`, such as benchmarks.
    #[must_use]
    pub(super) fn over(total: usize, what: &str) -> Self {
        let mut progress = Self::default();
        progress.begin(total, what);
        progress
    }

    fn begin(&mut self, total: usize, what: &str) {
        self.bar = match self.mode {
            Mode::Bar => ProgressBar::new(total as u64),
            Mode::Lines(_) | Mode::Quiet => {
                let bar = ProgressBar::hidden();
                bar.set_length(total as u64);
                bar
            }
        };
        // A mistake in the template would leave the plain style.
        if let Ok(style) = ProgressStyle::with_template(&format!(
            "{{bar:16}} {{pos}}/{{len}} {what} {{elapsed}}  {{wide_msg}}"
        )) {
            self.bar.set_style(style);
        }
    }

    /// Counts measurements, of which nobody knows how many there will be.
    pub(super) fn begin_uncounted(&mut self) {
        if self.mode == Mode::Bar {
            self.bar = ProgressBar::new_spinner();
        }
        if let Ok(style) = ProgressStyle::with_template("{spinner} {pos} measurements {elapsed}  {wide_msg}")
        {
            self.bar.set_style(style);
        }
    }

    /// Shows a job that ends without a record, and counts it.
    pub(super) fn try_job(&mut self, job: &Job) {
        self.job_started(job);
        self.bar.inc(1);
    }

    /// Hides the line while `print` prints something else.
    pub(super) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// The name of a job, with its device if there are several.
    fn name(&self, job: &Job) -> String {
        let on = if self.several_devices { format!(" on {}", job.device) } else { String::new() };
        printable(&format!("{job}{on}"))
    }

    /// Shows the activity.
    fn show(&mut self, activity: String) {
        let now = self.messages.now();
        if let Mode::Lines(last) = self.mode
            && now.saturating_duration_since(last) >= BETWEEN_LINES
        {
            let done = self.bar.position();
            let done = match self.bar.length() {
                Some(all) if all > 0 => format!("{done} of {all} done"),
                _ => format::counted(done as usize, "measurement"),
            };
            self.messages.remark(&format!("{done}: {activity}"));
            self.mode = Mode::Lines(now);
        }
        self.bar.set_message(activity);
    }
}

impl RunEvents for Progress {
    fn planned(&mut self, plan: &Plan, runs: usize) {
        self.begin(plan.cases() * runs, "cases");
        let mut devices = plan.jobs.iter().map(|(job, _)| &job.device);
        self.several_devices = devices.next().is_some_and(|first| devices.any(|device| device != first));
        self.repeats = Repeats { runs, cases: plan.cases(), done: 0 };
    }

    fn devices_opening(&mut self) {
        self.show("measuring the device's peaks".to_owned());
    }

    fn run_started(&mut self, _: &Run, resumed: &[&Record]) {
        self.bar.inc(resumed.len() as u64);
    }

    fn job_started(&mut self, job: &Job) {
        self.show(self.name(job));
    }

    fn step_reached(&mut self, job: &Job, step: Step) {
        self.show(format!("{step}: {}", self.name(job)));
    }

    fn interval_narrowed(&mut self, job: &Job, samples: usize, half_width: f64) {
        let samples = format::counted(samples, "sample");
        self.show(format!("{samples}, {}: {}", format::plus_minus(half_width), self.name(job)));
    }

    fn record_finished(&mut self, _: &Record) {
        self.bar.inc(1);
        if let (Some(run), false) = (self.repeats.count(), self.mode == Mode::Quiet) {
            let all = self.repeats.runs;
            self.aside(|| self.messages.remark(&format!("run {run} of {all} is done")));
        }
    }

    fn measured_again(&mut self, plan: &Plan) {
        self.bar.inc_length(plan.cases() as u64);
        self.repeats = Repeats::default();
        if !self.is_again && self.mode != Mode::Quiet {
            let (cases, seem) = (plan.cases(), if plan.cases() == 1 { "seems" } else { "seem" });
            let cases = format::counted(cases, "case");
            let told = format!("measuring {cases} again, which {seem} slower than the baseline");
            self.aside(|| self.messages.remark(&told));
        }
        self.is_again = true;
    }

    fn run_ended(&mut self, _: &Run) {
        self.bar.finish_and_clear();
    }

    fn ceilings_stored(&mut self, file: &Path) {
        self.aside(|| self.messages.remark(&format!("kept for later runs in {}", file.display())));
    }

    fn warning(&mut self, warning: &str) {
        self.aside(|| self.messages.warn(warning));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, MutexGuard};

    use super::*;
    use crate::plan::{JobStatus, SharedResource};
    use gpubench_records::failure::{Failure, Stage};
    use gpubench_records::method::Cache;

    /// A clock that is set, and the lines that were written.
    #[derive(Clone, Debug)]
    struct Recorded(Arc<Mutex<(Instant, Vec<String>)>>);

    impl Recorded {
        fn new() -> Self {
            Self(Arc::new(Mutex::new((Instant::now(), Vec::new()))))
        }

        fn lock(&self) -> MutexGuard<'_, (Instant, Vec<String>)> {
            self.0.lock().expect("nobody panics with it")
        }

        fn pass(&self, seconds: u64) {
            self.lock().0 += Duration::from_secs(seconds);
        }

        /// The lines since this was last called.
        fn lines(&self) -> Vec<String> {
            std::mem::take(&mut self.lock().1)
        }
    }

    impl Messages for Recorded {
        fn now(&self) -> Instant {
            self.lock().0
        }

        fn warn(&self, warning: &str) {
            self.lock().1.push(format!("warning: {warning}"));
        }

        fn remark(&self, remark: &str) {
            self.lock().1.push(remark.to_owned());
        }
    }

    fn job(benchmark: &str) -> Job {
        Job {
            benchmark: benchmark.to_owned(),
            args: Vec::new(),
            device: "host".to_owned(),
            caches: vec![Cache::Hot, Cache::Cold],
            timeout: None,
            with: None,
            shares: SharedResource::Nothing,
        }
    }

    fn plan(benchmarks: &[&str]) -> Plan {
        let jobs = benchmarks.iter().map(|benchmark| (job(benchmark), JobStatus::Measured)).collect();
        Plan { jobs, ..Plan::default() }
    }

    /// Measures both cases of a job, which take four seconds each.
    fn measure(progress: &mut Progress, recorded: &Recorded, benchmark: &str) {
        progress.job_started(&job(benchmark));
        for cache in [Cache::Hot, Cache::Cold] {
            progress.step_reached(&job(benchmark), Step::WarmUp(0));
            recorded.pass(2);
            progress.interval_narrowed(&job(benchmark), 64, 0.012);
            recorded.pass(2);
            let failure = Failure::new(Stage::Launch, "no");
            progress.record_finished(&Record::failed(job(benchmark).case(cache), failure));
        }
    }

    fn lines(recorded: &Recorded) -> Progress {
        let began = recorded.now();
        Progress::with(Mode::Lines(began), Box::new(recorded.clone()))
    }

    #[test]
    fn without_a_terminal_there_is_a_line_every_ten_seconds() {
        let recorded = Recorded::new();
        let mut progress = lines(&recorded);
        progress.planned(&plan(&["copy", "sum", "dot\u{1b}"]), 1);
        measure(&mut progress, &recorded, "copy");
        assert_eq!(recorded.lines(), [""; 0], "eight seconds");
        measure(&mut progress, &recorded, "sum");
        assert_eq!(recorded.lines(), ["2 of 6 done: 64 samples, ± 1.20 %: sum"], "ten seconds");
        recorded.pass(60);
        measure(&mut progress, &recorded, "dot\u{1b}");
        // However late, one line; and no escape of a name.
        assert_eq!(recorded.lines(), ["4 of 6 done: dot\\u{1b}"]);
        progress.warning("no clock");
        assert_eq!(recorded.lines(), ["warning: no clock"]);
    }

    #[test]
    fn a_quiet_run_shows_warnings_and_nothing_else() {
        let recorded = Recorded::new();
        let mut progress = Progress::with(Mode::Quiet, Box::new(recorded.clone()));
        progress.planned(&plan(&["copy", "sum"]), 3);
        progress.devices_opening();
        for benchmark in ["copy", "sum", "copy", "sum"] {
            measure(&mut progress, &recorded, benchmark);
            recorded.pass(60);
        }
        assert_eq!(recorded.lines(), [""; 0]);
        progress.warning("no clock");
        assert_eq!(recorded.lines(), ["warning: no clock"]);
    }

    #[test]
    fn each_of_several_runs_tells_its_end() {
        let recorded = Recorded::new();
        let mut progress = lines(&recorded);
        progress.planned(&plan(&["copy"]), 3);
        for run in 1..=3 {
            measure(&mut progress, &recorded, "copy");
            let told = recorded.lines();
            assert_eq!(
                told.last().map(|line| &**line),
                Some(&*format!("run {run} of 3 is done")),
                "{told:?}"
            );
        }
        // One alone needs no number.
        let mut progress = lines(&recorded);
        progress.planned(&plan(&["copy"]), 1);
        measure(&mut progress, &recorded, "copy");
        assert_eq!(recorded.lines(), [""; 0]);
    }
}
