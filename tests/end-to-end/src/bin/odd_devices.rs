//! A suite on devices that are not as they should be.

use std::thread;
use std::time::{Duration, Instant};

use end_to_end::clockwork::{Clockwork, Tower};
use gpubench::device::single_launch_sampler::{self, LaunchTimer};
use gpubench::device::{Device, DeviceError, DeviceKind, DeviceType, Failure, SampleOptions, Sampler, Work};
use gpubench::device_info::DeviceInfo;
use gpubench::units::Nanoseconds;
use gpubench::{CaseError, LaunchStream, StreamSource, gpu_bench};

gpubench::main!();

const ABSENT: usize = 0;
const SLOW: usize = 1;
const MISNAMED: usize = 2;
const HASTY: usize = 3;
const KINDS: [&str; 4] = ["absent", "slow", "misnamed", "hasty"];

/// A [`Tower`] with one oddity.
struct Odd<const KIND: usize>(Tower);

/// A stream of it.
struct OddStream<const KIND: usize>(Clockwork);

impl<const KIND: usize> StreamSource for Odd<KIND> {
    const KIND: &'static str = KINDS[KIND];
}

impl<const KIND: usize> DeviceType for Odd<KIND> {
    fn open(ordinal: usize) -> Result<Self, DeviceError> {
        match KIND {
            ABSENT => Err(DeviceError::new("it is not plugged in")),
            _ => Tower::open(ordinal).map(Self),
        }
    }
}

gpubench::device_kind!(DeviceKind::new::<Odd<ABSENT>>());
gpubench::device_kind!(DeviceKind::new::<Odd<SLOW>>());
gpubench::device_kind!(DeviceKind::new::<Odd<MISNAMED>>());
gpubench::device_kind!(DeviceKind::new::<Odd<HASTY>>());

impl<const KIND: usize> LaunchStream for OddStream<KIND> {
    type Source = Odd<KIND>;
    type Owned = Self;

    fn open(device: &mut Odd<KIND>) -> Result<Self, CaseError> {
        Clockwork::open(&mut device.0).map(Self)
    }
}

impl<const KIND: usize> Device for Odd<KIND> {
    fn info(&mut self) -> Result<DeviceInfo, DeviceError> {
        if KIND == SLOW {
            thread::sleep(Duration::from_millis(1_500));
        }
        let mut info = self.0.info()?;
        info.device = if KIND == MISNAMED { "something else" } else { KINDS[KIND] }.to_owned();
        Ok(info)
    }

    fn sampler<'a>(
        &'a mut self,
        work: &'a mut dyn Work,
        wanted: &SampleOptions,
    ) -> Result<Box<dyn Sampler + 'a>, Failure> {
        self.0.sampler(work, wanted)
    }
}

#[gpu_bench]
fn on_absent(stream: &OddStream<ABSENT>) {
    stream.0.advance(3_200);
}

#[gpu_bench]
fn on_slow(stream: &OddStream<SLOW>) {
    stream.0.advance(3_200);
}

#[gpu_bench]
fn on_misnamed(stream: &OddStream<MISNAMED>) {
    stream.0.advance(3_200);
}

/// Claims a MiB in a nanosecond, and 10¹² bytes.
#[gpu_bench(args(bytes = [1 << 20, 1_000_000_000_000]), bytes = bytes)]
fn on_hasty(bytes: u64, stream: &OddStream<HASTY>) {
    _ = bytes;
    stream.0.advance(1);
}

const BACKWARDS: usize = 0;
const NO_NUMBER: usize = 1;
const FAST: usize = 2;
const WAITING: usize = 3;
const CLOCKS: [&str; 4] = ["backwards", "no-number", "fast", "waiting"];

/// A device whose clock is broken in one way, and one whose launches keep the host waiting while the device does nothing.
struct Broken<const CLOCK: usize> {
    launches: usize,
}

/// A stream of it.
struct BrokenStream<const CLOCK: usize>;

impl<const CLOCK: usize> StreamSource for Broken<CLOCK> {
    const KIND: &'static str = CLOCKS[CLOCK];
}

impl<const CLOCK: usize> DeviceType for Broken<CLOCK> {
    fn open(_: usize) -> Result<Self, DeviceError> {
        Ok(Self { launches: 0 })
    }
}

gpubench::device_kind!(DeviceKind::new::<Broken<BACKWARDS>>());
gpubench::device_kind!(DeviceKind::new::<Broken<NO_NUMBER>>());
gpubench::device_kind!(DeviceKind::new::<Broken<FAST>>());
gpubench::device_kind!(DeviceKind::new::<Broken<WAITING>>());

impl<const CLOCK: usize> LaunchStream for BrokenStream<CLOCK> {
    type Source = Broken<CLOCK>;
    type Owned = Self;

    fn open(_: &mut Broken<CLOCK>) -> Result<Self, CaseError> {
        Ok(Self)
    }
}

impl<const CLOCK: usize> Device for Broken<CLOCK> {
    fn info(&mut self) -> Result<DeviceInfo, DeviceError> {
        Ok(DeviceInfo::new(CLOCKS[CLOCK], "a clock to be repaired"))
    }

    fn sampler<'a>(
        &'a mut self,
        work: &'a mut dyn Work,
        wanted: &SampleOptions,
    ) -> Result<Box<dyn Sampler + 'a>, Failure> {
        single_launch_sampler::sampler(self, work, wanted)
    }
}

impl<const CLOCK: usize> LaunchTimer for Broken<CLOCK> {
    fn time(&mut self, work: &mut dyn Work) -> Result<Nanoseconds, Failure> {
        self.launches += 1;
        let begin = Instant::now();
        work.launch()?;
        let time = Nanoseconds::from(begin.elapsed());
        let is_broken = self.launches.is_multiple_of(100);
        Ok(match CLOCK {
            BACKWARDS if is_broken => -1.0 * time,
            NO_NUMBER if is_broken => Nanoseconds(f64::NAN),
            FAST => 10.0 * time,
            // Noise that no number of samples averages away soon, but for what launches nothing.
            WAITING if time > Nanoseconds(1e6) => {
                Nanoseconds(1_000.0 * (100 + self.launches * 61 % 100) as f64)
            }
            _ => time,
        })
    }
}

fn spin(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {}
}

#[gpu_bench]
fn on_backwards(_stream: &BrokenStream<BACKWARDS>) {
    spin(Duration::from_micros(20));
}

#[gpu_bench]
fn on_no_number(_stream: &BrokenStream<NO_NUMBER>) {
    spin(Duration::from_micros(20));
}

#[gpu_bench]
fn on_fast(_stream: &BrokenStream<FAST>) {
    spin(Duration::from_micros(200));
}

#[gpu_bench]
fn on_waiting(_stream: &BrokenStream<WAITING>) {
    thread::sleep(Duration::from_millis(2));
}
