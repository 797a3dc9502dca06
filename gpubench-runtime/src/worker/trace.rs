//! Traces launches of the cases of a job with CUPTI, after their samples, for `--verify cupti`.

use crate::catch::catch;
use crate::device::TraceOptions;
use crate::method::RoundLayout;
use crate::registry::{BenchmarkOptions, CaughtCase};
use crate::worker::{MeasureRequest, Reply, job::JobInProgress, prepared::restore_inputs};
use gpubench_records::{CuptiPass, Reason, Record, Stage};

/// Returns the options with which CUPTI traces launches of the cases in `records`: the cache state and the flush
/// of their samples. If the inputs were relocated between the samples, they are also relocated here, but with
/// newly drawn allocation seeds. On a simulated device, the seeds are the same. Returns none without `verify`,
/// and for cases without inputs.
pub(super) fn trace_options(request: &MeasureRequest, records: &[Record]) -> Vec<TraceOptions> {
    let is_without_inputs = |reason: &Reason| matches!(reason, Reason::SetupNotRepeatable(_));
    let options = |record: &Record| {
        let measured = record.usable_measurement()?;
        let samples = &measured.samples;
        let seed = RoundLayout::random_seed(samples.timer.simulated);
        let drawn = || std::array::from_fn(|number| RoundLayout::derive_allocation_seed(number, seed));
        let allocation_seeds = (samples.relocations > 0).then(drawn);
        let (cache, flush) = (record.case.cache, samples.method.flush);
        Some(TraceOptions { cache, flush, time: measured.median(), allocation_seeds })
    };
    let traced = records.iter().filter(|record| !record.verdict.reasons.iter().any(is_without_inputs));
    traced.filter(|_| request.verify).filter_map(options).collect()
}

/// Traces launches of a sampled case with CUPTI, restores the first inputs, and replies with the trace or
/// with the reason why it failed.
pub(super) fn trace_case(
    job: &mut JobInProgress<'_>,
    case: &mut CaughtCase<'_>,
    options: &BenchmarkOptions,
    wanted: &TraceOptions,
) {
    let pass = if options.host_work {
        CuptiPass::Failed("it does not see the host's part, which belongs to this launch".to_owned())
    } else {
        case.0.keep_output(false);
        match catch(Stage::Launch, || job.device.traced(case, wanted)) {
            Ok(Some(times)) => CuptiPass::Traced(Box::new(times)),
            Ok(None) => CuptiPass::Failed("it traces NVIDIA GPUs alone".to_owned()),
            Err(failure) => CuptiPass::Failed(failure.message),
        }
    };
    restore_inputs(case, job.device);
    (job.reply)(Reply::Traced { cache: wanted.cache, pass });
}
