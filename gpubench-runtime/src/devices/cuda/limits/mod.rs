//! Benchmarks of the limits of a GPU, for `--measure-peaks`. They are measured, judged and displayed like
//! other benchmarks. The peaks that a run reached are read from its results.

pub(crate) mod launches;

use self::launches::{PEAK_LAUNCHES, PeakLaunch, PeakLimit, ReadyLaunch};
use super::RawStream;
use super::device_info::{self, CAPABILITY};
use crate::device::listed_ordinal;
use crate::registry::{BenchmarkOptions, Entry};
use gpubench_core::{Bound, CaseError, StreamParameter as _, Variant, Visitor};
use gpubench_records::{
    Cache, DeviceInfo, Link, MeasuredPeak, Measurement, Peak, PeakSource, Quantity, Record, Run, State,
};
use gpubench_stats::format;

/// The module path of the benchmarks of GPU limits, with which their names begin.
const PEAKS_MODULE: &str = "gpubench::ceilings";

/// Returns the benchmarks of all limits, in the order in which they are measured.
pub fn entries() -> Vec<&'static Entry> {
    PEAK_ENTRIES.iter().collect()
}

/// The benchmark of limit number `N` of [`PEAK_LAUNCHES`].
struct PeakBenchmark<const N: usize>;

impl<const N: usize> PeakBenchmark<N> {
    /// The single variant of the benchmark, on a raw stream and without arguments.
    const VARIANTS: [Variant; 1] = [Variant { device: RawStream::DEVICE, generics: &[], visit: Self::visit }];
    /// The registry entry of the benchmark.
    const ENTRY: Entry = Entry {
        name: PEAK_LAUNCHES[N].name,
        module: PEAKS_MODULE,
        file: file!(),
        line: line!(),
        // Each gets its own column, so that no two have the same place.
        column: N as u32,
        options: benchmark_options(PEAK_LAUNCHES[N].limit),
        variants: &Self::VARIANTS,
    };

    /// Passes the case of the benchmark to `visitor`.
    fn visit(visitor: &mut Visitor<'_>) {
        visit(&PEAK_LAUNCHES[N], visitor);
    }
}

/// Passes the case of `peak_launch` to `visitor`. Not generic, so that it is compiled once.
fn visit(peak_launch: &PeakLaunch, visitor: &mut Visitor<'_>) {
    let capability = || device_info::device(listed_ordinal()?).and_then(device_info::capability).ok();
    let mut case = Bound::new(
        RawStream::open_on,
        |_| peak_launch.prepare().map_err(CaseError::new),
        |launch: &mut ReadyLaunch, stream| launch.launch(stream).map_err(CaseError::new),
    )
    .counts(|launch| Ok(launch.work))
    .skip_if(
        || peak_launch.limit.needs_8_0() && capability().is_some_and(|capability| capability < (8, 0)),
        "its instructions need compute capability 8.0",
    );
    if matches!(peak_launch.limit, PeakLimit::Write | PeakLimit::Copy | PeakLimit::CacheWrite) {
        case = case.check(|launch, ()| launch.check().map_err(CaseError::new));
    }
    visitor(&[], &mut case);
}

/// Returns an array of the entries of the limits with these numbers.
macro_rules! entries {
    ($($number:literal)*) => { [$(PeakBenchmark::<$number>::ENTRY),*] };
}

/// The benchmarks of all limits.
static PEAK_ENTRIES: [Entry; PEAK_LAUNCHES.len()] = entries![0 1 2 3 4 5 6 7 8 9 10 11 12];

/// Returns the benchmark options for `limit`: the data type of a compute limit, the link of a limit of the
/// L2, and the defaults for a limit of the memory.
const fn benchmark_options(limit: PeakLimit) -> BenchmarkOptions {
    match limit {
        PeakLimit::Compute { data_type, .. } => BenchmarkOptions { data_type, ..BenchmarkOptions::DEFAULT },
        PeakLimit::CacheRead | PeakLimit::CacheWrite => {
            BenchmarkOptions { link: Some(Link::L2), ..BenchmarkOptions::DEFAULT }
        }
        PeakLimit::Read | PeakLimit::Write | PeakLimit::Copy => BenchmarkOptions::DEFAULT,
    }
}

/// Returns the state of the cache in which a benchmark of a limit is measured; `None` for another benchmark.
/// Reads of memory are cold: they start with an empty L2, so that all of them reach the memory. All other
/// limits are hot: writes start with what the previous launch left in the L2, so that the same amount is
/// written back.
pub fn cache(benchmark: &str) -> Option<Cache> {
    let peak_launch = launch_of_benchmark(benchmark)?;
    Some(if peak_launch.limit == PeakLimit::Read { Cache::Cold } else { Cache::Hot })
}

/// Returns the launch that the benchmark with this path measures, or `None` for a benchmark of no limit.
fn launch_of_benchmark(benchmark: &str) -> Option<&'static PeakLaunch> {
    let name = benchmark.strip_prefix(PEAKS_MODULE)?.strip_prefix("::")?;
    PEAK_LAUNCHES.iter().find(|launch| launch.name == name)
}

/// Returns the peaks that `device` reached in `run`: one from each valid or suspect result of a benchmark of
/// a limit. A peak is uncertain if its result is suspect, or if the GPU may have faster tensor instructions
/// than the kernel uses.
pub fn reached(run: &Run, device: &str) -> Vec<MeasuredPeak> {
    let rows = run.records.iter().filter(|record| record.device == device);
    // Such as 9 of 9.0.
    let major = |info: &DeviceInfo| info.text(CAPABILITY)?.split('.').next()?.parse().ok();
    let major: Option<u64> = run.device(device).and_then(major);
    let holding = rows.filter(|record| record.verdict.state != State::Invalid);
    let mut reached: Vec<MeasuredPeak> = holding.filter_map(|record| reached_peak(record, major)).collect();
    MeasuredPeak::sort(&mut reached);
    reached
}

/// Returns the peak that the result `record` shows. Returns `None` if it is no result of a limit, or has no
/// bandwidth or throughput. `major` is the first number of the compute capability, `None` if it is unknown.
fn reached_peak(record: &Record, major: Option<u64>) -> Option<MeasuredPeak> {
    let launches = launch_of_benchmark(&record.case.benchmark)?;
    let measured = record.measurement.as_ref()?;
    let metrics = &measured.metrics;
    let (quantity, value) = match launches.limit {
        PeakLimit::Compute { data_type, .. } => {
            (Quantity::Compute(data_type.to_owned()), metrics.throughput?.into())
        }
        _ => (Quantity::moved_over(measured.link), metrics.bandwidth?.into()),
    };
    let low = launches.limit.uses_tensor_cores() && major.is_none_or(exceeds_mma_sync);
    let uncertain = low || record.verdict.state != State::Valid;
    let method = method_phrase(launches.limit, low, measured);
    let peak = Peak::new(quantity, value, PeakSource::Measured, method);
    let peak = if uncertain { peak.uncertain() } else { peak };
    Some(MeasuredPeak { name: launches.name.to_owned(), peak })
}

/// Returns true if the tensor cores of GPUs of compute capability `major` are faster than the instruction
/// `mma.sync` shows. GPUs for data centres have `wgmma` from 9.0 and `tcgen05` from 10.0, which the kernels
/// here, made for 8.0, cannot use.
fn exceeds_mma_sync(major: u64) -> bool {
    (9..12).contains(&major)
}

/// Returns a phrase on how a peak was measured: its work, the clock, and whether the GPU can do more. `low`
/// is true if the GPU can do more.
fn method_phrase(limit: PeakLimit, low: bool, measured: &Measurement) -> String {
    let what = match limit {
        PeakLimit::Read | PeakLimit::CacheRead => "reads",
        PeakLimit::Write | PeakLimit::CacheWrite => "writes",
        PeakLimit::Copy => "copies, read + written",
        PeakLimit::Compute { .. } if low => "mma.sync of 8.0",
        PeakLimit::Compute { .. } if limit.uses_tensor_cores() => "mma.sync",
        PeakLimit::Compute { .. } => "fused multiply-adds on registers",
    };
    let clock = measured.samples.conditions.as_ref().and_then(|conditions| conditions.during.sm_clock);
    let clock = clock.map(|clock| format!(" at {}", format::from_to(clock, format::clock)));
    let less = if low { ", less than this GPU's own instructions do" } else { "" };
    format!("{what}{}{less}", clock.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_peak_is_a_benchmark_of_its_own() {
        let names: Vec<String> = entries().iter().map(|entry| entry.path()).collect();
        assert_eq!(names.len(), PEAK_LAUNCHES.len());
        for (name, peak_launch) in names.iter().zip(&PEAK_LAUNCHES) {
            assert_eq!(launch_of_benchmark(name), Some(peak_launch));
        }
        assert_eq!(
            (launch_of_benchmark("gpubench::ceilings::reads"), launch_of_benchmark("mine::read")),
            (None, None)
        );
    }

    #[test]
    fn mma_is_all_there_is_but_on_gpus_of_data_centres() {
        for (major, outgrown) in [(8, false), (9, true), (10, true), (11, true), (12, false)] {
            assert_eq!(exceeds_mma_sync(major), outgrown, "{major}");
        }
    }
}
