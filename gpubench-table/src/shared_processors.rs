//! The lines under the table on processors that launches share with other programs. In: a run; out: for each device what others took from
//! its rows, told once.

use std::collections::BTreeMap;

use super::text::plain;
use gpubench_records::record::Run;
use gpubench_records::samples::Samples;
use gpubench_stats::format;
use gpubench_stats::units::Range;

/// The rows of a device that others disturbed.
#[derive(Default)]
struct Shared {
    /// The parts of their time in which threads waited.
    waited: Vec<f64>,
    /// The samples that were interrupted, and all.
    interrupted: usize,
    samples: usize,
}

impl Shared {
    fn add(&mut self, samples: &Samples) {
        let interrupted = samples.interrupted_times.len();
        if let Some(waited) = samples.processor_wait() {
            self.waited.push(waited);
        }
        if samples.processor_wait().is_some() || interrupted > 0 {
            self.interrupted += interrupted;
            // A long run keeps the times of its samples on disk alone.
            self.samples += samples.time.samples + interrupted;
        }
    }

    fn lines(self, device: &str) -> String {
        let mut lines = String::new();
        if !self.waited.is_empty() {
            let rows = format::counted(self.waited.len(), "row");
            let part = Range::of(self.waited).map(|range| format::from_to(range, format::percent));
            let part = part.unwrap_or_default();
            lines += &format!(
                "{device}: other programs used the processors: threads with work waited for one {part} of their time, in {rows} \
                 (under `chrt --fifo 1`, which a superuser may ask for, the others wait instead)\n"
            );
        }
        if self.interrupted > 0 {
            let Self { interrupted, samples, .. } = self;
            lines += &format!(
                "{device}: {interrupted} of {samples} samples were interrupted by other programs, and are left out\n"
            );
        }
        lines
    }
}

/// Returns the lines on rows whose launches shared their processors.
pub(super) fn shared_processors(run: &Run) -> String {
    let mut devices: BTreeMap<&str, Shared> = BTreeMap::new();
    for (record, measured) in run.measured() {
        if measured.samples.shares_processors() {
            devices.entry(&record.device).or_default().add(&measured.samples);
        }
    }
    let lines = devices.into_iter().map(|(device, shared)| shared.lines(&plain(device)));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use gpubench_records::files;

    fn run() -> Run {
        let lines = include_bytes!("../../gpubench-runtime/tests/parsing/corpus/runs/gpu.jsonl");
        let mut run = files::read(&lines[..]).expect("a run").run;
        for record in &mut run.records {
            record.device = "host".to_owned();
        }
        run
    }

    fn samples(run: &mut Run, number: usize) -> &mut Samples {
        &mut run.records[number].measurement.as_mut().expect("it was measured").samples
    }

    #[test]
    fn a_busy_machine_is_told_once() {
        let mut run = run();
        assert_eq!(shared_processors(&run), "");
        for (number, waited) in [0.02, 0.12, 0.415].into_iter().enumerate() {
            samples(&mut run, number).processor_wait = Some(waited);
        }
        let told = "host: other programs used the processors: threads with work waited for one 12.0 % to 41.5 % of their time, in 2 rows \
                    (under `chrt --fifo 1`, which a superuser may ask for, the others wait instead)\n";
        assert_eq!(shared_processors(&run), told);
        let mut all = 3;
        for number in 1..3 {
            let samples = samples(&mut run, number);
            all += samples.event_times.len();
            samples.interrupted_times = vec![samples.time.median; number];
            samples.event_times.clear();
        }
        let left_out =
            format!("host: 3 of {all} samples were interrupted by other programs, and are left out\n");
        assert_eq!(shared_processors(&run), format!("{told}{left_out}"));
    }
}
