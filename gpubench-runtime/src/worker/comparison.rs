//! One job compared with another: makes the inputs of both for each round, and interleaves their launches.

use std::time::Instant;

use super::follow_up::FollowUpLaunches;
use super::job::{JobInProgress, StepReporter, benchmark_sampling, derive_measurement};
use super::prepared::{PreparedCase, launch_and_wait, make_inputs, time_until, with_driver_message};
use super::{MeasureRequest, Reply};
use crate::catch::catch;
use crate::device::{Device, SampleOptions, SamplerResult};
use crate::method::{self, RoundLayout, Rounds};
use crate::registry::{BenchmarkOptions, CaughtCase, Entry, select_args};
use gpubench_core::Variant;
use gpubench_records::{BenchmarkId, Cache, Compared, Failure, Measurement, Record, Stage, Step};
use gpubench_stats::Nanoseconds;

/// Measures each case of a job interleaved with the same case of the benchmark `with`, on one stream, and
/// sends a record for each. `found` has the entries and variants of the job's benchmark and of `with`.
pub(super) fn run(
    request: &MeasureRequest,
    with: &BenchmarkId,
    found: [(&Entry, &Variant); 2],
    device: &mut dyn Device,
    reply: &mut dyn FnMut(Reply),
) {
    let [(_, variant), (_, other)] = found;
    let options = found.map(|(entry, _)| &entry.options);
    JobInProgress::new(request, device, reply).visit(variant, |job, sweeps, case| {
        select_args(&request.job.args, sweeps)?;
        job.visit(other, |job, sweeps, partner| {
            select_args(&with.args, sweeps).map_err(|failure| name_partner_in(failure, with))?;
            case.open_stream(job.device)?;
            let stream = case.0.stream().ok_or_else(|| Failure::new(Stage::Device, "there is no stream"))?;
            partner.0.open_on(stream).map_err(|error| Failure::new(Stage::Device, error))?;
            let mut hot = [None; 2];
            job.for_each_case(
                |job, cache| {
                    let record = measure_pair(job, case, partner, (with, options), (cache, hot))?;
                    if let (Cache::Hot, Some(compared)) = (cache, &record.compared) {
                        let usable = [record.usable_measurement(), compared.usable_measurement()];
                        hot = usable.map(|usable| usable.map(Measurement::median));
                    }
                    Ok(record)
                },
                JobInProgress::send_record,
            );
            Ok(())
        });
        Ok(())
    });
}

/// Measures the case with this cache state for both benchmarks, interleaved, and returns the record. `hot`
/// has the median times of both hot cases, each `None` if it is unknown.
fn measure_pair(
    job: &mut JobInProgress<'_>,
    case: &mut CaughtCase<'_>,
    partner: &mut CaughtCase<'_>,
    (with, options): (&BenchmarkId, [&BenchmarkOptions; 2]),
    (cache, hot): (Cache, [Option<Nanoseconds>; 2]),
) -> Result<Record, Failure> {
    let MeasureRequest { info, unchecked, .. } = job.request;
    let [own, other] = options;
    let (begin, deadline) = (Instant::now(), job.deadline);
    let sampling = benchmark_sampling(own, &job.request.sampling, deadline);
    let device = &mut *job.device;
    let monitor = device.monitor().ok();
    let (flush, path, host_work) = (sampling.flush, sampling.path, own.host_work || other.host_work);
    let mut progress = StepReporter::new(job.reply);
    let mut rounds = InterleavedCases {
        cases: [case.reborrow(), partner.reborrow()],
        options,
        with,
        device: &mut *device,
        sample_options: SampleOptions { cache, flush, path, host_work, relocates_inputs: false },
        unchecked: *unchecked,
        prepared: None,
    };
    let compared = catch(Stage::Launch, || {
        // Draws a seed of 53 bits, which readers of JSON can represent. The worker is killed at its limit, and its samples are lost: use
        // half of the time.
        let seed = RoundLayout::random_seed(false) >> 11;
        let report_step = &mut |step| progress.report(step);
        method::compare(&mut rounds, seed, &sampling, time_until(deadline) / 2, monitor, report_step)
    });
    let prepared = rounds.prepared;
    let step = progress.step;
    let compared = compared.map_err(|failure| {
        let failure = match step {
            // The stage already says so.
            Step::Setup | Step::Reset | Step::Counts | Step::Check => failure,
            step => failure.at(step),
        };
        with_driver_message(failure, device)
    })?;
    let prepared = prepared.ok_or_else(|| Failure::new(Stage::Sampling, "took no samples"))?;
    let found = |index: usize, samples| {
        let prepared = &prepared[index];
        derive_measurement(options[index], &sampling, info, (samples, None), prepared, (cache, hot[index]))
    };
    let [samples, others] = compared.samples;
    let mut found = [found(0, samples), found(1, others)];
    if !unchecked {
        // A round makes the inputs of both, and samples them.
        let round = begin.elapsed() / found[1].0.samples.groups.max(1) as u32;
        let cases = [(case.reborrow(), own), (partner.reborrow(), other)];
        for ((measurement, verdict), (mut case, options)) in found.iter_mut().zip(cases) {
            let time = (round, time_until(deadline));
            let host_work = options.host_work;
            let samples = &measurement.samples;
            let launches = FollowUpLaunches::new(case.reborrow(), device, host_work, samples);
            let found = launches.run_on_fresh_inputs(time);
            measurement.relaunch = found.relaunch;
            verdict.add(found.reasons);
        }
    }
    let [(own, own_verdict), (measurement, verdict)] = found;
    let mut record = Record::new(job.request.job.case(cache), Some(own), own_verdict);
    let (with, comparison) = (with.clone(), compared.comparison);
    record.compared = Some(Box::new(Compared { with, comparison, measurement, verdict }));
    Ok(record)
}

/// Puts the failure's message in quotes, after a phrase that it occurred in `with`, the benchmark of
/// `--compare-with`.
fn name_partner_in(mut failure: Failure, with: &BenchmarkId) -> Failure {
    failure.message = format!("in `{with}`, the benchmark of --compare-with: \"{}\"", failure.message);
    failure
}

/// The cases of the two benchmarks that are compared: first that of the job, then that of `with`. The inputs
/// of both exist at the same time.
struct InterleavedCases<'a> {
    cases: [CaughtCase<'a>; 2],
    options: [&'a BenchmarkOptions; 2],
    with: &'a BenchmarkId,
    device: &'a mut dyn Device,
    sample_options: SampleOptions,
    unchecked: bool,
    /// The results of the first launch of each case; `None` before the first round.
    prepared: Option<[PreparedCase; 2]>,
}

impl Rounds for InterleavedCases<'_> {
    fn begin(&mut self, layout: RoundLayout, report_step: &mut dyn FnMut(Step)) -> SamplerResult<'_> {
        // The inputs that are made first get the addresses of the other's inputs in the previous round.
        let order = if layout.swapped { [1, 0] } else { [0, 1] };
        for index in order {
            self.cases[index].0.clear();
            self.cases[index].0.keep_output(false);
        }
        self.device.set_allocation_seed(layout.allocation_seed);
        for index in order {
            self.run_step(index, make_inputs)?;
        }
        if self.prepared.is_some() {
            for index in order {
                self.run_step(index, launch_and_wait)?;
            }
        } else {
            let (options, unchecked) = (self.options, self.unchecked);
            let mut launched = |index| {
                let options = (!unchecked).then_some(options[index]);
                self.run_step(index, |case, device| {
                    PreparedCase::launch_and_check(case, options, device, report_step)
                })
            };
            self.prepared = Some([launched(0)?, launched(1)?]);
        }
        // The first launch of a new graph takes longer than later ones.
        let [own, other] = &mut self.cases;
        self.device
            .pair_sampler(if layout.swapped { [other, own] } else { [own, other] }, &self.sample_options)
    }
}

impl InterleavedCases<'_> {
    /// Runs a step, such as making inputs, of the case with this index: 0 for the benchmark of the job, 1 for
    /// the benchmark that it is compared with. The message of a failure of case 1 names its benchmark.
    fn run_step<T>(
        &mut self,
        index: usize,
        step: impl FnOnce(&mut CaughtCase<'_>, &mut dyn Device) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let done = step(&mut self.cases[index], self.device);
        if index == 0 { done } else { done.map_err(|failure| name_partner_in(failure, self.with)) }
    }
}
