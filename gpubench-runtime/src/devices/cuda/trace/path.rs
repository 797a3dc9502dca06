//! The path that times samples by CUPTI (`--path cupti`), for those who want the clock of other tools. In: the number of samples; out:
//! their times, from the begin of a launch's first piece to the end of its last, with nothing to take off.

use gpubench_driver::cupti::Tracing;

use super::launches::step_of_stamps;
use super::{LONGEST, TracedLaunch, begin, group, pieces};
use crate::device::Sampler;
use crate::devices::cuda::Cuda;
use crate::devices::cuda::flush::persisting::Suspended;
use crate::devices::cuda::guarded::Guarded;
use crate::devices::cuda::sampling::empty::Empty;
use crate::devices::cuda::sampling::timer::Groups;
use crate::devices::cuda::sampling::timer::spread;
use gpubench_records::failure::Failure;
use gpubench_records::method::{Cache, Flush, Method, Timer};
use gpubench_stats::units::Nanoseconds;

/// The groups of empty launches from which the step of CUPTI's stamps is read.
const GROUPS: usize = 2;

/// Samples by CUPTI.
pub(crate) struct OnCupti<'a> {
    device: &'a mut Cuda,
    work: Guarded<'a>,
    how: (Cache, Flush),
    method: Method,
    tracing: Tracing,
    /// When the first launch began, and the starts of the launches of the last group since then.
    first: Option<u64>,
    starts: Vec<Nanoseconds>,
    _suspended: Option<Suspended>,
}

impl<'a> OnCupti<'a> {
    pub(crate) fn new(
        device: &'a mut Cuda,
        work: Guarded<'a>,
        (cache, method): (Cache, Method),
        suspended: Option<Suspended>,
    ) -> Result<Self, Failure> {
        let how = (cache, method.flush);
        let tracing = begin()?;
        Ok(Self {
            device,
            work,
            how,
            method,
            tracing,
            first: None,
            starts: Vec::new(),
            _suspended: suspended,
        })
    }

    /// Measures the step of the stamps by empty launches.
    fn measure_timer(&self) -> Result<Timer, Failure> {
        let mut empty = Empty::bare(self.device);
        let mut work = Guarded::new(&mut empty, self.device.own);
        let mut launches = Vec::with_capacity(GROUPS * LONGEST);
        for _ in 0..GROUPS {
            launches.extend(group(self.device, &mut work, self.how, (LONGEST, Some(1)), &self.tracing)?);
        }
        let times: Vec<Nanoseconds> = launches.iter().map(TracedLaunch::time).collect();
        let mut timer = Timer::new(step_of_stamps(&launches));
        timer.spread = spread(&times);
        timer.memory_stall = self.device.memory_stall;
        timer.simulated = gpubench_driver::load().is_ok_and(|driver| driver.fake);
        Ok(timer)
    }
}

impl Sampler for OnCupti<'_> {
    fn group(&mut self, samples: usize, events: &mut Vec<Nanoseconds>) -> Result<Nanoseconds, Failure> {
        let count = samples.clamp(1, LONGEST);
        let known = pieces(self.device);
        let launches = group(self.device, &mut self.work, self.how, (count, known), &self.tracing)?;
        let (Some(first), Some(last)) = (launches.first(), launches.last()) else {
            return Ok(Nanoseconds::ZERO);
        };
        let origin = *self.first.get_or_insert(first.begin);
        let since = |launch: &TracedLaunch| Nanoseconds(launch.begin.saturating_sub(origin) as f64);
        self.starts = launches.iter().map(since).collect();
        events.extend(launches.iter().map(TracedLaunch::time));
        Ok(Nanoseconds(last.end.saturating_sub(first.begin) as f64))
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        let key = (Groups::Trace, self.how.0);
        if let Some(timer) = self.device.timers.get(&key) {
            return Ok(*timer);
        }
        let timer = self.measure_timer()?;
        self.device.timers.insert(key, timer);
        Ok(timer)
    }

    fn overhead(&mut self) -> Option<Nanoseconds> {
        // Each group has its own, which is none.
        Some(Nanoseconds::ZERO)
    }

    fn starts(&self) -> &[Nanoseconds] {
        &self.starts
    }

    fn method(&self) -> Method {
        self.method.clone()
    }

    fn call(&mut self) -> Option<Nanoseconds> {
        self.work.call()
    }
}
