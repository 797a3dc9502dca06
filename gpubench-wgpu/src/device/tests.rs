//! Adapters that are refused, and groups of launches.

use gpubench_records::{Cache, Failure};
use gpubench_runtime::device::{Device, DeviceType, SampleOptions, Work};
use gpubench_stats::Nanoseconds;
use wgpu::{BufferUsages, Features};

use super::{Wgpu, adapter};
use crate::encoder::{Encoder, buffer};

/// A launch of this many passes, behind a clear if it has one.
struct Passes {
    encoder: Encoder,
    passes: usize,
    clears: bool,
}

impl Work for Passes {
    fn launch(&mut self) -> Result<(), Failure> {
        if self.clears {
            let buffer = buffer(self.encoder.device(), 64, BufferUsages::COPY_DST);
            self.encoder.commands(|commands| commands.clear_buffer(&buffer, 0, None));
        }
        (0..self.passes).for_each(|_| self.encoder.pass(|_| {}));
        Ok(())
    }
}

/// Samples on the first adapter, and returns the event times.
fn events(passes: usize, clears: bool) -> Result<Vec<Nanoseconds>, Failure> {
    let mut device = Wgpu::open(0).expect("an adapter with timestamps");
    let mut work = Passes { encoder: device.encoder.clone(), passes, clears };
    let mut sampler = device.sampler(&mut work, &SampleOptions::new(Cache::Hot))?;
    Ok(sampler.group(8)?.events)
}

#[test]
fn an_adapter_without_timestamps_is_refused() {
    for features in [Features::empty(), Features::TIMESTAMP_QUERY] {
        let refused = adapter::timestamp_refusal(features, "an adapter").expect("it has no clock");
        assert!(refused.contains("has no timestamps between commands"), "{refused}");
    }
}

#[test]
fn an_adapter_that_is_not_there_is_refused() {
    let refused = Wgpu::open(77).err().expect("there are not this many").to_string();
    assert!(refused.contains("there is no adapter 77"), "{refused}");
}

#[test]
fn timestamps_between_commands_time_everything() {
    for (passes, clears) in [(1, false), (0, true), (2, true)] {
        let events = events(passes, clears).expect("all of it is timed");
        assert!(events.len() == 8 && events.iter().all(|event| event.0 > 0.0), "{events:?}");
    }
}

/// A launch that fails in the middle of a group leaves nothing behind for the next.
#[test]
fn a_failed_group_leaves_no_commands() {
    struct Once(Passes, usize);
    impl Work for Once {
        fn launch(&mut self) -> Result<(), Failure> {
            self.1 += 1;
            let failed = Failure::new(gpubench_records::failure::Stage::Launch, "the third fails");
            if self.1 == 3 { Err(failed) } else { self.0.launch() }
        }
    }
    let mut device = Wgpu::open(0).expect("an adapter with timestamps");
    let passes = Passes { encoder: device.encoder.clone(), passes: 1, clears: false };
    let mut work = Once(passes, 0);
    let mut sampler = device.sampler(&mut work, &SampleOptions::new(Cache::Hot)).expect("it has a clock");
    assert!(sampler.group(4).is_err());
    assert_eq!(sampler.group(4).expect("the others do not fail").events.len(), 4);
}
