//! The CPU of this machine as a device: an in-order stream over a thread pool, timed by the monotonic clock.
//! Caches are flushed before cold samples. It is a device like any other, not a fake GPU.

mod clock;
#[cfg(feature = "doctor")]
pub(super) mod examine;
mod flush;
mod peaks;
mod pool;
mod spinning_workers;
mod topology;

use std::{any::Any, fs, fs::File, time::Instant};

use gpubench_records::device_info::THREADS;
use gpubench_records::{
    Cache, DeviceInfo, Failure, Flush, LaunchInfo, Observation, Path, Peak, Timer, Value,
};
use gpubench_stats::{Bytes, Nanoseconds, median};

use self::flush::{allocate_sweep_buffer, drop_input_lines, input_size, reason_not_to_drop_lines, sweep};
#[doc(hidden)]
pub use self::topology::cpu_name;
use self::{pool::PinnedPool, spinning_workers::SpinningWorkers};
use crate::device::launch_timer::{self, LaunchTimer, ThreadTime};
use crate::device::{
    Device, DeviceError, InputState, SampleOptions, SamplerResult, StreamSource as _, Work,
    single_launch_sampler,
};
use crate::system::Stat;
pub use gpubench_core::host::{Plain, Stream};

/// The CPU of this machine as a device.
pub struct Host {
    pool: PinnedPool,
    /// The buffer that is read to flush the caches; empty until its first use.
    sweep_buffer: Vec<u64>,
    /// The step of the clock; `None` until it was measured.
    clock_step: Option<Nanoseconds>,
    /// The files with the times of the threads of the pool; empty if one of them cannot be opened.
    schedstats: Vec<File>,
    spinning_workers: SpinningWorkers,
    /// The processors that the threads of the pool may use.
    processors: Vec<usize>,
}

impl Host {
    /// Starts the thread pool of the calling thread, unless it has one, and opens the CPU.
    ///
    /// # Errors
    /// Returns an error if the threads of the pool cannot be started.
    pub fn open() -> Result<Self, DeviceError> {
        let pool = PinnedPool::of_this_thread()?;
        Ok(Self {
            schedstats: clock::open_schedstats(&pool),
            spinning_workers: SpinningWorkers::new(&pool, Cache::Hot),
            processors: topology::allowed_processors(),
            pool,
            sweep_buffer: Vec::new(),
            clock_step: None,
        })
    }
}

impl Device for Host {
    fn stream_source(&mut self) -> Option<&mut dyn Any> {
        Some(&mut self.pool.stream)
    }

    fn info(&mut self) -> Result<DeviceInfo, DeviceError> {
        let mut info = DeviceInfo::new(Stream::KIND, cpu_name())
            .with_property(THREADS, Value::Count(self.pool.threads() as u64));
        for (name, size) in topology::data_caches() {
            info = info.with_property(name, Value::Bytes(size));
        }
        info.runs_program_code = true;
        info.last_level_cache = topology::last_level_cache();
        info.core_bandwidth = Some(topology::core_bandwidth(self.pool.threads(), &self.processors));
        Ok(info)
    }

    fn time_cold_launch(
        &mut self,
        work: &mut dyn Work,
        inputs: InputState,
    ) -> Result<Option<Nanoseconds>, Failure> {
        if inputs == InputState::Fresh {
            populate_pages(work);
        }
        work.reset()?;
        let flush = match (input_size(work), reason_not_to_drop_lines(work)) {
            (Some(Bytes::ZERO), _) => Flush::None,
            (_, None) => Flush::Lines,
            (_, Some(_)) => Flush::Read,
        };
        self.flush(flush, work)?;
        self.make_ready();
        let faults_before = page_faults();
        let time = self.time(work)?;
        Ok(Some(time).filter(|_| met_few_pages_since(faults_before)))
    }

    fn measure_peaks(&mut self) -> Vec<Peak> {
        allocate_sweep_buffer(&mut self.sweep_buffer, &self.pool);
        peaks::measure(&self.pool, &mut self.sweep_buffer, &self.processors)
    }

    fn observe(&mut self, work: &mut dyn Work) -> Result<LaunchInfo, Failure> {
        self.pool.stream.take_ran();
        work.launch()?;
        let mut seen = LaunchInfo::default();
        if !self.pool.stream.take_ran() {
            seen.observations.push(Observation::NoWork);
        }
        seen.empty_launch_time = Some(clock::empty_launch_time(&self.pool.stream));
        Ok(seen)
    }

    fn sampler<'a>(&'a mut self, work: &'a mut dyn Work, wanted: &SampleOptions) -> SamplerResult<'a> {
        self.spinning_workers = SpinningWorkers::new(&self.pool, wanted.cache);
        single_launch_sampler::sampler(self, work, wanted)
    }

    fn pair_sampler<'a>(
        &'a mut self,
        works: [&'a mut dyn Work; 2],
        wanted: &SampleOptions,
    ) -> SamplerResult<'a> {
        self.spinning_workers = SpinningWorkers::new(&self.pool, wanted.cache);
        single_launch_sampler::pair_sampler(self, works, wanted)
    }
}

impl LaunchTimer for Host {
    const PATH: Path = Path::Host;
    const FLUSHES: &'static [Flush] = &[Flush::Lines, Flush::Read];
    const BATCHES: bool = true;

    fn time(&mut self, work: &mut dyn Work) -> Result<Nanoseconds, Failure> {
        self.pool.move_to_own_processor();
        self.spinning_workers.during(|| time_launch(work))
    }

    fn empty_launch_time(&mut self) -> Nanoseconds {
        clock::empty_launch_time(&self.pool.stream)
    }

    fn make_ready(&mut self) -> bool {
        self.pool.move_to_own_processor();
        self.spinning_workers.make_ready(&self.pool)
    }

    fn is_ready(&mut self) -> bool {
        self.spinning_workers.is_ready()
    }

    fn timer(&mut self) -> Result<Timer, Failure> {
        let step = *self.clock_step.get_or_insert_with(clock::measure_step);
        let empty_span = median(&launch_timer::read_empty_spans(time_launch)?).unwrap_or_default();
        Ok(Timer::new(step).with_empty_span(empty_span))
    }

    fn thread_times(&mut self, times: &mut Vec<ThreadTime>) {
        times.extend(self.schedstats.iter().filter_map(clock::thread_time));
    }

    fn end_waits(&mut self) {
        self.pool.on_each_thread(|| ());
    }

    fn others_time(&mut self) -> Option<Nanoseconds> {
        clock::other_programs_time(&self.processors)
    }

    fn refuses(&mut self, flush: Flush, work: &dyn Work) -> Option<String> {
        (flush == Flush::Lines).then(|| reason_not_to_drop_lines(work)).flatten().map(str::to_owned)
    }

    fn flush(&mut self, flush: Flush, work: &dyn Work) -> Result<(), Failure> {
        self.pool.move_to_own_processor();
        match flush {
            Flush::None => {}
            Flush::Lines => drop_input_lines(&self.pool, work),
            _ => {
                allocate_sweep_buffer(&mut self.sweep_buffer, &self.pool);
                sweep(&self.sweep_buffer, &self.pool);
            }
        }
        Ok(())
    }
}

/// Launches `work`, and returns the time of the call according to the monotonic clock.
fn time_launch(work: &mut dyn Work) -> Result<Nanoseconds, Failure> {
    let start = Instant::now();
    let launched = work.launch();
    let time = start.elapsed();
    launched.map(|()| time.into())
}

/// The most new pages (minor page faults) that a cold launch outside of the samples may meet. The operating
/// system slows a launch that meets more, so its time is dropped.
const MOST_NEW_PAGES: u64 = 8;

/// Makes the operating system supply all known pages of the inputs of `work`. Linux supports this since 5.14.
/// On an older system this does nothing, and [`met_few_pages_since`] detects launches that meet new pages.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "rustix offers it as an unsafe function, since other advice drops contents")]
fn populate_pages(work: &dyn Work) {
    use std::ptr;

    use rustix::mm::{Advice, madvise};

    let page = rustix::param::page_size();
    work.memory(&mut |memory| {
        let addresses = memory.addresses();
        let start = addresses.start / page * page;
        let bytes = addresses.end.next_multiple_of(page) - start;
        if !addresses.is_empty() {
            let start = ptr::with_exposed_provenance_mut(start);
            // SAFETY: this advice changes no contents, and the system refuses addresses that are not mapped
            // or not writable.
            _ = unsafe { madvise(start, bytes, Advice::LinuxPopulateWrite) };
        }
    });
}

/// Does nothing: other operating systems do not support this.
#[cfg(not(target_os = "linux"))]
fn populate_pages(_: &dyn Work) {}

/// Returns true if this process has had at most [`MOST_NEW_PAGES`] page faults since [`page_faults`] returned
/// `before`, or if the operating system does not count page faults.
fn met_few_pages_since(before: Option<u64>) -> bool {
    page_faults().zip(before).is_none_or(|(now, before)| now - before <= MOST_NEW_PAGES)
}

/// Returns the number of minor page faults of this process so far, each of which supplies a new page. Returns
/// `None` if the operating system does not count them.
fn page_faults() -> Option<u64> {
    Stat::read(&fs::read_to_string("/proc/self/stat").ok()?)?.number(10)
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use gpubench_records::failure::Failure;

    use super::*;
    use crate::device::Memory;

    struct Untouched(Vec<u8>);

    impl Work for Untouched {
        fn launch(&mut self) -> Result<(), Failure> {
            self.0.chunks_mut(4096).for_each(|page| page[0] = 1);
            Ok(())
        }

        fn memory(&self, visit: &mut dyn FnMut(Memory<'_>)) -> bool {
            visit(Memory::of(&self.0));
            true
        }
    }

    #[test]
    fn a_launch_has_fewer_page_faults_on_populated_memory() {
        let launch = |populated: bool| {
            let mut work = Untouched(vec![0; 128 << 20]);
            if populated {
                populate_pages(&work);
            }
            let before = page_faults();
            work.launch().expect("it launches");
            page_faults().zip(before).map(|(now, before)| now - before)
        };
        let [new, there] = [false, true].map(launch);
        assert!(new > Some(MOST_NEW_PAGES), "{new:?}");
        // Older systems do not know the advice.
        assert!(there < new, "{there:?} of {new:?}");
    }

    /// A launch after the samples that waits for workers it does not use lets other programs run before it, which slows it.
    #[test]
    fn launches_after_the_samples_wait_for_workers_only_if_the_samples_did() {
        let (mut host, mut work) = (Host::open().expect("there is a CPU"), Untouched(vec![0; 4096]));
        let mut sampler = host.sampler(&mut work, &SampleOptions::new(Cache::Cold)).expect("it samples");
        _ = sampler.group(32).expect("it launches");
        drop(sampler);
        assert!(!host.spinning_workers.are_needed());
        host.time_cold_launch(&mut work, InputState::Used).expect("it launches");
        assert!(!host.spinning_workers.are_needed());
    }

    /// The buffer's new pages take 0.1 s for a cache of 100 MiB.
    #[test]
    fn a_launch_without_inputs_needs_no_flush() {
        struct WithoutInputs(bool);
        impl Work for WithoutInputs {
            fn launch(&mut self) -> Result<(), Failure> {
                Ok(())
            }

            fn memory(&self, _: &mut dyn FnMut(Memory<'_>)) -> bool {
                self.0
            }
        }
        let mut host = Host::open().expect("there is a CPU");
        let mut sweeps = |known| {
            host.time_cold_launch(&mut WithoutInputs(known), InputState::Used).expect("it launches");
            !host.sweep_buffer.is_empty()
        };
        assert_eq!([true, false].map(&mut sweeps), [false, true]);
    }

    #[test]
    fn memory_that_cannot_be_written_is_left_alone() {
        struct Constant;
        impl Work for Constant {
            fn launch(&mut self) -> Result<(), Failure> {
                Ok(())
            }

            fn memory(&self, visit: &mut dyn FnMut(Memory<'_>)) -> bool {
                visit(Memory::of(b"constant"));
                visit(Memory::of::<u8>(&[]));
                true
            }
        }
        populate_pages(&Constant);
    }
}
