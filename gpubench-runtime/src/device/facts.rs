//! What is known of a device: its name, its properties and its peaks, each peak with its source. Filled by the
//! devices, kept in every run, read by `metrics` and the reports.

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// A device as a run describes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The device in the words of the command line, such as `host`.
    pub device: String,
    /// The name its maker gave it.
    pub name: String,
    /// Whether it is a stand-in for tests, whose times are made up.
    pub fake: bool,
    /// What else is known, in the order it is shown.
    pub properties: Vec<Property>,
    /// The size of the cache that a flush empties.
    pub last_level_cache: Option<Bytes>,
    /// The limits that results are held against. Where there are several of a quantity, the first is the one that counts, and
    /// the others are there to be compared with.
    pub peaks: Vec<Peak>,
}

impl Facts {
    /// The limit of `quantity` that counts, if one is known: the first.
    #[must_use]
    pub fn peak(&self, quantity: &Quantity) -> Option<&Peak> {
        self.peaks.iter().find(|peak| peak.quantity == *quantity)
    }
}

/// A property with its unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Property {
    /// What it is, such as `L2 cache`.
    pub name: String,
    /// How much.
    pub value: Value,
}

impl Property {
    /// The property `name` of `value`.
    pub fn new(name: impl Into<String>, value: Value) -> Self {
        Self { name: name.into(), value }
    }
}

/// A property's value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Value {
    /// A number of things.
    Count(u64),
    /// An amount of memory.
    Bytes(Bytes),
    /// A clock, in hertz.
    Hertz(u64),
    /// Words.
    Text(String),
}

/// A limit of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peak {
    /// What is limited.
    pub quantity: Quantity,
    /// The limit: bytes per second, or operations per second.
    pub value: f64,
    /// Where the number comes from.
    pub source: PeakSource,
    /// How it came about, in a few words.
    pub method: String,
    /// Whether that may be off: cards of a kind differ, or nothing confirms it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uncertain: bool,
}

/// Something that a device can do only so much of in a second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Bytes read from and written to memory.
    MemoryBandwidth,
    /// Floating-point operations of a precision such as `f32`.
    Compute(String),
}

/// Where a peak comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PeakSource {
    /// From what the driver tells of the device.
    Attribute,
    /// From what its maker states.
    Datasheet,
    /// Measured on this device by this program.
    Measured,
    /// From the user.
    User,
}
