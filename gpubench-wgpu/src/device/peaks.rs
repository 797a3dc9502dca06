//! Measured peaks: of memory by reads, fills and copies of more than a cache holds, and of arithmetic by fused multiply-adds.

use gpubench_records::{Cache, Failure, Flush, Peak, PeakSource, Quantity};
use gpubench_runtime::device::LaunchMode;
use gpubench_runtime::method::{median_time, timer};
use gpubench_stats::{Bytes, Nanoseconds, Rate, format};
use wgpu::{BufferUsages, Features};

use super::flush::{OF_WORKGROUP, Region, SHADERS};
use super::{Wgpu, adapter::is_software};
use crate::{encoder::buffer, kernel::Kernel};

/// The timed launches, after as many that do not count.
const LAUNCHES: usize = 8;
/// The operations of an invocation of the arithmetic kernels in one step: chains, lanes, a multiplication and an addition.
const OF_STEP: u64 = 4 * 4 * 2;
/// The invocations in a workgroup.
const INVOCATIONS: u64 = 256;

/// The sizes of what is measured: small for software, which is slow.
struct Sizes {
    memory: Bytes,
    workgroups: u64,
    steps: u64,
}

impl Sizes {
    fn of(device: &Wgpu) -> Self {
        match is_software(&device.info) {
            true => Self { memory: Bytes(16 << 20), workgroups: 64, steps: 64 },
            false => Self { memory: Bytes(256 << 20), workgroups: 8192, steps: 256 },
        }
    }
}

/// Measures the peaks of `device`.
pub(crate) fn measure(device: &mut Wgpu) -> Result<Vec<Peak>, Failure> {
    let sizes = Sizes::of(device);
    let memory = memory(device, &sizes)?;
    let single = arithmetic(device, "f32", "", &sizes)?;
    let half = match device.encoder.device().features().contains(Features::SHADER_F16) {
        true => arithmetic(device, "f16", "enable f16;\n", &sizes)?,
        false => None,
    };
    Ok([memory, single, half].into_iter().flatten().collect())
}

fn memory(device: &mut Wgpu, sizes: &Sizes) -> Result<Option<Peak>, Failure> {
    let encoder = device.encoder.clone();
    let (from, to) = (Region::new(&encoder, sizes.memory), Region::new(&encoder, sizes.memory));
    let size = from.size;
    let copy = Kernel::new(&encoder, (SHADERS, "copy_all"), &[], &[&to.buffer, &from.buffer]);
    let read = rate(device, size, || from.read(&encoder))?;
    let write = rate(device, size, || to.fill(&encoder))?;
    let copied = rate(device, 2 * size, || copy.launch(&encoder, size / OF_WORKGROUP))?;
    let all = [("read", read), ("write", write), ("copy", copied)];
    let told =
        |(name, rate): &(&str, Option<Rate>)| Some(format!("{name} {}", format::bandwidth((*rate)?.into())));
    let told: Vec<String> = all.iter().filter_map(told).collect();
    let best = [read, write, copied].into_iter().flatten().max_by(Rate::total_cmp);
    let method = format!("the fastest over {}: {}", format::bytes(Bytes(size)), told.join(", "));
    Ok(best.map(|best| Peak::new(Quantity::MemoryBandwidth, best, PeakSource::Measured, method)))
}

fn arithmetic(
    device: &mut Wgpu,
    precision: &str,
    enable: &str,
    sizes: &Sizes,
) -> Result<Option<Peak>, Failure> {
    let encoder = device.encoder.clone();
    let wgsl = format!("{enable}alias T = {precision};\n{}", include_str!("arithmetic.wgsl"));
    let result = buffer(encoder.device(), 16, BufferUsages::STORAGE);
    let constants = [("STEPS", sizes.steps as f64)];
    let kernel = Kernel::new(&encoder, (&wgsl, "multiply_add"), &constants, &[&result]);
    let operations = sizes.workgroups * INVOCATIONS * sizes.steps * OF_STEP;
    let best = rate(device, operations, || kernel.launch(&encoder, sizes.workgroups))?;
    let method = "fused multiply-adds in registers";
    Ok(best
        .map(|best| Peak::new(Quantity::Compute(precision.to_owned()), best, PeakSource::Measured, method)))
}

/// Returns the rate of a launch that does so much; nothing if its time is none.
fn rate(device: &mut Wgpu, done: u64, encode: impl Fn()) -> Result<Option<Rate>, Failure> {
    let overhead = timer(device, LaunchMode::RECORDED, Cache::Hot)?.overhead;
    let mut work = || {
        encode();
        Ok(())
    };
    let time = median_time(device, &mut work, Flush::None, LAUNCHES)? - overhead;
    let rate = done as f64 / time.as_seconds();
    Ok((time > Nanoseconds::ZERO && rate.is_finite()).then_some(Rate(rate)))
}
