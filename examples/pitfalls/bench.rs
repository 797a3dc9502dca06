//! Shared by all steps: the device, the scaled sizes, and the times of the naive matrix product by gpubench and by hand.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::time::Duration;

use gpubench::device::Reading;
use gpubench::device_info::DeviceInfo;
use gpubench::record::{Cache, Measurement, Run};
use gpubench::settings::{ArgValues, CacheStates};
use gpubench::units::Nanoseconds;
use gpubench::{Settings, format, stats};
use serde::de::DeserializeOwned;

use crate::by_hand::{HandTiming, Timers};
use crate::common::{KERNELS, Lab, Result, measured};

/// The device, the sizes and the measurements so far.
pub(crate) struct Bench<'a> {
    lab: RefCell<Lab<'a>>,
    /// The measured device.
    pub(crate) device: DeviceInfo,
    scale: usize,
    /// The distance between the sizes of a curve.
    pub(crate) step: usize,
    /// The reading of the sensors before the measurements.
    pub(crate) idle: Option<Reading>,
    /// gpubench's measurements of naive products, by size.
    naive: RefCell<BTreeMap<usize, Measurement>>,
    /// The readings of naive products by hand, by size.
    timers: RefCell<BTreeMap<usize, Timers>>,
}

impl<'a> Bench<'a> {
    /// Creates a bench that divides sizes by `scale`.
    pub(crate) fn new(lab: Lab<'a>, device: DeviceInfo, scale: usize, step: usize) -> Result<Self> {
        let (lab, naive, timers) = (RefCell::new(lab), RefCell::default(), RefCell::default());
        let mut bench = Self { lab, device, scale, step, idle: None, naive, timers };
        bench.idle = bench.ask(&HandTiming::Sensors, &[])?;
        Ok(bench)
    }

    /// Returns the lab.
    pub(crate) fn into_lab(self) -> Lab<'a> {
        self.lab.into_inner()
    }

    /// Starts a process that reads `point` on this device, with the variables in its environment, and returns its readings.
    pub(crate) fn ask<T: DeserializeOwned>(
        &self,
        point: &HandTiming,
        environment: &[(&str, &OsStr)],
    ) -> Result<T> {
        let ordinal = self.device.device.rsplit(':').next().unwrap_or_default();
        point.ask(ordinal, environment)
    }

    /// Scales a size of the source down to a multiple of 32 above 0.
    pub(crate) fn size(&self, n: usize) -> usize {
        (n / self.scale).next_multiple_of(32)
    }

    /// Scales several sizes, without duplicates.
    pub(crate) fn sizes(&self, sizes: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let mut sizes: Vec<usize> = sizes.into_iter().map(|n| self.size(n)).collect();
        sizes.dedup();
        sizes
    }

    /// Measures the cases that `select` adds to the settings of every measurement.
    pub(crate) fn measure(&self, select: impl FnOnce(Settings) -> Settings) -> Result<Run> {
        self.lab.borrow_mut().measure(select)
    }

    /// Returns gpubench's hot measurements of naive products of these sizes.
    pub(crate) fn naive(&self, sizes: &[usize]) -> Result<Vec<Measurement>> {
        let name = |n: &usize| format!("{KERNELS}::matmul::naive[n={n}]");
        let missing: Vec<usize> =
            sizes.iter().filter(|n| !self.naive.borrow().contains_key(n)).copied().collect();
        if !missing.is_empty() {
            let run = self.measure(|settings| Settings {
                filter: vec!["matmul::naive".into()],
                arg: vec![ArgValues::new("n", &missing)],
                cache: Some(CacheStates::Hot),
                max_time: Some(Duration::from_secs(1)),
                ..settings
            })?;
            for n in missing {
                let measured = measured(&run, &name(&n), Cache::Hot)?.clone();
                self.naive.borrow_mut().insert(n, measured);
            }
        }
        let naive = self.naive.borrow();
        Ok(sizes.iter().filter_map(|n| naive.get(n).cloned()).collect())
    }

    /// Returns the medians of these measurements.
    pub(crate) fn naive_times(&self, sizes: &[usize]) -> Result<Vec<Nanoseconds>> {
        Ok(self.naive(sizes)?.into_iter().map(|measured| measured.median()).collect())
    }

    /// Returns readings of these products by hand, each in a new process.
    pub(crate) fn timers(&self, sizes: &[usize]) -> Result<Vec<Timers>> {
        let read = |n: &usize| {
            if let Some(read) = self.timers.borrow().get(n) {
                return Ok(read.clone());
            }
            let read: Timers = self.ask(&HandTiming::Timers { n: *n }, &[])?;
            self.timers.borrow_mut().insert(*n, read.clone());
            Ok(read)
        };
        sizes.iter().map(read).collect()
    }
}

/// Returns the times of a product of these sizes in a cache state.
pub(crate) fn times(
    run: &Run,
    product: &str,
    sizes: &[usize],
    cache: Cache,
) -> Result<BTreeMap<usize, Nanoseconds>> {
    let time = |n: &usize| {
        let measured = measured(run, &format!("{KERNELS}::matmul::{product}[n={n}]"), cache)?;
        Ok((*n, measured.median()))
    };
    sizes.iter().map(time).collect()
}

/// Returns the median of readings by hand, in nanoseconds.
pub(crate) fn median(read: &[f64]) -> Nanoseconds {
    let read: Vec<Nanoseconds> = read.iter().copied().map(Nanoseconds).collect();
    stats::median(&read).unwrap_or_default()
}

/// Formats times.
pub(crate) fn shown(times: &[Nanoseconds]) -> Vec<String> {
    times.iter().copied().map(format::time).collect()
}

/// Formats the source's times for these sizes, in milliseconds; empty for other sizes.
pub(crate) fn stated(sizes: &[usize], of: &[(usize, f64)]) -> Vec<String> {
    let time =
        |n: &usize| of.iter().find(|(size, _)| size == n).map(|(_, ms)| format::time(Nanoseconds(ms * 1e6)));
    sizes.iter().map(|n| time(n).unwrap_or_default()).collect()
}

/// Formats the difference of `a` relative to `b`.
pub(crate) fn above(a: Nanoseconds, b: Nanoseconds) -> String {
    format!("{:+.2} %", 100.0 * (a / b - 1.0))
}
