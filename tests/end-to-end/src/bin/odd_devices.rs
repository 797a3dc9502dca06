//! A suite on devices that are not as they should be.

use std::thread;
use std::time::Duration;

use end_to_end::clockwork::{Clockwork, Tower};
use gpubench::device::{Device, DeviceError, DeviceType, LaunchStream, SampleOptions, Sampler, Work};
use gpubench::facts::Facts;
use gpubench::failure::Failure;
use gpubench::gpu_bench;

gpubench::main!();

const ABSENT: usize = 0;
const SLOW: usize = 1;
const MISNAMED: usize = 2;
const KINDS: [&str; 3] = ["absent", "slow", "misnamed"];

/// A [`Tower`] with one oddity.
struct Odd<const KIND: usize>(Tower);

/// A stream of it.
struct OddStream<const KIND: usize>(Clockwork);

impl<const KIND: usize> DeviceType for Odd<KIND> {
    const KIND: &'static str = KINDS[KIND];

    fn open(ordinal: usize) -> Result<Self, DeviceError> {
        match KIND {
            ABSENT => Err(DeviceError::new("it is not plugged in")),
            _ => Tower::open(ordinal).map(Self),
        }
    }
}

impl<const KIND: usize> LaunchStream for OddStream<KIND> {
    type Device = Odd<KIND>;
    type Owned = Self;

    fn over(device: &mut Odd<KIND>) -> Result<Self, DeviceError> {
        Clockwork::over(&mut device.0).map(Self)
    }
}

impl<const KIND: usize> Device for Odd<KIND> {
    fn facts(&mut self) -> Result<Facts, DeviceError> {
        if KIND == SLOW {
            thread::sleep(Duration::from_millis(1_500));
        }
        let mut facts = self.0.facts()?;
        facts.device = if KIND == MISNAMED { "something else" } else { KINDS[KIND] }.to_owned();
        Ok(facts)
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
