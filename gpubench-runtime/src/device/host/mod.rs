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
    Cache, Device, DeviceError, DeviceType, Facts, Flush, Group, LaunchStream, Method, Path, Sampler, Timer,
    Work,
};
use crate::failure::Failure;
use crate::units::Nanoseconds;

/// This machine's CPU.
pub struct Host {
    stream: Stream,
    sweep: Sweep,
}

impl DeviceType for Host {
    const KIND: &'static str = "host";

    fn open() -> Result<Self, DeviceError> {
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
            properties,
            last_level_cache,
            peaks: peaks::measure(&self.stream, last_level_cache),
        })
    }

    fn timer(&mut self) -> Result<Timer, DeviceError> {
        const PAIRS: usize = 10_001;
        let mut pairs: Vec<Nanoseconds> = (0..PAIRS).map(|_| elapsed(Instant::now())).collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let floor = pairs[PAIRS / 2];
        let step =
            pairs.windows(2).map(|pair| pair[1].0 - pair[0].0).filter(|gap| *gap > 0.0).reduce(f64::min);
        let step = Nanoseconds(step.unwrap_or(1.0));
        Ok(Timer { step, floor, overhead: floor })
    }

    fn sampler<'a>(
        &'a mut self,
        work: &'a mut dyn Work,
        cache: Cache,
    ) -> Result<Box<dyn Sampler + 'a>, Failure> {
        Ok(Box::new(HostSampler { device: self, work, cache }))
    }
}

struct HostSampler<'a> {
    device: &'a Host,
    work: &'a mut dyn Work,
    cache: Cache,
}

impl Sampler for HostSampler<'_> {
    fn group(&mut self, samples: usize) -> Result<Group, Failure> {
        let mut events = Vec::with_capacity(samples);
        let begin = Instant::now();
        if self.cache == Cache::Hot {
            self.work.launch()?;
        }
        for _ in 0..samples {
            if self.cache == Cache::Cold {
                self.device.sweep.flush(&self.device.stream);
            }
            let start = Instant::now();
            let launched = self.work.launch();
            let event = elapsed(start);
            launched?;
            events.push(event);
        }
        Ok(Group { events, elapsed: elapsed(begin) })
    }

    fn method(&self) -> Method {
        let flush = if self.cache == Cache::Cold { Flush::Read } else { Flush::None };
        Method { path: Path::Host, flush }
    }
}

fn elapsed(since: Instant) -> Nanoseconds {
    since.elapsed().into()
}
