//! Adapters that lack features, played by one that has them: refusals, and launches that are timed by their passes.

use gpubench_records::failure::Failure;
use gpubench_records::method::Cache;
use gpubench_runtime::device::{Device, SampleOptions, Work};
use gpubench_stats::units::Nanoseconds;
use wgpu::{BufferDescriptor, BufferUsages, Features};

use crate::adapter::{IN_ENCODERS, TIMESTAMPS};
use crate::device::Wgpu;
use crate::encoder::Encoder;
use crate::marks::Boundaries;

/// A launch of so many passes, behind a clear if it has one.
struct Passes {
    encoder: Encoder,
    passes: usize,
    clears: bool,
}

impl Work for Passes {
    fn launch(&mut self) -> Result<(), Failure> {
        if self.clears {
            let usage = BufferUsages::COPY_DST;
            let descriptor = BufferDescriptor { label: None, size: 64, usage, mapped_at_creation: false };
            let buffer = self.encoder.device().create_buffer(&descriptor);
            self.encoder.commands(|commands| commands.clear_buffer(&buffer, 0, None));
        }
        (0..self.passes).for_each(|_| self.encoder.pass(|_| {}));
        Ok(())
    }
}

/// Samples on an adapter with these features, and returns the event times.
fn events(features: Features, passes: usize, clears: bool) -> Result<Vec<Nanoseconds>, Failure> {
    let mut device = Wgpu::open_with(0, features).expect("an adapter with timestamps");
    let mut work = Passes { encoder: device.encoder.clone(), passes, clears };
    let mut sampler = device.sampler(&mut work, &SampleOptions::new(Cache::Hot))?;
    Ok(sampler.group(8)?.events)
}

#[test]
fn an_adapter_without_timestamps_is_refused() {
    let refused = Wgpu::open_with(0, Features::empty()).err().expect("it has no clock");
    let refused = refused.to_string();
    assert!(refused.contains("has no timestamp queries (TIMESTAMP_QUERY)"), "{refused}");
}

#[test]
fn an_adapter_that_is_not_there_is_refused() {
    let refused = Wgpu::open_with(77, TIMESTAMPS).err().expect("there are not so many").to_string();
    assert!(refused.contains("there is no adapter 77"), "{refused}");
}

#[test]
fn launches_are_timed_by_their_passes_where_nothing_else_is() {
    let device = Wgpu::open_with(0, TIMESTAMPS).expect("an adapter with timestamps");
    assert_eq!(device.encoder.boundaries(), Boundaries::Passes);
    for passes in [1, 3] {
        let events = events(TIMESTAMPS, passes, false).expect("it has passes");
        assert_eq!(events.len(), 8);
        assert!(events.iter().all(|event| event.0 > 0.0), "{events:?}");
    }
    let refused = events(TIMESTAMPS, 1, true).expect_err("a clear is in no pass").to_string();
    assert!(refused.contains("only work in `Encoder::pass` can be timed"), "{refused}");
    let refused = events(TIMESTAMPS, 0, false).expect_err("it has no pass").to_string();
    assert!(refused.contains("the launch has no pass"), "{refused}");
    // A query set has 4096 timestamps, two for each pass.
    let refused = events(TIMESTAMPS, 2049, false).expect_err("it has too many").to_string();
    assert!(refused.contains("more passes than a query set has timestamps for"), "{refused}");
}

#[test]
fn timestamps_between_commands_time_everything() {
    for (passes, clears) in [(1, false), (0, true), (2, true)] {
        let events = events(TIMESTAMPS | IN_ENCODERS, passes, clears).expect("all of it is timed");
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
    let mut device = Wgpu::open_with(0, TIMESTAMPS | IN_ENCODERS).expect("an adapter with timestamps");
    let passes = Passes { encoder: device.encoder.clone(), passes: 1, clears: false };
    let mut work = Once(passes, 0);
    let mut sampler = device.sampler(&mut work, &SampleOptions::new(Cache::Hot)).expect("it has a clock");
    assert!(sampler.group(4).is_err());
    assert_eq!(sampler.group(4).expect("the others do not fail").events.len(), 4);
}
