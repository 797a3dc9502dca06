//! This machine's CPU as a device: an in-order stream over a thread pool, timed by the monotonic clock, its
//! last-level cache flushed before cold samples. A device like any other, not a stand-in for a GPU.

mod flush;
mod peaks;
mod stream;
mod topology;

use std::time::Instant;

pub use self::stream::Stream;
pub(super) use self::topology::cpu_name;

use self::flush::Sweep;
use super::facts::{Property, Value};
use super::{
    Cache, Device, DeviceError, DeviceType, Facts, Flush, LaunchStream, Method, Path, Sampler, Timer, Wanted,
    Work,
};
use crate::failure::{Failure, Stage};
use crate::units::Nanoseconds;

/// This machine's CPU.
pub struct Host {
    stream: Stream,
    sweep: Sweep,
}

impl DeviceType for Host {
    const KIND: &'static str = "host";

    fn open(_: usize) -> Result<Self, DeviceError> {
        let stream = Stream::of_this_thread()?;
        let sweep = Sweep::over(&stream, topology::last_level_cache());
        Ok(Self { stream, sweep })
    }
}

impl LaunchStream for Stream {
    type Device = Host;

    fn over(device: &mut Host) -> Result<Self, DeviceError> {
        Ok(device.stream.clone())
    }
}

impl Device for Host {
    fn facts(&mut self) -> Result<Facts, DeviceError> {
        let mut properties = vec![Property::new("threads", Value::Count(self.stream.threads() as u64))];
        for (name, size) in topology::caches() {
            properties.push(Property::new(name, Value::Bytes(size)));
        }
        let last_level_cache = topology::last_level_cache();
        Ok(Facts {
            device: Self::KIND.to_owned(),
            name: cpu_name(),
            fake: false,
            properties,
            last_level_cache,
            peaks: peaks::measure(&self.stream, last_level_cache),
        })
    }

    fn sampler<'a>(
        &'a mut self,
        work: &'a mut dyn Work,
        wanted: &Wanted,
    ) -> Result<Box<dyn Sampler + 'a>, Failure> {
        if let Some(path) = wanted.path {
            let message = format!("--path {path}: this machine's CPU is timed by its clock alone");
            return Err(Failure::new(Stage::Device, message));
        }
        let flush = match (wanted.cache, wanted.flush) {
            (Cache::Hot, _) | (Cache::Cold, Some(Flush::None)) => Flush::None,
            (Cache::Cold, None | Some(Flush::Read)) => Flush::Read,
            (Cache::Cold, Some(flush)) => {
                let message = format!("--flush {flush}: this machine's CPU has `read` and `none`");
                return Err(Failure::new(Stage::Device, message));
            }
        };
        Ok(Box::new(HostSampler { device: self, work, cache: wanted.cache, flush }))
    }
}

struct HostSampler<'a> {
    device: &'a Host,
    work: &'a mut dyn Work,
    cache: Cache,
    flush: Flush,
}

impl Sampler for HostSampler<'_> {
    fn group(&mut self, samples: usize, events: &mut Vec<Nanoseconds>) -> Result<Nanoseconds, Failure> {
        events.reserve(samples);
        let begin = Instant::now();
        if self.cache == Cache::Hot {
            self.work.launch()?;
        }
        for _ in 0..samples {
            self.work.reset()?;
            if self.flush == Flush::Read {
                self.device.sweep.flush(&self.device.stream);
            }
            let start = Instant::now();
            let launched = self.work.launch();
            let event = elapsed(start);
            launched?;
            events.push(event);
        }
        Ok(elapsed(begin))
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        const PAIRS: usize = 10_001;
        let mut pairs: Vec<Nanoseconds> = (0..PAIRS).map(|_| elapsed(Instant::now())).collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let floor = pairs[PAIRS / 2];
        let step =
            pairs.windows(2).map(|pair| pair[1].0 - pair[0].0).filter(|gap| *gap > 0.0).reduce(f64::min);
        let step = Nanoseconds(step.unwrap_or(1.0));
        Ok(Timer { step, floor, overhead: floor, ..Timer::default() })
    }

    fn method(&self) -> Method {
        Method {
            path: Path::Host,
            path_reason: None,
            kernels: None,
            flush: self.flush,
            flush_reason: None,
            flush_proof: None,
        }
    }
}

fn elapsed(since: Instant) -> Nanoseconds {
    since.elapsed().into()
}
