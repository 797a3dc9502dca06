//! Shows a run in progress: one line that moves, if standard error is a terminal, else a line now and then, and its warnings. In a benchmark
//! binary, rows go to standard output as soon as all cases of a benchmark are measured.

use std::fmt::Debug;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::messages::say;
use super::printer::{LiveOutput, Printer};
use crate::plan::{Job, JobStatus, Plan};
use crate::runner::{RunEvent, RunEvents};
use gpubench_records::record::Run;
use gpubench_records::text::printable;
use gpubench_stats::format;
use gpubench_table::{self as report, Planned, TableWriter};

/// The time between two lines where nobody sees a line move.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// Shows the progress of a run on standard error, with its warnings, as suites do: the current case with its samples and
/// interval so far, and the number of cases done.
#[derive(Debug)]
pub struct Progress<'a> {
    bar: ProgressBar,
    mode: Mode,
    messages: Box<dyn Messages>,
    /// True if jobs on several devices are in progress together.
    several_devices: bool,
    /// True once cases are measured again.
    is_again: bool,
    /// Prints the rows, in a benchmark binary.
    printer: Option<&'a Printer<'a>>,
    /// The jobs that are to have rows. Empty where rows are known at the end alone: those of several processes are made of all of them.
    jobs: Vec<Job>,
    shown: LiveOutput,
}

/// The clock, and the place of messages.
trait Messages: Debug + Send {
    fn now(&self) -> Instant;
    fn say(&self, message: &str);
}

/// The machine's clock, and standard error.
#[derive(Debug)]
struct StandardError;

impl Messages for StandardError {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn say(&self, message: &str) {
        say(message);
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

impl Default for Progress<'_> {
    fn default() -> Self {
        let mode = if io::stderr().is_terminal() { Mode::Bar } else { Mode::Lines(Instant::now()) };
        Self::with(mode, Box::new(StandardError))
    }
}

impl<'a> Progress<'a> {
    /// Shows warnings and no progress.
    #[must_use]
    pub fn quiet() -> Self {
        Self::with(Mode::Quiet, Box::new(StandardError))
    }

    fn with(mode: Mode, messages: Box<dyn Messages>) -> Self {
        Self {
            bar: ProgressBar::hidden(),
            mode,
            messages,
            several_devices: false,
            is_again: false,
            printer: None,
            jobs: Vec::new(),
            shown: LiveOutput::default(),
        }
    }

    /// Returns a progress that counts up to `total` of `what`, such as benchmarks.
    #[must_use]
    pub(super) fn over(total: usize, what: &str) -> Self {
        let mut progress = Self::default();
        progress.begin(total, what);
        progress
    }

    /// Prints rows as soon as they are measured.
    pub(super) fn show_rows(&mut self, printer: &'a Printer<'a>) {
        self.printer = Some(printer);
    }

    /// Ends the progress, and returns what is printed.
    pub(super) fn into_output(mut self) -> LiveOutput {
        std::mem::take(&mut self.shown)
    }

    fn begin(&mut self, total: usize, what: &str) {
        self.bar = match self.mode {
            Mode::Bar => ProgressBar::new(total as u64),
            Mode::Lines(_) | Mode::Quiet => ProgressBar::hidden(),
        };
        self.bar.set_length(total as u64);
        self.set_style(&format!("{{bar:16}} {{pos}}/{{len}} {what} {{elapsed}}  {{wide_msg}}"));
    }

    /// Counts measurements, of which nobody knows how many there will be.
    pub(super) fn begin_uncounted(&mut self) {
        if self.mode == Mode::Bar {
            self.bar = ProgressBar::new_spinner();
        }
        self.set_style("{spinner} {pos} measurements {elapsed}  {wide_msg}");
    }

    /// Sets the template of the line. A mistake in it would leave the plain style.
    fn set_style(&mut self, template: &str) {
        _ = ProgressStyle::with_template(template).map(|style| self.bar.set_style(style));
    }

    /// Shows a job that ends without a record, and counts it.
    pub(super) fn try_job(&mut self, job: &Job) {
        self.show(self.name(job));
        self.bar.inc(1);
    }

    /// Hides the line while `print` prints something else.
    pub(super) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    fn say(&self, message: &str) {
        self.aside(|| self.messages.say(message));
    }

    /// Returns the name of a job, with its device if there are several.
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
            self.messages.say(&format!("{done}: {activity}"));
            self.mode = Mode::Lines(now);
        }
        self.bar.set_message(activity);
    }

    fn plan(&mut self, plan: &Plan, runs: usize) {
        self.begin(plan.cases() * runs, "cases");
        let mut devices = plan.jobs.iter().map(|(job, _)| &job.device);
        self.several_devices = devices.next().is_some_and(|first| devices.any(|device| device != first));
        if runs == 1 && self.printer.is_some_and(Printer::prints_rows) {
            let has_row = |status: &JobStatus| !matches!(status, JobStatus::Skipped(_));
            let jobs = plan.jobs.iter().filter(|(_, status)| has_row(status));
            self.jobs = jobs.map(|(job, _)| job.clone()).collect();
        }
    }

    /// Prints the header, and begins the table.
    fn begin_table(&mut self, run: &Run) {
        if let Some(printer) = self.printer.filter(|_| !self.jobs.is_empty()) {
            let page = printer.page();
            let planned = self.jobs.iter().map(|job| Planned {
                benchmark: &job.benchmark,
                args: &job.args,
                device: &job.device,
            });
            self.shown.table = Some(TableWriter::new(run, planned, page));
            self.print(&report::header(run, page));
        }
    }

    fn print(&mut self, text: &str) {
        if let Some(Err(error)) = self.printer.map(|printer| self.aside(|| printer.print(text))) {
            self.shown.problem.get_or_insert(error);
        }
    }
}

impl RunEvents for Progress<'_> {
    fn event(&mut self, event: &RunEvent<'_>) {
        match *event {
            RunEvent::Planned(plan, runs) => self.plan(plan, runs),
            RunEvent::DevicesOpening => self.show("measuring the device's peaks".to_owned()),
            RunEvent::RunStarted(run, resumed) => {
                self.bar.inc(resumed.len() as u64);
                self.begin_table(run);
            }
            RunEvent::JobStarted(job) => self.show(self.name(job)),
            RunEvent::StepReached(job, step) => self.show(format!("{step}: {}", self.name(job))),
            RunEvent::IntervalNarrowed { job, samples, half_width } => {
                let samples = format::counted(samples, "sample");
                self.show(format!("{samples}, {}: {}", format::plus_minus(half_width), self.name(job)));
            }
            RunEvent::RecordFinished(_) => self.bar.inc(1),
            RunEvent::JobFinished(records) => {
                let records: Vec<_> = records.iter().collect();
                if let Some(rows) = self.shown.table.as_mut().map(|table| table.rows(&records)) {
                    self.print(&rows);
                }
            }
            RunEvent::MeasuredAgain(plan) => {
                self.bar.inc_length(plan.cases() as u64);
                if !std::mem::replace(&mut self.is_again, true) && self.mode != Mode::Quiet {
                    let seem = if plan.cases() == 1 { "seems" } else { "seem" };
                    let cases = format::counted(plan.cases(), "case");
                    self.say(&format!("measuring {cases} again, which {seem} slower than the baseline"));
                }
            }
            RunEvent::RunEnded(_) => self.bar.finish_and_clear(),
            RunEvent::Warning(warning) => self.say(&format!("warning: {warning}")),
            RunEvent::Remark(remark) => self.say(remark),
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, MutexGuard};

    use super::*;
    use crate::plan::{JobStatus, SharedResource};
    use gpubench_records::failure::Step;
    use gpubench_records::failure::{Failure, Stage};
    use gpubench_records::method::Cache;
    use gpubench_records::record::Record;

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

        fn say(&self, message: &str) {
            self.lock().1.push(message.to_owned());
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
    fn measure(progress: &mut Progress<'_>, recorded: &Recorded, benchmark: &str) {
        progress.event(&RunEvent::JobStarted(&job(benchmark)));
        for cache in [Cache::Hot, Cache::Cold] {
            progress.event(&RunEvent::StepReached(&job(benchmark), Step::WarmUp(0)));
            recorded.pass(2);
            let (job, samples, half_width) = (&job(benchmark), 64, 0.012);
            progress.event(&RunEvent::IntervalNarrowed { job, samples, half_width });
            recorded.pass(2);
            let failure = Failure::new(Stage::Launch, "no");
            progress.event(&RunEvent::RecordFinished(&Record::failed(job.case(cache), failure)));
        }
    }

    fn lines(recorded: &Recorded) -> Progress<'static> {
        let began = recorded.now();
        Progress::with(Mode::Lines(began), Box::new(recorded.clone()))
    }

    #[test]
    fn without_a_terminal_there_is_a_line_every_ten_seconds() {
        let recorded = Recorded::new();
        let mut progress = lines(&recorded);
        progress.event(&RunEvent::Planned(&plan(&["copy", "sum", "dot\u{1b}"]), 1));
        measure(&mut progress, &recorded, "copy");
        assert_eq!(recorded.lines(), [""; 0], "eight seconds");
        measure(&mut progress, &recorded, "sum");
        assert_eq!(recorded.lines(), ["2 of 6 done: 64 samples, ± 1.20 %: sum"], "ten seconds");
        recorded.pass(60);
        measure(&mut progress, &recorded, "dot\u{1b}");
        // However late, one line; and no escape of a name.
        assert_eq!(recorded.lines(), ["4 of 6 done: dot\\u{1b}"]);
        progress.event(&RunEvent::Warning("no clock"));
        assert_eq!(recorded.lines(), ["warning: no clock"]);
    }

    #[test]
    fn a_quiet_run_shows_warnings_and_nothing_else() {
        let recorded = Recorded::new();
        let mut progress = Progress::with(Mode::Quiet, Box::new(recorded.clone()));
        progress.event(&RunEvent::Planned(&plan(&["copy", "sum"]), 3));
        progress.event(&RunEvent::DevicesOpening);
        for benchmark in ["copy", "sum", "copy", "sum"] {
            measure(&mut progress, &recorded, benchmark);
            recorded.pass(60);
        }
        assert_eq!(recorded.lines(), [""; 0]);
        progress.event(&RunEvent::Warning("no clock"));
        assert_eq!(recorded.lines(), ["warning: no clock"]);
    }
}
