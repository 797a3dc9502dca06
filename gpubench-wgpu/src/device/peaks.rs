//! Measured peaks: of memory by reads, fills and copies of more than a cache holds, and of arithmetic by
//! fused multiply-adds.

use gpubench_records::{Cache, Failure, Flush, Peak, PeakSource, Quantity};
use gpubench_runtime::device::LaunchMode;
use gpubench_runtime::method::{median_time, timer};
use gpubench_stats::{Bytes, Nanoseconds, Rate, format};
use wgpu::{BufferUsages, Features};

use crate::device::flush::{BYTES_PER_WORKGROUP, MEMORY_SHADERS, SweepBuffer};
use crate::device::{Wgpu, is_software};
use crate::encoder::{Kernel, buffer};

/// The number of timed launches of a peak. The same number of launches precedes them as a warm-up.
const TIMED_LAUNCHES: usize = 8;
/// The number of operations of an invocation of `multiply_add` in one step: 4 chains × 4 lanes × 2, a
/// multiplication and an addition.
const OPERATIONS_PER_STEP: u64 = 4 * 4 * 2;
/// The number of invocations in a workgroup of `multiply_add`.
const INVOCATIONS_PER_WORKGROUP: u64 = 256;

/// The sizes of the launches that measure peaks: the bytes of memory, and the workgroups and steps of
/// `multiply_add`. They are small for software adapters, which are slow.
struct PeakSizes {
    memory: Bytes,
    workgroups: u64,
    steps: u64,
}

impl PeakSizes {
    /// Returns the sizes for this device.
    fn for_device(device: &Wgpu) -> Self {
        match is_software(&device.info) {
            true => Self { memory: Bytes(16 << 20), workgroups: 64, steps: 64 },
            false => Self { memory: Bytes(256 << 20), workgroups: 8192, steps: 256 },
        }
    }
}

/// Measures the peaks of `device`: memory bandwidth, `f32`, and `f16` if the device has it.
pub(crate) fn measure(device: &mut Wgpu) -> Result<Vec<Peak>, Failure> {
    let sizes = PeakSizes::for_device(device);
    let memory = memory_peak(device, &sizes)?;
    let single = arithmetic_peak(device, "f32", "", &sizes)?;
    let half = match device.encoder.device().features().contains(Features::SHADER_F16) {
        true => arithmetic_peak(device, "f16", "enable f16;\n", &sizes)?,
        false => None,
    };
    Ok([memory, single, half].into_iter().flatten().collect())
}

/// Measures the peak memory bandwidth: the largest rate of a read, a fill and a copy. `None` if no rate could
/// be measured.
fn memory_peak(device: &mut Wgpu, sizes: &PeakSizes) -> Result<Option<Peak>, Failure> {
    let encoder = device.encoder.clone();
    let (from, to) = (SweepBuffer::new(&encoder, sizes.memory), SweepBuffer::new(&encoder, sizes.memory));
    let size = from.size;
    let copy = Kernel::new(&encoder, (MEMORY_SHADERS, "copy_all"), &[], &[&to.buffer, &from.buffer]);
    let read = launch_rate(device, size, || from.read(&encoder))?;
    let write = launch_rate(device, size, || to.fill(&encoder))?;
    let copied = launch_rate(device, 2 * size, || copy.launch(&encoder, size / BYTES_PER_WORKGROUP))?;
    let all = [("read", read), ("write", write), ("copy", copied)];
    let told =
        |(name, rate): &(&str, Option<Rate>)| Some(format!("{name} {}", format::bandwidth((*rate)?.into())));
    let told: Vec<String> = all.iter().filter_map(told).collect();
    let best = [read, write, copied].into_iter().flatten().max_by(Rate::total_cmp);
    let method = format!("the fastest over {}: {}", format::bytes(Bytes(size)), told.join(", "));
    Ok(best.map(|best| Peak::new(Quantity::MemoryBandwidth, best, PeakSource::Measured, method)))
}

/// Measures the peak rate of fused multiply-adds of the data type `precision`, such as `f32`. `enable` is the
/// WGSL directive that the data type needs, or empty. `None` if the rate could not be measured.
fn arithmetic_peak(
    device: &mut Wgpu,
    precision: &str,
    enable: &str,
    sizes: &PeakSizes,
) -> Result<Option<Peak>, Failure> {
    let encoder = device.encoder.clone();
    let wgsl = format!("{enable}alias T = {precision};\n{}", include_str!("arithmetic.wgsl"));
    let result = buffer(encoder.device(), 16, BufferUsages::STORAGE);
    let constants = [("STEPS", sizes.steps as f64)];
    let kernel = Kernel::new(&encoder, (&wgsl, "multiply_add"), &constants, &[&result]);
    let operations = sizes.workgroups * INVOCATIONS_PER_WORKGROUP * sizes.steps * OPERATIONS_PER_STEP;
    let best = launch_rate(device, operations, || kernel.launch(&encoder, sizes.workgroups))?;
    let method = "fused multiply-adds in registers";
    Ok(best
        .map(|best| Peak::new(Quantity::Compute(precision.to_owned()), best, PeakSource::Measured, method)))
}

/// Measures a launch that `encode` encodes and that does `done` bytes or operations. Returns its rate; `None`
/// if its time is not above the timer's overhead.
fn launch_rate(device: &mut Wgpu, done: u64, encode: impl Fn()) -> Result<Option<Rate>, Failure> {
    let overhead = timer(device, LaunchMode::RECORDED, Cache::Hot)?.overhead;
    let mut work = || {
        encode();
        Ok(())
    };
    let time = median_time(device, &mut work, Flush::None, TIMED_LAUNCHES)? - overhead;
    let rate = done as f64 / time.as_seconds();
    Ok((time > Nanoseconds::ZERO && rate.is_finite()).then_some(Rate(rate)))
}
