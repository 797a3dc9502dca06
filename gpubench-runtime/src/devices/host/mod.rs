//! This machine's CPU as a device: an in-order stream over a thread pool, timed by the monotonic clock, the
//! caches flushed before cold samples. A device like any other, not a stand-in for a GPU.

mod awake;
mod clock;
pub(super) mod examine;
mod flush;
mod multiply_add;
mod pages;
mod peaks;
mod stream;
mod topology;

use std::time::Instant;

pub use self::stream::Stream;
pub(crate) use self::topology::cpu_name;
pub use crate::bind::Plain;

use self::awake::Awake;
use self::clock::PoolThreads;
use self::flush::{FlushSweep, drop_input_lines, lines_refused};
use crate::device::launch_timer::{self, LaunchTimer, ThreadTime};
use crate::device::one_by_one;
use crate::device::{
    Available, Device, DeviceError, DeviceType, Inputs, LaunchStream, SampleOptions, Sampler, Work,
};
use gpubench_records::device_info::{DeviceInfo, Peak, THREADS, Value};
use gpubench_records::failure::Failure;
use gpubench_records::launch::LaunchInfo;
use gpubench_records::method::{Cache, Flush, Path, Timer};
use gpubench_records::observation::Observation;
use gpubench_stats::median;
use gpubench_stats::units::Nanoseconds;

/// This machine's CPU.
pub struct Host {
    stream: Stream,
    sweep: FlushSweep,
    /// The step of the clock, once it was measured.
    clock_step: Option<Nanoseconds>,
    threads: PoolThreads,
    awake: Awake,
    /// The processors that its threads may use.
    processors: Vec<usize>,
}

/// Returns this machine's CPU, before it is opened.
pub(super) fn this_machine() -> Available {
    Available::new(Host::KIND, Host::KIND).with_name(cpu_name())
}

impl DeviceType for Host {
    const KIND: &'static str = "host";

    fn open(_: usize) -> Result<Self, DeviceError> {
        let stream = Stream::of_this_thread()?;
        Ok(Self {
            threads: PoolThreads::of(&stream),
            awake: Awake::of(&stream, Cache::Hot),
            processors: topology::allowed_processors(),
            stream,
            sweep: FlushSweep::default(),
            clock_step: None,
        })
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
    fn info(&mut self) -> Result<DeviceInfo, DeviceError> {
        let mut info = DeviceInfo::new(Self::KIND, cpu_name())
            .with_property(THREADS, Value::Count(self.stream.threads() as u64));
        for (name, size) in topology::caches() {
            info = info.with_property(name, Value::Bytes(size));
        }
        info.runs_program_code = true;
        info.last_level_cache = topology::last_level_cache();
        info.core_bandwidth = Some(topology::core_bandwidth(self.stream.threads(), &self.processors));
        Ok(info)
    }

    fn launch_cold(&mut self, work: &mut dyn Work, inputs: Inputs) -> Result<Option<Nanoseconds>, Failure> {
        if inputs == Inputs::Fresh {
            pages::populate(work);
        }
        self.awake = Awake::of(&self.stream, Cache::Cold);
        work.reset()?;
        let flush = if lines_refused(work).is_none() { Flush::Lines } else { Flush::Read };
        self.flush(flush, work)?;
        self.make_ready();
        let met = pages::met();
        let time = self.time(work)?;
        Ok(Some(time).filter(|_| pages::few_since(met)))
    }

    fn measure_peaks(&mut self) -> Vec<Peak> {
        peaks::measure(&self.stream, self.sweep.buffer(&self.stream), &self.processors)
    }

    fn observe(&mut self, work: &mut dyn Work) -> Result<LaunchInfo, Failure> {
        self.stream.take_ran();
        work.launch()?;
        let mut seen = LaunchInfo::default();
        if !self.stream.take_ran() {
            seen.observations.push(Observation::NoWork);
        }
        seen.empty_launch_time = Some(clock::empty_launch_time(&self.stream));
        Ok(seen)
    }

    fn sampler<'a>(
        &'a mut self,
        work: &'a mut dyn Work,
        wanted: &SampleOptions,
    ) -> Result<Box<dyn Sampler + 'a>, Failure> {
        self.awake = Awake::of(&self.stream, wanted.cache);
        one_by_one::sampler(self, work, wanted)
    }

    fn pair_sampler<'a>(
        &'a mut self,
        works: [&'a mut dyn Work; 2],
        wanted: &SampleOptions,
    ) -> Result<Box<dyn Sampler + 'a>, Failure> {
        self.awake = Awake::of(&self.stream, wanted.cache);
        one_by_one::pair_sampler(self, works, wanted)
    }
}

impl LaunchTimer for Host {
    const PATH: Path = Path::Host;
    const FLUSHES: &'static [Flush] = &[Flush::Lines, Flush::Read];
    const BATCHES: bool = true;

    fn time(&mut self, work: &mut dyn Work) -> Result<Nanoseconds, Failure> {
        self.stream.take_place();
        self.awake.during(|| timed(work))
    }

    fn make_ready(&mut self) -> bool {
        self.stream.take_place();
        self.awake.make_ready(&self.stream)
    }

    fn is_ready(&mut self) -> bool {
        self.awake.is_ready()
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        let step = *self.clock_step.get_or_insert_with(clock::step);
        let floor = median(&launch_timer::readings(&mut Clock)?).unwrap_or_default();
        Ok(Timer::new(step).with_empty_span(floor))
    }

    fn thread_times(&mut self, times: &mut Vec<ThreadTime>) {
        self.threads.times(times);
    }

    fn end_waits(&mut self) {
        self.stream.on_each_thread(|| ());
    }

    fn others_time(&mut self) -> Option<Nanoseconds> {
        clock::others_time(&self.processors)
    }

    fn refuses(&mut self, flush: Flush, work: &dyn Work) -> Option<String> {
        (flush == Flush::Lines).then(|| lines_refused(work)).flatten().map(str::to_owned)
    }

    fn flush(&mut self, flush: Flush, work: &dyn Work) -> Result<(), Failure> {
        self.stream.take_place();
        match flush {
            Flush::Lines => drop_input_lines(&self.stream, work),
            _ => self.sweep.flush(&self.stream),
        }
        Ok(())
    }
}

/// The clock alone.
struct Clock;

impl LaunchTimer for Clock {
    fn time(&mut self, work: &mut dyn Work) -> Result<Nanoseconds, Failure> {
        timed(work)
    }
}

/// Launches, and returns the time by the monotonic clock.
fn timed(work: &mut dyn Work) -> Result<Nanoseconds, Failure> {
    let start = Instant::now();
    let launched = work.launch();
    let time = start.elapsed();
    launched.map(|()| time.into())
}
