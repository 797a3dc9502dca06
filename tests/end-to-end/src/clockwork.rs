//! A device as a user of gpubench would add one: its clock moves when a launch says so and never else, in
//! steps of 32 ns.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use std::{env, thread};

use gpubench::device::{
    Cache, Device, DeviceError, DeviceKind, DeviceType, Failure, Flush, InputState, Method, Monitor, Path,
    Reading, SampleOptions, SampledGroup, Sampler, Timer, Work, swapped,
};

use gpubench::device_info::{DeviceInfo, Peak, PeakSource, Quantity, UUID, Value};
use gpubench::units::{Bytes, Joules, Nanoseconds, Rate};
use gpubench::{CaseError, LaunchStream, StreamSource};

/// The clock's step in nanoseconds.
pub const STEP: u64 = 32;
/// The reading of an empty pair of events, in nanoseconds.
pub const FLOOR: u64 = 16 * STEP;
/// The time of a flush, in nanoseconds.
pub const FLUSH: u64 = 10_000;
/// The memory bandwidth that the device claims, in bytes per second.
pub const BANDWIDTH: f64 = 12e9;

/// The stream: launches advance its clock.
#[derive(Clone, Debug, Default)]
pub struct Clockwork {
    now: Rc<Cell<u64>>,
    sampled: Rc<Cell<Option<Cache>>>,
    /// The energy so far, in nanojoules.
    drawn: Arc<AtomicU64>,
}

impl Clockwork {
    /// Draws so many nanojoules. They are counted where `CLOCKWORK_ENERGY` is set.
    pub fn draw(&self, nanojoules: u64) {
        self.drawn.fetch_add(nanojoules, Ordering::Relaxed);
    }

    /// Lets `nanoseconds` pass.
    pub fn advance(&self, nanoseconds: u64) {
        self.now.set(self.now.get() + nanoseconds);
    }

    /// Turns the clock back by `nanoseconds`, as no clock should be.
    pub fn turn_back(&self, nanoseconds: u64) {
        self.now.set(self.now.get().saturating_sub(nanoseconds));
    }

    /// The cache state of the launch in progress; nothing before the first sampler.
    #[must_use]
    pub fn sampled(&self) -> Option<Cache> {
        self.sampled.get()
    }

    fn read(&self) -> u64 {
        self.now.get() / STEP * STEP
    }
}

/// The device: one stream.
#[derive(Debug)]
pub struct Tower(Clockwork);

impl StreamSource for Tower {
    const KIND: &'static str = "clockwork";
}

impl DeviceType for Tower {
    fn open(_: usize) -> Result<Self, DeviceError> {
        Ok(Self(Clockwork::default()))
    }
}

gpubench::device_kind!(DeviceKind::new::<Tower>());

impl LaunchStream for Clockwork {
    type Source = Tower;
    type Owned = Self;

    fn open(device: &mut Tower) -> Result<Self, CaseError> {
        device.0.sampled.set(None);
        Ok(device.0.clone())
    }
}

impl Device for Tower {
    fn info(&mut self) -> Result<DeviceInfo, DeviceError> {
        let cache = Bytes(32 << 10);
        let memory = Quantity::MemoryBandwidth;
        let info = DeviceInfo::new(Self::KIND, "a clock with known hands")
            .with_property("hands", Value::Count(2))
            .with_property("cache", Value::Bytes(cache))
            .with_last_level_cache(cache)
            .with_peak(Peak::new(memory, Rate(BANDWIDTH), PeakSource::Measured, "copy on this test device"));
        Ok(match env::var("CLOCKWORK_UUID") {
            Ok(uuid) => info.with_property(UUID, Value::Text(uuid)),
            Err(_) => info,
        })
    }

    fn monitor(&mut self) -> Result<Box<dyn Monitor>, DeviceError> {
        match env::var_os("CLOCKWORK_ENERGY") {
            Some(_) => Ok(Box::new(Meter(Arc::clone(&self.0.drawn)))),
            None => Err(DeviceError::new("a clock without sensors")),
        }
    }

    // Launches that fail for one state of the cache do so among its samples alone.
    fn time_cold_launch(
        &mut self,
        work: &mut dyn Work,
        _: InputState,
    ) -> Result<Option<Nanoseconds>, Failure> {
        self.0.sampled.set(None);
        work.reset()?;
        work.launch().map(|()| None)
    }

    fn sampler<'a>(
        &'a mut self,
        work: &'a mut dyn Work,
        wanted: &SampleOptions,
    ) -> Result<Box<dyn Sampler + 'a>, Failure> {
        self.0.sampled.set(Some(wanted.cache));
        Ok(Box::new(Readings { clock: &self.0, works: [work], flush: flush(wanted) }))
    }

    fn pair_sampler<'a>(
        &'a mut self,
        works: [&'a mut dyn Work; 2],
        wanted: &SampleOptions,
    ) -> Result<Box<dyn Sampler + 'a>, Failure> {
        self.0.sampled.set(Some(wanted.cache));
        Ok(Box::new(Readings { clock: &self.0, works, flush: flush(wanted) }))
    }
}

struct Meter(Arc<AtomicU64>);

impl Monitor for Meter {
    fn read(&mut self) -> Reading {
        Reading::default()
    }

    fn energy(&mut self) -> Option<Joules> {
        Some(Joules(self.0.load(Ordering::Relaxed) as f64 / 1e9))
    }
}

struct Readings<'a, const WORKS: usize> {
    clock: &'a Clockwork,
    works: [&'a mut dyn Work; WORKS],
    flush: Flush,
}

impl Clockwork {
    fn sample(&self, work: &mut dyn Work, flush: Flush) -> Result<Nanoseconds, Failure> {
        work.reset()?;
        if flush != Flush::None {
            self.advance(FLUSH);
        }
        let start = self.read();
        self.advance(FLOOR);
        work.launch()?;
        Ok(Nanoseconds(self.read() as f64 - start as f64))
    }
}

impl<const WORKS: usize> Sampler for Readings<'_, WORKS> {
    fn group(&mut self, samples: usize) -> Result<SampledGroup, Failure> {
        let (mut events, begin) = (Vec::new(), self.clock.read());
        for sample in 0..samples {
            let mut read = [Nanoseconds::default(); WORKS];
            for turn in 0..WORKS {
                let whose = if swapped(sample) { WORKS - 1 - turn } else { turn };
                read[whose] = self.clock.sample(self.works[whose], self.flush)?;
            }
            events.extend(read);
        }
        Ok(SampledGroup::new(events, Nanoseconds(self.clock.read() as f64 - begin as f64)))
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        Ok(timer())
    }

    fn method(&self) -> Method {
        Method::new(Path::Device).with_flush(self.flush)
    }

    fn partner_method(&self) -> Option<Method> {
        (WORKS == 2).then(|| self.method())
    }

    /// Takes as long by every clock as by its own: energy is what is counted in a second.
    fn back_to_back(&mut self, launches: usize) -> Result<Option<usize>, Failure> {
        let begin = self.clock.now.get();
        for _ in 0..launches {
            self.works[0].launch()?;
        }
        thread::sleep(Duration::from_nanos(self.clock.now.get() - begin));
        Ok(Some(launches))
    }
}

fn timer() -> Timer {
    let timer = Timer::new(Nanoseconds(STEP as f64)).with_empty_span(Nanoseconds(FLOOR as f64));
    Timer { simulated: true, ..timer }
}

/// Returns the flush of cold samples: `read`, or none if that is asked for.
fn flush(wanted: &SampleOptions) -> Flush {
    match (wanted.cache, wanted.flush) {
        (Cache::Hot, _) | (_, Some(Flush::None)) => Flush::None,
        _ => Flush::Read,
    }
}
