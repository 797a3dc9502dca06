//! This machine's CPU as a device: an in-order stream over a thread pool, timed by the monotonic clock, its
//! last-level cache flushed before cold samples. A device like any other, not a stand-in for a GPU.

mod flush;
mod peaks;
mod stream;
mod topology;

use std::time::Instant;

pub use self::stream::Stream;
pub(crate) use self::topology::cpu_name;

use self::flush::FlushSweep;
use super::turns::swapped;
use super::{
    Available, Device, DeviceError, DeviceType, LaunchStream, PairSampler, SampleOptions, Sampler, Work,
};
use gpubench_records::facts::{Facts, Value};
use gpubench_records::failure::{Failure, Stage};
use gpubench_records::method::{Cache, Flush, Method, Path, Timer};
use gpubench_stats::units::Nanoseconds;

/// This machine's CPU.
pub struct Host {
    stream: Stream,
    sweep: FlushSweep,
}

/// Returns this machine's CPU, before it is opened.
pub(super) fn this_machine() -> Available {
    Available::new(Host::KIND, Host::KIND).with_name(cpu_name())
}

impl DeviceType for Host {
    const KIND: &'static str = "host";

    fn open(_: usize) -> Result<Self, DeviceError> {
        let stream = Stream::of_this_thread()?;
        let sweep = FlushSweep::over(&stream, topology::last_level_cache());
        Ok(Self { stream, sweep })
    }
}

impl LaunchStream for Stream {
    type Device = Host;
    type Owned = Self;

    fn over(device: &mut Host) -> Result<Self, DeviceError> {
        Ok(device.stream.clone())
    }
}

impl Device for Host {
    fn facts(&mut self) -> Result<Facts, DeviceError> {
        let mut facts = Facts::new(Self::KIND, cpu_name())
            .with_property("threads", Value::Count(self.stream.threads() as u64));
        for (name, size) in topology::caches() {
            facts = facts.with_property(name, Value::Bytes(size));
        }
        facts.runs_program_code = true;
        facts.last_level_cache = topology::last_level_cache();
        facts.peaks = peaks::measure(&self.stream, facts.last_level_cache);
        Ok(facts)
    }

    fn sampler<'a>(
        &'a mut self,
        work: &'a mut dyn Work,
        wanted: &SampleOptions,
    ) -> Result<Box<dyn Sampler + 'a>, Failure> {
        let flush = flush(wanted)?;
        Ok(Box::new(HostSampler { device: self, work, cache: wanted.cache, flush }))
    }

    fn pair_sampler<'a>(
        &'a mut self,
        works: [&'a mut dyn Work; 2],
        wanted: &SampleOptions,
    ) -> Result<Box<dyn PairSampler + 'a>, Failure> {
        let flush = flush(wanted)?;
        Ok(Box::new(HostPairSampler { device: self, works, cache: wanted.cache, flush }))
    }
}

/// Returns the flush before each sample, as `wanted`.
fn flush(wanted: &SampleOptions) -> Result<Flush, Failure> {
    if let Some(path) = wanted.path {
        let message = format!("--path {path}: this machine's CPU is timed by its clock alone");
        return Err(Failure::new(Stage::Device, message));
    }
    match (wanted.cache, wanted.flush) {
        (Cache::Hot, _) | (Cache::Cold, Some(Flush::None)) => Ok(Flush::None),
        (Cache::Cold, None | Some(Flush::Read)) => Ok(Flush::Read),
        (Cache::Cold, Some(flush)) => {
            let message = format!("--flush {flush}: this machine's CPU has `read` and `none`");
            Err(Failure::new(Stage::Device, message))
        }
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
            events.push(self.device.sample(self.work, self.flush)?);
        }
        Ok(elapsed(begin))
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        Ok(timer())
    }

    fn method(&self) -> Method {
        method(self.flush)
    }
}

struct HostPairSampler<'a> {
    device: &'a Host,
    works: [&'a mut dyn Work; 2],
    cache: Cache,
    flush: Flush,
}

impl PairSampler for HostPairSampler<'_> {
    fn group(&mut self, pairs: usize, events: &mut Vec<[Nanoseconds; 2]>) -> Result<Nanoseconds, Failure> {
        events.reserve(pairs);
        let begin = Instant::now();
        for number in 0..pairs {
            let mut pair = [Nanoseconds::default(); 2];
            let order = if swapped(number) { [1, 0] } else { [0, 1] };
            for whose in order {
                let work = &mut *self.works[whose];
                if self.cache == Cache::Hot {
                    work.launch()?;
                }
                pair[whose] = self.device.sample(work, self.flush)?;
            }
            events.push(pair);
        }
        Ok(elapsed(begin))
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        Ok(timer())
    }

    fn methods(&self) -> [Method; 2] {
        [self.flush; 2].map(method)
    }
}

impl Host {
    /// Flushes, resets, and returns the time of one launch.
    fn sample(&self, work: &mut dyn Work, flush: Flush) -> Result<Nanoseconds, Failure> {
        work.reset()?;
        if flush == Flush::Read {
            self.sweep.flush(&self.stream);
        }
        let start = Instant::now();
        let launched = work.launch();
        let event = elapsed(start);
        launched.map(|()| event)
    }
}

/// Measures the clock around nothing.
fn timer() -> Timer {
    const PAIRS: usize = 10_001;
    let mut pairs: Vec<Nanoseconds> = (0..PAIRS).map(|_| elapsed(Instant::now())).collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let floor = pairs[PAIRS / 2];
    let step = pairs.windows(2).map(|pair| pair[1].0 - pair[0].0).filter(|gap| *gap > 0.0).reduce(f64::min);
    let step = Nanoseconds(step.unwrap_or(1.0));
    Timer::new(step).with_floor(floor)
}

fn method(flush: Flush) -> Method {
    Method::new(Path::Host).with_flush(flush)
}

fn elapsed(since: Instant) -> Nanoseconds {
    since.elapsed().into()
}
