//! The steps. Each measures with a [`Bench`] and returns a [`Pitfall`]. Their names are those of the experiments in the source, which
//! timed a naive matrix product on an RTX 3070.

mod clocks;
mod cold_start;
mod compilation;
mod flush;
mod launches;
mod statistics;
mod streams;
mod timers;

use std::collections::BTreeMap;
use std::fmt::{self, Display};

use gpubench::device_info::DeviceInfo;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::bench::Bench;
use crate::common::Result;
use crate::table::Table;

/// The results of a step.
#[derive(Debug, Serialize)]
pub(crate) struct Pitfall {
    /// The name of the experiment.
    row: &'static str,
    title: &'static str,
    table: Table,
    /// The remarks, a line each.
    why: &'static [&'static str],
    /// All readings.
    read: Value,
    /// The suffixes of files, with their drawings.
    #[serde(skip)]
    pub(crate) drawings: Vec<(&'static str, String)>,
}

/// The function of a step.
type Show = fn(&Bench<'_>) -> Result<Pitfall>;

/// All steps, in order.
pub(crate) const STEPS: [(&str, Show); 10] = [
    ("B1", timers::unsynchronised),
    ("B2", timers::synchronised),
    ("B3", timers::events),
    ("B4", compilation::show),
    ("B5", cold_start::show),
    ("B6", statistics::show),
    ("B7", flush::show),
    ("B8", clocks::show),
    ("B9", launches::show),
    ("B11", streams::show),
];

impl Display for Pitfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", self.row, self.title)?;
        write!(f, "{}", self.table)?;
        self.why.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

/// Draws the results of an earlier call. `read` has the readings of each step. Returns the suffixes of files, with their drawings.
pub(crate) fn redrawn(
    read: &BTreeMap<String, Value>,
    device: &DeviceInfo,
) -> Result<Vec<(&'static str, String)>> {
    fn of<T: DeserializeOwned>(read: &BTreeMap<String, Value>, row: &str) -> Result<Option<T>> {
        Ok(read.get(row).cloned().map(serde_json::from_value).transpose()?)
    }
    let mut drawings = Vec::new();
    if let Some(large) = of::<timers::TimerReadings>(read, "B1")? {
        let readings = timers::TimerReadings::together([Some(large), of(read, "B3")?].into_iter().flatten());
        drawings.push(("-timers.svg", readings.drawing(&device.name)));
    }
    if let Some(products) = of::<Vec<flush::MatmulTimes>>(read, "B7")? {
        drawings.push(("-flush.svg", flush::drawing(&products, device)));
    }
    if let Some(kernels) = of::<Vec<launches::MeasuredKernel>>(read, "B9")? {
        drawings.push(("-launches.svg", launches::drawing(&kernels, &device.name)));
    }
    Ok(drawings)
}
