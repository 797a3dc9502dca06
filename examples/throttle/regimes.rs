//! Measures one launch in two regimes: a burst with pauses between launches, and sustained load without pauses. Each group of launches
//! has the last reading of the sensors.

use std::thread;
use std::time::Duration;

use cust::memory::DeviceBuffer;
use cust::stream::Stream;
use gpubench::cuda::Cuda;
use gpubench::device::{Device as _, Failure, SampleOptions, Sampler, Stage, Work};
use gpubench::record::Cache;
use gpubench::stats;
use gpubench::units::{Hertz, Nanoseconds, Watts};
use gpubench_kernels::cuda::matmul::{Tensor, bf16_inputs, tensor};
use serde::{Deserialize, Serialize};

use crate::common::Result;
use crate::sensors::SensorReader;

/// The launches of the burst, and the pause between them, in which the GPU cools.
const BURSTS: usize = 30;
const REST: Duration = Duration::from_millis(100);
/// The time of a group of sustained launches.
const GROUP: Nanoseconds = Nanoseconds(20e6);

/// Launches of one submission.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SampleGroup {
    /// The number of the first launch.
    pub(crate) first: usize,
    /// The time of each launch.
    pub(crate) times: Vec<Nanoseconds>,
    /// The clock of the multiprocessors.
    pub(crate) clock: Option<Hertz>,
    /// The power of the GPU.
    pub(crate) power: Option<Watts>,
    /// Its temperature, in degrees Celsius.
    pub(crate) temperature: Option<u32>,
    /// The throttle reasons.
    pub(crate) slowed_by: Vec<String>,
}

impl SampleGroup {
    /// The clock as a number of hertz.
    pub(crate) fn clock(&self) -> Option<f64> {
        self.clock.map(Hertz::as_f64)
    }

    /// The power as a number of watts.
    pub(crate) fn power(&self) -> Option<f64> {
        self.power.map(Watts::as_f64)
    }

    /// The temperature as a number of degrees.
    pub(crate) fn temperature(&self) -> Option<f64> {
        self.temperature.map(f64::from)
    }
}

/// Measures products of n × n matrices in a burst, then under sustained load for `seconds` of device time.
pub(crate) fn measure(
    device: &mut Cuda,
    n: usize,
    seconds: f64,
) -> Result<(Vec<SampleGroup>, Vec<SampleGroup>)> {
    let sensors = device.monitor().ok().map(SensorReader::over);
    let stream = device.stream::<Stream>()?;
    let (kernels, a, b, c) = bf16_inputs(n, &stream).map_err(|error| error.to_string())?;
    let mut product = Product { kernels, a, b, c, stream };
    // Triggers lazy loading, and reports errors.
    product.launch()?;
    product.stream.synchronize()?;
    let wanted = SampleOptions::new(Cache::Hot);
    let mut sampler = device.sampler(&mut product, &wanted)?;
    let overhead = sampler.timer()?.overhead;
    let mut regime =
        Regime { sampler: sampler.as_mut(), sensors, overhead, launches: 0, elapsed: Nanoseconds(0.0) };
    let mut burst = Vec::new();
    for _ in 0..BURSTS {
        thread::sleep(REST);
        burst.push(regime.group(1)?);
    }
    let times: Vec<Nanoseconds> = burst.iter().flat_map(|group| group.times.iter().copied()).collect();
    let one = stats::median(&times).unwrap_or_default();
    let together = ((GROUP / one.max(Nanoseconds(1.0))) as usize).clamp(1, 64);
    (regime.launches, regime.elapsed) = (0, Nanoseconds(0.0));
    let mut sustained = Vec::new();
    while sustained.is_empty() || regime.elapsed.as_seconds() < seconds {
        sustained.push(regime.group(together)?);
    }
    Ok((burst, sustained))
}

/// One product on its stream.
struct Product {
    kernels: Tensor,
    a: DeviceBuffer<u16>,
    b: DeviceBuffer<u16>,
    c: DeviceBuffer<f32>,
    stream: Stream,
}

impl Work for Product {
    fn launch(&mut self) -> std::result::Result<(), Failure> {
        let Self { kernels, a, b, c, stream } = self;
        tensor(kernels, a, b, c, stream).map_err(|error| Failure::new(Stage::Launch, error))
    }
}

/// Measures groups with the readings of the sensors.
struct Regime<'a> {
    sampler: &'a mut dyn Sampler,
    sensors: Option<SensorReader>,
    overhead: Nanoseconds,
    launches: usize,
    /// The device time of all groups.
    elapsed: Nanoseconds,
}

impl Regime<'_> {
    fn group(&mut self, launches: usize) -> std::result::Result<SampleGroup, Failure> {
        let group = self.sampler.group(launches)?;
        self.elapsed += group.elapsed;
        let reading = self.sensors.as_ref().map(SensorReader::last).unwrap_or_default();
        let first = self.launches;
        self.launches += group.events.len();
        Ok(SampleGroup {
            first,
            times: group.events.iter().map(|event| *event - self.overhead).collect(),
            clock: group.clock.or(reading.sm_clock),
            power: reading.power,
            temperature: reading.temperature,
            slowed_by: reading.throttle_reasons,
        })
    }
}
