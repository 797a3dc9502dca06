//! The description of a device that each run stores: its name, its properties, and its peaks with their sources.

use gpubench_core::Link;
use std::borrow::Cow;

use gpubench_stats::{Bytes, BytesPerSecond, Hertz, Rate};

gpubench_stats::stored! {
    /// A device as a run describes it.
    #[derive(Default)]
    #[non_exhaustive]
    pub struct DeviceInfo {
        /// The device in the words of the command line, such as `host`.
        pub device: String,
        /// The name its maker gave it.
        pub name: String,
        /// True for the fake driver of tests, whose times are invented.
        pub fake: bool,
        /// True if launches are code of the measuring program, as on a CPU: then its optimisation matters.
        #[serde(default)]
        pub runs_program_code: bool,
        /// The other facts, in the order in which they are shown.
        pub properties: Vec<Property>,
        /// The size of the cache that a flush empties.
        pub last_level_cache: Option<Bytes>,
        /// The bytes per second that all cores together cannot exceed, even from their nearest cache.
        pub core_bandwidth: Option<BytesPerSecond>,
        /// The limits that results are compared with. Of several of a quantity, the first counts, and the others are shown beside
        /// it.
        pub peaks: Vec<Peak>,
    }

    /// A property with its unit, in words such as `32 multiprocessors` or `L2 cache 60 MiB`.
    #[derive(thiserror::Error)]
    #[error("{}", match value {
        Value::Count(count) => format!("{count} {name}"),
        value => format!("{name} {value}"),
    })]
    #[non_exhaustive]
    pub struct Property {
        /// The name, such as `L2 cache`.
        pub name: String,
        /// The amount.
        pub value: Value,
    }

    /// A property's value.
    #[derive(thiserror::Error)]
    #[non_exhaustive]
    pub enum Value {
        /// A number of things.
        #[error("{0}")]
        Count(u64),
        /// An amount of memory.
        #[error("{0}")]
        Bytes(Bytes),
        /// A clock.
        #[error("{0}")]
        Hertz(Hertz),
        /// Words.
        #[error("{0}")]
        Text(String),
    }

    /// A limit of a device.
    #[non_exhaustive]
    pub struct Peak {
        /// The quantity that is limited.
        pub quantity: Quantity,
        /// The limit.
        pub value: Rate,
        /// The source of the number.
        pub source: PeakSource,
        /// The derivation in a few words.
        pub method: String,
        /// True if it may be wrong: cards of a model differ, or nothing confirms it.
        #[serde(default)]
        pub uncertain: bool,
    }

    /// A quantity that a device limits per second.
    #[derive(Eq, PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum Quantity {
        /// Bytes read from and written to memory.
        MemoryBandwidth,
        /// Bytes read from and written to the last-level cache.
        CacheBandwidth,
        /// Bytes from the host's memory to the device's.
        HostToDevice,
        /// Bytes from the device's memory to the host's.
        DeviceToHost,
        /// Bytes from a device to another, or the other way.
        PeerToPeer,
        /// Floating-point operations of a data type such as `f32`.
        Compute(String),
    }

    /// The source of a peak.
    #[derive(Copy, Eq, thiserror::Error)]
    #[non_exhaustive]
    pub enum PeakSource {
        /// From the attributes that the driver reports.
        #[error("from attributes")]
        Attribute,
        /// From its maker's datasheet.
        #[error("from the datasheet")]
        Datasheet,
        /// Measured on this device by this program.
        #[error("measured")]
        Measured,
        /// From the user.
        #[error("given")]
        User,
    }
}

/// The name of the property for the number of other processes on an NVIDIA GPU. It may change within a run.
pub const OTHER_PROCESSES: &str = "other processes";
/// The name of the property that identifies an NVIDIA GPU.
pub const UUID: &str = "UUID";
/// The name of the property for the number of threads that share a launch on a CPU.
pub const THREADS: &str = "threads";
/// The name of the property for the clock of the multiprocessors.
pub const CLOCK: &str = "clock";
/// The name of the property for the release of the driver, from its management library.
pub const DRIVER: &str = "driver";
/// The name of the property for the version of CUDA that the driver is for.
pub const DRIVER_FOR_CUDA: &str = "driver for CUDA";

impl DeviceInfo {
    /// Creates the description of a device: `device` is its name on the command line, and `name` that of its
    /// maker, as in `DeviceInfo::new("host", "AMD EPYC 9554")`. All other facts are unknown.
    pub fn new(device: impl Into<String>, name: impl Into<String>) -> Self {
        Self { device: device.into(), name: name.into(), ..Self::default() }
    }

    /// Adds a property after the others.
    #[must_use]
    pub fn with_property(mut self, name: impl Into<String>, value: Value) -> Self {
        self.properties.push(Property::new(name, value));
        self
    }

    /// Sets the size of the cache that a flush empties. Bytes beyond it must cross the memory's bus.
    #[must_use]
    pub fn with_last_level_cache(mut self, size: Bytes) -> Self {
        self.last_level_cache = Some(size);
        self
    }

    /// Adds a peak, as [`DeviceInfo::add`] does.
    #[must_use]
    pub fn with_peak(mut self, peak: Peak) -> Self {
        self.add(vec![peak]);
        self
    }

    /// Returns the peak of `quantity` that results are compared with: the first; `None` if none is known.
    pub fn peak(&self, quantity: &Quantity) -> Option<&Peak> {
        self.peaks.iter().find(|peak| peak.quantity == *quantity)
    }

    /// Adds `peaks` and sorts all peaks by [`Peak::precedence`]; earlier ones precede new ones of the same rank.
    #[doc(hidden)]
    pub fn add(&mut self, peaks: Vec<Peak>) {
        self.peaks.extend(peaks);
        gpubench_stats::sort_by_key(&mut self.peaks, Peak::precedence);
    }

    /// Returns the value of the first property `name`; `None` if the device has none.
    fn property(&self, name: &str) -> Option<&Value> {
        self.properties.iter().find(|property| property.name == name).map(|property| &property.value)
    }

    /// Returns the clock of the multiprocessors according to the properties; `None` if the device does not
    /// state one.
    pub fn clock(&self) -> Option<Hertz> {
        if let Value::Hertz(clock) = self.property(CLOCK)? { Some(*clock) } else { None }
    }

    /// Returns the value of the property `name`; `None` if the device lacks it, or if the value is no count.
    pub fn count(&self, name: &str) -> Option<u64> {
        if let Value::Count(count) = self.property(name)? { Some(*count) } else { None }
    }

    /// Returns the value of the property `name`; `None` if the device lacks it, or if the value is no text.
    pub fn text(&self, name: &str) -> Option<&str> {
        if let Value::Text(text) = self.property(name)? { Some(text) } else { None }
    }
}

impl Property {
    /// Creates the property `name` with this value.
    pub fn new(name: impl Into<String>, value: Value) -> Self {
        Self { name: name.into(), value }
    }
}

impl Peak {
    /// Returns a limit of `value` bytes or operations per second, which is certain. `method` is its derivation in a few
    /// words.
    pub fn new(quantity: Quantity, value: Rate, source: PeakSource, method: impl Into<String>) -> Self {
        Self { quantity, value, source, method: method.into(), uncertain: false }
    }

    /// Returns true if results are shown as a fraction of this peak. Only an uncertain measurement is
    /// excluded: other programs disturbed it, so that it is too low by an unknown amount.
    pub fn is_comparable(&self) -> bool {
        self.source != PeakSource::Measured || !self.uncertain
    }

    /// Returns the same peak, marked as uncertain: no result is invalid because of it.
    #[must_use]
    pub fn uncertain(self) -> Self {
        Self { uncertain: true, ..self }
    }

    /// Returns the rank of this peak among those of its quantity; the peak with the lowest rank is used. The
    /// order of sources is: the user, the device's attributes, the datasheet, a measurement, then uncertain
    /// attributes and datasheets, then uncertain measurements.
    pub fn precedence(&self) -> u8 {
        match (self.source, self.uncertain) {
            (PeakSource::User, _) => 0,
            (PeakSource::Attribute, false) => 1,
            (PeakSource::Datasheet, false) => 2,
            (PeakSource::Measured, false) => 3,
            (PeakSource::Attribute | PeakSource::Datasheet, true) => 4,
            (PeakSource::Measured, true) => 5,
        }
    }
}

impl Quantity {
    /// Returns the bandwidth that limits bytes over `link`. Without a link it is that of the device's memory.
    pub fn moved_over(link: Option<Link>) -> Self {
        match link {
            None | Some(Link::D2d) => Self::MemoryBandwidth,
            Some(Link::H2d) => Self::HostToDevice,
            Some(Link::D2h) => Self::DeviceToHost,
            Some(Link::P2p) => Self::PeerToPeer,
            Some(Link::L2) => Self::CacheBandwidth,
        }
    }

    /// Returns the quantity that the command line and files call `name`. A name that is no bandwidth counts
    /// as a data type, known or not, and gives its arithmetic throughput.
    pub fn named(name: &str) -> Self {
        let found = BANDWIDTH_NAMES.iter().find(|(word, _)| *word == name);
        found.map_or_else(|| Self::Compute(name.to_owned()), |(_, quantity)| quantity.clone())
    }

    /// Returns the name of this quantity on the command line and in files.
    pub fn name(&self) -> &str {
        match self {
            Self::Compute(data_type) => data_type,
            bandwidth => BANDWIDTH_NAMES
                .iter()
                .find(|(_, quantity)| quantity == bandwidth)
                .map_or("", |(word, _)| word),
        }
    }

    /// Returns the short name of this quantity in tables and pages, such as `DRAM` or `FP32`.
    pub fn roof(&self) -> Cow<'_, str> {
        match self {
            Self::MemoryBandwidth => "DRAM".into(),
            Self::CacheBandwidth => "L2".into(),
            Self::HostToDevice | Self::DeviceToHost => "PCIe".into(),
            Self::PeerToPeer => "P2P".into(),
            Self::Compute(data_type) => data_type_name(data_type),
        }
    }
}

/// Returns the usual name of a data type, such as `FP32` for `f32` or `BF16 tensor` for `bf16 tensor`. A name without a number of bits
/// is unchanged.
fn data_type_name(data_type: &str) -> Cow<'_, str> {
    let format = data_type.split(' ').next().unwrap_or_default();
    let letters = format.trim_end_matches(|c: char| c.is_ascii_digit());
    match (letters, &data_type[letters.len()..]) {
        // Without a number of bits it is no format that hardware has.
        _ if letters == format => data_type.into(),
        ("f", rest) => format!("FP{rest}").into(),
        (letters, rest) => (letters.to_uppercase() + rest).into(),
    }
}

/// The names of bandwidths on the command line and in files.
const BANDWIDTH_NAMES: [(&str, Quantity); 5] = [
    ("memory", Quantity::MemoryBandwidth),
    ("l2", Quantity::CacheBandwidth),
    ("h2d", Quantity::HostToDevice),
    ("d2h", Quantity::DeviceToHost),
    ("p2p", Quantity::PeerToPeer),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_stand_in_the_order_of_their_sources() {
        let peak = |value, source| Peak::new(Quantity::MemoryBandwidth, Rate(value), source, "");
        let mut info = DeviceInfo::new("cuda:0", "a GPU")
            .with_property(UUID, Value::Text("GPU-1".to_owned()))
            .with_peak(peak(5.0, PeakSource::Attribute).uncertain())
            .with_peak(peak(2.0, PeakSource::Attribute));
        info.add(vec![
            peak(6.0, PeakSource::Measured).uncertain(),
            peak(4.0, PeakSource::Measured),
            peak(3.0, PeakSource::Datasheet),
            peak(0.0, PeakSource::User),
        ]);
        info.add(vec![peak(1.0, PeakSource::User)]);
        let order: Vec<f64> = info.peaks.iter().map(|peak| peak.value.0).collect();
        assert_eq!(order, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!((info.text(UUID), info.text(DRIVER)), (Some("GPU-1"), None));
    }

    #[test]
    fn quantities_are_known_by_their_names() {
        for name in ["memory", "l2", "h2d", "d2h", "p2p", "f32", "bf16 tensor"] {
            assert_eq!(Quantity::named(name).name(), name);
        }
        assert_eq!(Quantity::named("d2d"), Quantity::Compute("d2d".to_owned()));
    }

    #[test]
    fn roofs_have_the_names_of_hardware() {
        let roofs =
            ["memory", "l2", "h2d", "d2h", "p2p", "f32", "f64 tensor", "bf16 tensor", "tf32", "fast 8"]
                .map(|name| Quantity::named(name).roof().into_owned());
        assert_eq!(
            roofs,
            ["DRAM", "L2", "PCIe", "PCIe", "P2P", "FP32", "FP64 tensor", "BF16 tensor", "TF32", "fast 8"]
        );
    }
}
