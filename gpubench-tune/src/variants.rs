//! Measures the variants of a race in the workers of their device.

use std::time::Instant;

use crate::elimination::{DuelRounds, MeasureVariants};
use crate::race::{Duel, PAIRS_OF_A_STEP};
use gpubench_records::{BenchmarkId, Counts, Failure, Record, Sampling, Stage};
use gpubench_runner::__private::{CaseResult, Session};
use gpubench_runtime::Job;
use gpubench_stats::{Nanoseconds, resolution_of_pairs};

/// The maximum sampling time of a variant that is measured alone. About forty samples of 12 µs, cold on an
/// H200, are within 1 % of many samples; the addresses of inputs change times by more than that.
const ALONE_TIME: Nanoseconds = Nanoseconds::from_seconds(0.004);
/// The half-width of the median's interval, as a fraction, at which the sampling of a variant alone ends
/// before [`ALONE_TIME`].
const ALONE_PRECISION: f64 = 0.02;
/// The warm-up time of a variant alone, unless the user requests a longer warm-up than the default. All variants
/// but the first follow another one on a warm device, and the first is measured again at the end.
const ALONE_WARM_UP: Nanoseconds = Nanoseconds::from_seconds(0.000_5);
/// The sampling time of a step, if launches are so short that more than the minimum number of samples fit.
/// The maximum numbers of samples limit it further.
const STEP_TIME: Nanoseconds = Nanoseconds::from_seconds(0.02);
/// The minimum number of samples in a step. On an H200, for launches of 9 µs, pairs of rounds of 4 samples
/// deviate by 1.6 %, of 16 by 0.7 %, of 64 by 0.4 %.
const MIN_STEP_SAMPLES: usize = 2 * 2 * PAIRS_OF_A_STEP;
/// The maximum number of samples in the first step of a contender, which finds variants that are far slower.
const MAX_FIRST_STEP_SAMPLES: usize = 2 * MIN_STEP_SAMPLES;
/// The maximum number of samples in each later step of a contender.
const MAX_STEP_SAMPLES: usize = 8 * MIN_STEP_SAMPLES;
/// The number of pairs of launches that warm up a step, unless the user requests a longer warm-up than the
/// default. Both variants have run before, and the default warm-up took a seventh of a race.
const STEP_WARM_UP_PAIRS: usize = 1;

/// The variants of a problem on a device in one cache state, measured by the device's workers.
pub(crate) struct Variants<'a, 's> {
    session: &'a mut Session<'s>,
    jobs: &'a [Job],
    began: Instant,
}

impl<'a, 's> Variants<'a, 's> {
    /// Returns the variants that these jobs measure, in this order. The time of the race starts now.
    pub(crate) fn new(session: &'a mut Session<'s>, jobs: &'a [Job]) -> Self {
        Self { session, jobs, began: Instant::now() }
    }

    /// Measures a job of one case, and shows it in the line of progress.
    fn measure(&mut self, job: &Job, sampling: Sampling) -> CaseResult<Record> {
        self.session.progress.try_job(job);
        self.session.cases.measure(job, sampling)
    }
}

impl MeasureVariants for Variants<'_, '_> {
    fn measure_coarsely(&mut self, variant: usize) -> CaseResult<(Nanoseconds, Counts)> {
        let sampling = alone_sampling(self.session.sampling);
        let found = self.measure(&self.jobs[variant], sampling)?;
        Ok(found.and_then(|record| {
            let measured = record.measurement.as_ref();
            let measured = measured.ok_or_else(|| Failure::new(Stage::Sampling, "took no samples"))?;
            Ok((measured.median(), measured.counts))
        }))
    }

    fn check(&mut self, variant: usize) -> CaseResult<bool> {
        self.session.cases.test(&self.jobs[variant])
    }

    fn duel(
        &mut self,
        duel: Duel,
        coarse: [Option<Nanoseconds>; 2],
        is_first: bool,
    ) -> CaseResult<DuelRounds> {
        let Job { benchmark, args, .. } = self.jobs[duel.leader].clone();
        let mut job = self.jobs[duel.contender].clone();
        job.with = Some(BenchmarkId { benchmark, args });
        let sampling = step_sampling(self.session.sampling, coarse, is_first);
        Ok(self.measure(&job, sampling)?.and_then(|record| duel_rounds(&record)))
    }

    fn elapsed(&self) -> Nanoseconds {
        self.began.elapsed().into()
    }
}

/// Returns the rounds of a record with a comparison; a failure if the record has none.
fn duel_rounds(record: &Record) -> Result<DuelRounds, Failure> {
    let (Some(measured), Some(compared)) = (&record.measurement, &record.compared) else {
        return Err(Failure::new(Stage::Sampling, "was not compared"));
    };
    let times = measured.times().into_iter().zip(compared.measurement.times());
    let pairs: Vec<[Nanoseconds; 2]> = times.map(|(contender, leader)| [contender, leader]).collect();
    let resolution = resolution_of_pairs(&pairs, measured.samples.timer.resolution);
    let logs = compared.comparison.rounds.iter().map(|round| round.log_ratio).collect();
    Ok(DuelRounds { logs, resolution })
}

/// Returns the sampling options for a variant alone, whose time need not be precise. `requested` are the
/// user's options.
fn alone_sampling(requested: Sampling) -> Sampling {
    Sampling {
        min_warm_up_time: if has_usual_warm_up(requested) {
            requested.min_warm_up_time.min(ALONE_WARM_UP)
        } else {
            requested.min_warm_up_time
        },
        precision: ALONE_PRECISION,
        samples: None,
        min_time: Nanoseconds::ZERO,
        max_time: ALONE_TIME,
        benchmark_max_time: false,
        energy: Some(false),
        ..requested
    }
}

/// Returns the sampling options for a step. `requested` are the user's options, and `times` the times of both
/// variants. The shorter both are, the more samples the step has; without one of them, the minimum number.
/// The first step of a contender is shorter.
fn step_sampling(requested: Sampling, times: [Option<Nanoseconds>; 2], is_first: bool) -> Sampling {
    let pair: Nanoseconds = times.map(|time| time.unwrap_or(STEP_TIME)).into_iter().sum();
    let fitting = (STEP_TIME / pair) as usize / MIN_STEP_SAMPLES * MIN_STEP_SAMPLES;
    let most = if is_first { MAX_FIRST_STEP_SAMPLES } else { MAX_STEP_SAMPLES };
    let samples = fitting.clamp(MIN_STEP_SAMPLES, most);
    let warm_up_launches =
        requested.warm_up_launches.or(has_usual_warm_up(requested).then_some(STEP_WARM_UP_PAIRS));
    Sampling {
        warm_up_launches,
        samples: Some(samples),
        benchmark_max_time: false,
        energy: Some(false),
        ..requested
    }
}

/// Returns true if the options that the user `requested` have no longer warm-up than the default. A race then
/// shortens it.
fn has_usual_warm_up(requested: Sampling) -> bool {
    requested.min_warm_up_time <= Sampling::USUAL.min_warm_up_time
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    use gpubench_records::comparison::{Answer as Compares, Comparison, Round};
    use gpubench_records::files::read;
    use gpubench_records::record::Compared;
    use gpubench_records::verdict::Verdict;

    /// The logarithms are those of the comparison, and the resolution is that of the pairs of samples.
    #[test]
    fn a_step_has_the_rounds_of_its_comparison() {
        let folder =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../gpubench-runner/tests/parsing/corpus/runs");
        let run = read(std::fs::File::open(folder.join("clockwork.jsonl")).expect("it is there"))
            .expect("a recorded run")
            .run;
        let mut record = run.records.into_iter().find(|record| record.measurement.is_some()).expect("one");
        record.compared = None;
        let alone = duel_rounds(&record).expect_err("it was not compared");
        assert_eq!(alone.to_string(), "sampling: was not compared");
        let measurement = record.measurement.clone().expect("it was measured");
        let logs = [0.1, 0.2, 0.3];
        let rounds_of_two = logs.map(|log_ratio| Round { pairs: 2, log_ratio }).to_vec();
        let answer = Compares::Undecided;
        let comparison =
            Comparison { ratio: None, equivalence_margin: 0.01, answer, rounds: rounds_of_two, seed: None };
        let with = BenchmarkId { benchmark: "b".to_owned(), args: Vec::new() };
        let verdict = Verdict::of(Vec::new());
        let pairs: Vec<_> = measurement.times().into_iter().map(|time| [time; 2]).collect();
        let resolution = resolution_of_pairs(&pairs, measurement.samples.timer.resolution);
        record.compared = Some(Box::new(Compared { with, comparison, measurement, verdict }));
        assert_eq!(duel_rounds(&record), Ok(DuelRounds { logs: logs.to_vec(), resolution }));
    }

    /// A user's rules for cases, each another than the usual one.
    const OURS: Sampling = Sampling {
        precision: 1e-4,
        samples: Some(1000),
        min_time: Nanoseconds(3e9),
        max_time: Nanoseconds(9e9),
        benchmark_max_time: true,
        energy: Some(true),
        equivalence_margin: 0.02,
        ..Sampling::USUAL
    };

    /// A variant alone is timed for 4 ms at most, to 2 %, whatever is asked of cases. The rest is as the user
    /// wants it.
    #[test]
    fn a_variant_alone_takes_milliseconds() {
        let found = alone_sampling(OURS);
        assert_eq!((found.precision, found.samples), (0.02, None));
        assert_eq!((found.min_time, found.max_time), (Nanoseconds::ZERO, Nanoseconds(4e6)));
        assert_eq!(
            (found.benchmark_max_time, found.energy, found.equivalence_margin),
            (false, Some(false), 0.02)
        );
    }

    #[test]
    fn a_variant_alone_warms_up_for_half_a_millisecond_or_as_the_user_wants_it() {
        let found = [0.0, 3e5, 2e6, 3e6].map(|warm_up| {
            alone_sampling(Sampling { min_warm_up_time: Nanoseconds(warm_up), ..OURS })
                .min_warm_up_time
                .as_f64()
        });
        assert_eq!(found, [0.0, 3e5, 5e5, 3e6]);
    }

    #[test]
    fn a_step_takes_as_many_samples_as_fit_into_its_time() {
        let samples = |first, second, is_first| {
            let found =
                step_sampling(OURS, [first, second].map(|time: Option<f64>| time.map(Nanoseconds)), is_first);
            assert_eq!(
                (found.benchmark_max_time, found.energy, found.equivalence_margin),
                (false, Some(false), 0.02)
            );
            found.samples.expect("a number")
        };
        // Pairs of 20 µs, of which 1000 fit; of 150 µs, of which 133 fit: whole rounds of them; and of 20 ms.
        assert_eq!(samples(Some(9e3), Some(11e3), false), MAX_STEP_SAMPLES);
        assert_eq!(samples(Some(9e3), Some(11e3), true), MAX_FIRST_STEP_SAMPLES);
        let fitting = 133 / MIN_STEP_SAMPLES * MIN_STEP_SAMPLES;
        assert!(MIN_STEP_SAMPLES < fitting && fitting < MAX_STEP_SAMPLES);
        assert_eq!(samples(Some(50e3), Some(100e3), false), fitting);
        assert_eq!(samples(Some(1e7), Some(1e7), false), MIN_STEP_SAMPLES);
        assert_eq!(samples(None, Some(9e3), false), MIN_STEP_SAMPLES, "not known yet");
    }

    /// What the user asks for beyond the usual warm-up is done before each step too.
    #[test]
    fn a_step_is_warmed_up_by_a_pair_or_as_the_user_wants_it() {
        let launches = |requested: Sampling| step_sampling(requested, [None; 2], false).warm_up_launches;
        assert_eq!(launches(Sampling::USUAL), Some(1));
        assert_eq!(launches(Sampling { min_warm_up_time: Nanoseconds::ZERO, ..OURS }), Some(1));
        assert_eq!(launches(Sampling { warm_up_launches: Some(7), ..OURS }), Some(7));
        assert_eq!(launches(Sampling { min_warm_up_time: Nanoseconds(5e6), ..OURS }), None);
    }
}
