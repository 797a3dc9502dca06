//! A device of one's own, a coprocessor that computes checksums, and a launch on it.

pub mod hardware;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use gpubench::device::single_launch_sampler::{self, LaunchTimer};
use gpubench::device::{Device, DeviceError, DeviceKind, DeviceType, Failure, SampleOptions, Sampler, Work};
use gpubench::device_info::{DeviceInfo, Peak, PeakSource, Quantity, Value};
use gpubench::units::{Bytes, Hertz, Nanoseconds, Rate};
use gpubench::{CaseError, LaunchStream, StreamSource, gpu_bench};

use crate::hardware::{BASIS, PRIME, Queue, TICK, Word};

/// The coprocessor and its queue.
pub struct Coprocessor(Queue);

impl StreamSource for Coprocessor {
    const KIND: &'static str = "coprocessor";
}

impl DeviceType for Coprocessor {
    fn open(_ordinal: usize) -> Result<Self, DeviceError> {
        Ok(Self(Queue::start()))
    }
}

gpubench::device_kind!(DeviceKind::new::<Coprocessor>());

impl LaunchStream for Queue {
    type Source = Coprocessor;
    type Owned = Self;

    fn open(device: &mut Coprocessor) -> Result<Self, CaseError> {
        Ok(device.0.clone())
    }
}

impl Device for Coprocessor {
    fn info(&mut self) -> Result<DeviceInfo, DeviceError> {
        let (memory, source) = (Quantity::MemoryBandwidth, PeakSource::Datasheet);
        Ok(DeviceInfo::new(Self::KIND, "a thread that computes checksums")
            .with_property("counter", Value::Hertz(Hertz(1_000_000_000 / TICK)))
            .with_last_level_cache(Bytes(0))
            .with_peak(Peak::new(memory, Rate(4e9), source, "1 byte × 4 GHz")))
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        self.0.finish().map_err(DeviceError::new)
    }

    fn sampler<'a>(
        &'a mut self,
        work: &'a mut dyn Work,
        wanted: &SampleOptions,
    ) -> Result<Box<dyn Sampler + 'a>, Failure> {
        single_launch_sampler::sampler(self, work, wanted)
    }
}

impl LaunchTimer for Coprocessor {
    fn time(&mut self, work: &mut dyn Work) -> Result<Nanoseconds, Failure> {
        let begin = self.0.read_counter();
        work.launch()?;
        let end = self.0.read_counter();
        self.synchronize()?;
        let ticks = end.load(Relaxed) - begin.load(Relaxed);
        Ok(Nanoseconds((ticks * TICK) as f64))
    }
}

/// The checksum of n zeros, each of which multiplies it.
#[gpu_bench(
    args(n = [1 << 12, 1 << 16]),
    setup = |n| Ok((Arc::from(vec![0; n]), Word::default())),
    bytes = data.len(),
    check = |_data, sum, n| assert_eq!(sum.load(Relaxed), BASIS.wrapping_mul(PRIME.wrapping_pow(n as u32))),
)]
pub fn checksum(data: &Arc<[u8]>, sum: &Word, queue: &Queue) {
    queue.checksum(data, sum);
}
