//! Everything that a time depends on besides the code: two times with other circumstances are not compared.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::device_info::{DRIVER, DeviceInfo, UUID, Value};
use crate::method::{Flush, Path};
use crate::record::{Measurement, Program};
use crate::work::{Counts, Link};

/// The circumstances of a measurement: the driver, the method and the claims. The model of the device belongs to the case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Circumstances {
    /// The release of the device's driver.
    pub driver: Option<String>,
    /// The device's own name, by which it is told from others of its model. Nothing in old files, and where a device has none.
    pub uuid: Option<String>,
    /// The numbers of the device's parts, such as multiprocessors: a part of a GPU is another device.
    #[serde(default)]
    pub parts: BTreeMap<String, u64>,
    /// The optimisation of the program, where launches are its own code.
    pub opt_level: Option<String>,
    /// The path that timed the samples.
    pub path: Path,
    /// The flush before each sample.
    pub flush: Flush,
    /// The convention by which the overhead was taken off.
    pub overhead: Option<String>,
    /// The claimed work of a launch.
    pub counts: Counts,
    /// The link that its bytes move over.
    pub link: Option<Link>,
}

impl Circumstances {
    /// Returns the circumstances of a measurement on the device of `info`, by this program.
    pub fn new(measured: &Measurement, info: Option<&DeviceInfo>, program: &Program) -> Self {
        let samples = &measured.samples;
        let part = |property: &crate::device_info::Property| match property.value {
            Value::Count(count) => Some((property.name.clone(), count)),
            _ => None,
        };
        let own_code = info.is_some_and(|info| info.runs_program_code);
        Self {
            driver: info.and_then(|info| info.text(DRIVER)).map(str::to_owned),
            uuid: info.and_then(|info| info.text(UUID)).map(str::to_owned),
            parts: info.iter().flat_map(|info| &info.properties).filter_map(part).collect(),
            opt_level: own_code.then(|| program.opt_level.clone()),
            path: samples.method.path,
            flush: samples.method.flush,
            overhead: samples.timer.convention().map(str::to_owned),
            counts: measured.counts,
            link: measured.link,
        }
    }

    /// Returns the differences from `earlier` in words.
    pub fn differences(&self, earlier: &Self) -> Vec<String> {
        let pairs = self.facts().into_iter().zip(earlier.facts());
        let differ = pairs.filter(|((_, now), (_, then))| now != then);
        differ.map(|((what, now), (_, then))| format!("{what} {then} → {now}")).collect()
    }

    /// Returns the name and the text of each circumstance.
    fn facts(&self) -> [(&'static str, String); 13] {
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "not known".to_owned());
        let count = |count: Option<u64>| count.map_or_else(|| "not counted".to_owned(), |it| it.to_string());
        let Counts { reads, writes, bytes, flops, items } = self.counts;
        [
            ("driver", text(&self.driver)),
            ("GPU", text(&self.uuid)),
            ("device", parts(&self.parts)),
            ("opt-level", text(&self.opt_level)),
            ("path", self.path.to_string()),
            ("flush", self.flush.to_string()),
            ("overhead", text(&self.overhead)),
            ("bytes read", count(reads)),
            ("bytes written", count(writes)),
            ("bytes", count(bytes)),
            ("flops", count(flops)),
            ("items", count(items)),
            ("link", format!("{:?}", self.link)),
        ]
    }
}

fn parts(parts: &BTreeMap<String, u64>) -> String {
    parts.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
}
