//! The sensors, settings, clock locks and link limits of a GPU, through NVIDIA's management library. A machine may
//! lack the library, and a GPU may not support every query.

use gpubench_driver::nvml::{self, BASE_CLOCK, ClockDomain, NO_PERMISSION, NvmlDevice, NvmlError};

use crate::device::{ClockTarget, DeviceError, Monitor};
use gpubench_records::device_info::{DRIVER, OTHER_PROCESSES};
use gpubench_records::{Peak, PeakSource, Property, Quantity, Reading, Value};
use gpubench_stats::{Hertz, Joules, Rate, Watts};

/// The bits of `nvmlClocksThrottleReason…` that slow launches down, and their names in messages. An idle GPU and
/// locked clocks do not count.
const THROTTLE_REASONS: [(u64, &str); 6] = [
    (0x4, "power cap"),
    (0x8, "hardware slowdown"),
    (0x10, "sync boost"),
    (0x20, "heat"),
    (0x40, "heat (hardware)"),
    (0x80, "power brake"),
];

/// The names of `nvmlComputeMode_t` in `nvidia-smi`, in lower case. The index is the value of the mode.
const COMPUTE_MODES: [&str; 4] = ["default", "exclusive thread", "prohibited", "exclusive process"];

/// The sensors of one GPU.
#[derive(Clone, Copy)]
pub(crate) struct Sensors(pub(crate) NvmlDevice);

impl Sensors {
    /// Opens the sensors of the GPU with this UUID. Returns an error if the library is missing, does not
    /// start, or does not know the GPU.
    pub(crate) fn open(uuid: &str) -> Result<Self, DeviceError> {
        NvmlDevice::by_uuid(uuid).map(Self).map_err(|error| match error {
            NvmlError::Code(_) => DeviceError::new(format!("this GPU is unknown: {error}")),
            error => DeviceError::new(error),
        })
    }

    /// Returns the release of the driver, the settings of the GPU that affect its times, and the number of
    /// other processes on the GPU. Leaves out what the library does not report.
    pub(crate) fn properties(self) -> Vec<Property> {
        let device = self.0;
        let on = |on: bool| Value::Text(if on { "on" } else { "off" }.to_owned());
        let highest = |clock| device.highest_clock(clock).map(hertz).map(Value::Hertz);
        let mode = |mode: u32| COMPUTE_MODES.get(mode as usize).map_or("unknown", |mode| mode);
        let readings = [
            (DRIVER, nvml::driver_release().map(Value::Text)),
            ("highest clock", highest(ClockDomain::Sm)),
            ("highest memory clock", highest(ClockDomain::Memory)),
            ("power limit", device.power_limit().map(|limit| Value::Text(format!("{} W", limit / 1000)))),
            ("ECC", device.ecc().map(on)),
            ("MIG", device.mig().map(on)),
            ("compute mode", device.compute_mode().map(|number| Value::Text(mode(number).to_owned()))),
            ("persistence", device.persistence().map(|state| on(state != 0))),
            (OTHER_PROCESSES, self.other_processes().map(|others| Value::Text(others.to_string()))),
        ];
        readings.into_iter().filter_map(|(name, value)| Some(Property::new(name, value.ok()?))).collect()
    }

    /// Counts the other processes with a context on the GPU: all but one, which is assumed to be this
    /// process. This process is not searched for, since in a container it does not know its process number
    /// outside.
    fn other_processes(self) -> Result<u32, NvmlError> {
        Ok(self.0.compute_processes()?.saturating_sub(1))
    }
}

/// Converts megahertz, the library's unit, to hertz.
fn hertz(megahertz: u32) -> Hertz {
    Hertz(u64::from(megahertz) * 1_000_000)
}

impl Monitor for Sensors {
    fn read(&mut self) -> Reading {
        let device = self.0;
        let clock = |clock| device.clock(clock).ok().map(hertz);
        let reasons = device.throttle_reasons().unwrap_or(0);
        let slowed_by = THROTTLE_REASONS.iter().filter(|(reason, _)| reasons & reason != 0);
        Reading {
            sm_clock: clock(ClockDomain::Sm),
            memory_clock: clock(ClockDomain::Memory),
            temperature: device.temperature().ok(),
            power: device.power().ok().map(|milliwatts| Watts(f64::from(milliwatts) / 1e3)),
            throttle_reasons: slowed_by.map(|(_, words)| (*words).to_owned()).collect(),
            other_processes: self.other_processes().ok(),
        }
    }

    fn energy(&mut self) -> Option<Joules> {
        self.0.energy().ok().map(|millijoules| Joules(millijoules as f64 / 1e3))
    }
}

/// Locks the clock of the multiprocessors of the GPU with this UUID. Returns the locked clock in words, such as
/// `locked to base`.
///
/// # Errors
/// Returns the reason if the clock cannot be locked.
pub(crate) fn lock_clocks(uuid: &str, target: ClockTarget) -> Result<String, DeviceError> {
    let Sensors(device) = Sensors::open(uuid)?;
    let highest = device.highest_clock(ClockDomain::Sm);
    let (clock, words) = match target {
        ClockTarget::Base => (BASE_CLOCK, "base".to_owned()),
        ClockTarget::Max => {
            let unknown = |error| DeviceError::new(format!("its highest clock is not known: {error}"));
            let clock = highest.map_err(unknown)?;
            (clock, format!("max, {clock} MHz"))
        }
        ClockTarget::Megahertz(clock) => {
            if let Some(highest) = highest.ok().filter(|highest| clock > *highest) {
                let message = format!("{clock} MHz is more than its highest, {highest} MHz");
                return Err(DeviceError::new(message));
            }
            (clock, format!("{clock} MHz"))
        }
    };
    device.lock_clocks(clock, clock).map_err(clock_lock_error)?;
    Ok(format!("locked to {words}"))
}

/// Unlocks the clock of the multiprocessors of the GPU `uuid`, so that the driver chooses it again. An earlier lock is not
/// restored, since NVML cannot report one.
///
/// # Errors
/// Returns the reason if the clock cannot be reset.
pub(crate) fn reset_clocks(uuid: &str) -> Result<(), DeviceError> {
    Sensors::open(uuid)?.0.reset_clocks().map_err(clock_lock_error)
}

/// Converts an error of a call that locks or resets clocks. If the permission is missing, the message says
/// that only root locks clocks.
fn clock_lock_error(error: NvmlError) -> DeviceError {
    match error {
        NvmlError::Code(NO_PERMISSION) => DeviceError::new("clocks are locked by root only"),
        error => DeviceError::new(error),
    }
}

/// The generations of PCIe. Each entry has the number of the generation, its 10⁹ transfers per second and
/// lane, and the two sides of its encoding: payload and transferred data. The encoding is 8b/10b up to 2.0
/// and 128b/130b up to 5.0. In 6.0, a flit of 256 bytes has 236 bytes of packets. Packet headers are not
/// subtracted, so a copy reaches about nine tenths of the limit.
const PCIE_GENERATIONS: [(u32, f64, f64, f64); 6] = [
    (1, 2.5, 8.0, 10.0),
    (2, 5.0, 8.0, 10.0),
    (3, 8.0, 128.0, 130.0),
    (4, 16.0, 128.0, 130.0),
    (5, 32.0, 128.0, 130.0),
    (6, 64.0, 236.0, 256.0),
];

/// The versions of NVLink. Each entry has the version in NVML, NVIDIA's name of the generation, and the GB/s
/// of one link in one direction without the overhead of the encoding (from NVIDIA's white papers on the P100,
/// V100, A100, H100 and Blackwell).
const NVLINK_VERSIONS: [(u32, &str, f64); 7] = [
    (1, "NVLink 1", 20.0),
    (2, "NVLink 2", 25.0),
    (3, "NVLink 2", 25.0),
    (4, "NVLink 3", 25.0),
    (5, "NVLink 3", 25.0),
    (6, "NVLink 4", 25.0),
    (7, "NVLink 5", 50.0),
];
/// The number of NVLinks of a GPU that are queried, from link 0 on. No GPU of [`NVLINK_VERSIONS`] has more.
const MOST_NVLINKS: u32 = 18;

/// The virtualization mode of a GPU without a hypervisor: `NVML_GPU_VIRTUALIZATION_MODE_NONE`. The reported
/// links of such a GPU are the real ones.
const BARE_METAL: u32 = 0;
/// The virtualization mode of a virtual GPU: `NVML_GPU_VIRTUALIZATION_MODE_VGPU`. Such a GPU gets no peaks of
/// links.
const VIRTUAL_GPU: u32 = 2;

/// Returns the peaks of this GPU's links, as far as the library reports the links: of NVLink, and of PCIe if
/// `pcie` is true. Returns none for a MIG instance or a virtual GPU. Under a hypervisor, which may report
/// other links than the real ones, and in an unknown virtualization mode, all peaks are uncertain.
pub(crate) fn link_peaks(Sensors(device): Sensors, pcie: bool) -> Vec<Peak> {
    let mode = device.virtualization().ok();
    if device.mig().unwrap_or(false) || mode == Some(VIRTUAL_GPU) {
        return Vec::new();
    }
    let uncertain = mode != Some(BARE_METAL);
    let to_host = Some(device).filter(|_| pcie).and_then(host_link);
    let both = to_host.into_iter().flat_map(|limit| {
        [Quantity::HostToDevice, Quantity::DeviceToHost].map(|quantity| (quantity, limit.clone()))
    });
    let to_peers = peer_links(device).map(|limit| (Quantity::PeerToPeer, limit));
    let peak = |(quantity, LinkLimit { value, method })| {
        let peak = Peak::new(quantity, Rate(value), PeakSource::Attribute, method);
        if uncertain { peak.uncertain() } else { peak }
    };
    both.chain(to_peers).map(peak).collect()
}

/// The limit of a link in one direction, in bytes per second, and its derivation for messages.
#[derive(Clone, Debug, PartialEq)]
struct LinkLimit {
    value: f64,
    method: String,
}

/// Returns the limit of PCIe, for the fastest generation that both the GPU and the system support, since an
/// idle link drops to a slower one. Returns `None` if the library does not report the generation or the
/// lanes, and in the cases of [`pcie_limit`].
fn host_link(device: NvmlDevice) -> Option<LinkLimit> {
    let (generation, lanes) = (device.pcie_generation().ok()?, device.pcie_lanes().ok()?);
    pcie_limit(generation, lanes, device.pcie_lanes_now().ok())
}

/// Returns the limit of PCIe of this generation with `lanes` lanes. `present` is the number of lanes in use
/// now: if it is lower than `lanes`, the derivation mentions it, and the limit stays the same. Returns `None`
/// for an unknown generation, or for no lanes.
fn pcie_limit(generation: u32, lanes: u32, present: Option<u32>) -> Option<LinkLimit> {
    let (_, gigatransfers, counts, all) = PCIE_GENERATIONS.iter().find(|(known, ..)| *known == generation)?;
    let value = f64::from(lanes) * gigatransfers * 1e9 * counts / all / 8.0;
    let fewer = present.filter(|present| *present < lanes);
    let fewer = fewer.map(|present| format!("; {present} lanes at present")).unwrap_or_default();
    let method =
        format!("PCIe {generation}.0: {lanes} lanes × {gigatransfers} GT/s × {counts}/{all} / 8{fewer}");
    (lanes > 0).then_some(LinkLimit { value, method })
}

/// Returns the limit of all active NVLinks together; `None` if there are none, or if their versions differ,
/// are not reported, or are not in [`NVLINK_VERSIONS`].
///
/// The links may lead to a switch, and through it to any other GPU. They may also lead to several GPUs, some
/// links to each: then no two GPUs have the whole limit between them.
fn peer_links(device: NvmlDevice) -> Option<LinkLimit> {
    let active = (0..MOST_NVLINKS).filter(|link| device.nvlink_state(*link).is_ok_and(|state| state != 0));
    nvlink_limit(&active.map(|link| device.nvlink_version(link).ok()).collect::<Option<Vec<_>>>()?)
}

/// Returns the limit of several NVLinks together. `versions` has the version of each link. Returns `None` if
/// there are no links, if the versions differ, or if the version is not in [`NVLINK_VERSIONS`].
fn nvlink_limit(versions: &[u32]) -> Option<LinkLimit> {
    let (first, others) = versions.split_first()?;
    let (_, name, gigabytes) = NVLINK_VERSIONS.iter().find(|(version, ..)| version == first)?;
    let (count, value) = (versions.len(), versions.len() as f64 * gigabytes * 1e9);
    let method = format!("{name}: {count} links × {gigabytes} GB/s");
    others.iter().all(|other| other == first).then_some(LinkLimit { value, method })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with tables of PCIe in GB/s, to three digits.
    #[test]
    fn generations_and_lanes_give_what_is_known_of_them() {
        for (generation, lanes, gigabytes) in [
            (1, 16, 4.0),
            (2, 16, 8.0),
            (3, 1, 0.985),
            (3, 16, 15.754),
            (4, 8, 15.754),
            (4, 16, 31.508),
            (5, 16, 63.015),
            (6, 16, 118.0),
        ] {
            let limit = pcie_limit(generation, lanes, Some(lanes)).expect("it is in the table");
            assert!(
                (limit.value / 1e9 - gigabytes).abs() < 0.0005,
                "PCIe {generation}.0 × {lanes}: {limit:?}"
            );
        }
        assert_eq!([pcie_limit(9, 16, None), pcie_limit(5, 0, None)], [None, None]);
        let fewer = pcie_limit(5, 16, Some(8)).expect("it is in the table");
        assert_eq!(fewer.method, "PCIe 5.0: 16 lanes × 32 GT/s × 128/130 / 8; 8 lanes at present");
        assert_eq!(Some(fewer.value), pcie_limit(5, 16, None).map(|limit| limit.value));
    }

    #[test]
    fn links_of_one_version_add_up() {
        let limit = nvlink_limit(&[6; 18]).expect("it is in the table");
        assert_eq!((limit.value, &*limit.method), (450e9, "NVLink 4: 18 links × 25 GB/s"));
        assert_eq!(nvlink_limit(&[4; 12]).map(|limit| limit.value), Some(300e9));
        assert_eq!([nvlink_limit(&[]), nvlink_limit(&[99]), nvlink_limit(&[6, 7])], [None, None, None]);
    }
}
