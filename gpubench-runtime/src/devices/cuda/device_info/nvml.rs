//! A GPU through NVIDIA's management library: its sensors, its settings, and its clock locks. In: a UUID; out: a
//! [`Monitor`], and properties. A machine may lack the library, and a GPU any of its answers.

use gpubench_driver::nvml::{self, BASE_CLOCK, Clock, NvmlDevice, NvmlError};

use crate::device::{ClockTarget, DeviceError, Monitor};
use crate::devices::cuda::device_info::links;
use gpubench_records::conditions::Reading;
use gpubench_records::device_info::{DRIVER, Peak, Property, Value};
use gpubench_stats::units::{Hertz, Joules, Watts};

/// The reasons for throttled clocks, as `nvmlClocksThrottleReason…` numbers them, in words. An idle GPU and locked clocks are
/// not among them.
const SLOWING: [(u64, &str); 6] = [
    (0x4, "power cap"),
    (0x8, "hardware slowdown"),
    (0x10, "sync boost"),
    (0x20, "heat"),
    (0x40, "heat (hardware)"),
    (0x80, "power brake"),
];

/// The words of `nvidia-smi` for the compute modes, in lower case.
const COMPUTE_MODES: [&str; 4] = ["default", "exclusive thread", "prohibited", "exclusive process"];

/// The sensors of one GPU.
#[derive(Clone, Copy)]
pub(crate) struct Sensors(NvmlDevice);

impl Sensors {
    /// Opens the sensors of the GPU with this UUID. Returns the reason if there are none: the library is missing or
    /// does not know the GPU.
    pub(crate) fn of(uuid: &str) -> Result<Self, SensorError> {
        NvmlDevice::by_uuid(uuid).map(Self).map_err(|error| match error {
            NvmlError::Code(_) => SensorError::UnknownGpu(error),
            error => SensorError::Refused(error),
        })
    }

    /// Counts the processes with work on the GPU, where this process has none.
    pub(crate) fn processes(self) -> Option<u32> {
        self.0.compute_processes().ok()
    }

    /// Returns the peaks of the GPU's links; PCIe only if that is the way to the host.
    pub(crate) fn link_peaks(self, pcie: bool) -> Vec<Peak> {
        links::peaks(self.0, pcie)
    }

    /// Returns the settings of the GPU that affect its times, and the other processes on it. Leaves out what the library
    /// does not tell.
    pub(crate) fn properties(self) -> Vec<Property> {
        let device = self.0;
        let on = |on: bool| Value::Text(if on { "on" } else { "off" }.to_owned());
        let highest = |clock| device.highest_clock(clock).map(hertz).map(Value::Hertz);
        let mode = |mode: u32| COMPUTE_MODES.get(mode as usize).map_or("unknown", |mode| mode);
        let readings = [
            (DRIVER, nvml::driver_release().map(Value::Text)),
            ("highest clock", highest(Clock::Sm)),
            ("highest memory clock", highest(Clock::Memory)),
            ("power limit", device.power_limit().map(|limit| Value::Text(format!("{} W", limit / 1000)))),
            ("ECC", device.ecc().map(on)),
            ("MIG", device.mig().map(on)),
            ("compute mode", device.compute_mode().map(|number| Value::Text(mode(number).to_owned()))),
            ("persistence", device.persistence().map(|state| on(state != 0))),
            ("other processes", self.others().map(|others| Value::Text(others.to_string()))),
        ];
        readings.into_iter().filter_map(|(name, value)| Some(Property::new(name, value.ok()?))).collect()
    }

    /// Counts the other processes with work on the GPU. In a container, this process does not know its own number outside.
    fn others(self) -> Result<u32, NvmlError> {
        Ok(self.0.compute_processes()?.saturating_sub(1))
    }
}

fn hertz(megahertz: u32) -> Hertz {
    Hertz(u64::from(megahertz) * 1_000_000)
}

impl Monitor for Sensors {
    fn read(&mut self) -> Reading {
        let device = self.0;
        let clock = |clock| device.clock(clock).ok().map(hertz);
        let reasons = device.throttle_reasons().unwrap_or(0);
        let slowed_by = SLOWING.iter().filter(|(reason, _)| reasons & reason != 0);
        let mut reading = Reading::default();
        reading.sm_clock = clock(Clock::Sm);
        reading.memory_clock = clock(Clock::Memory);
        reading.temperature = device.temperature().ok();
        reading.power = device.power().ok().map(|milliwatts| Watts(f64::from(milliwatts) / 1e3));
        reading.throttle_reasons = slowed_by.map(|(_, words)| (*words).to_owned()).collect();
        reading.other_processes = self.others().ok();
        reading
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
    Sensors::of(uuid).and_then(|sensors| sensors.lock(target)).map_err(DeviceError::new)
}

/// Returns control of that clock to the driver. An earlier lock is not restored, since NVML cannot report one.
///
/// # Errors
/// Returns the reason if the clock cannot be reset.
pub(crate) fn reset_clocks(uuid: &str) -> Result<(), DeviceError> {
    let reset = |sensors: Sensors| Ok(sensors.0.reset_clocks()?);
    Sensors::of(uuid).and_then(reset).map_err(DeviceError::new)
}

impl Sensors {
    fn lock(self, target: ClockTarget) -> Result<String, SensorError> {
        let highest = self.0.highest_clock(Clock::Sm);
        let (clock, words) = match target {
            ClockTarget::Base => (BASE_CLOCK, "base".to_owned()),
            ClockTarget::Max => {
                let clock = highest.map_err(SensorError::UnknownHighest)?;
                (clock, format!("max, {clock} MHz"))
            }
            ClockTarget::Megahertz(clock) => {
                if let Some(highest) = highest.ok().filter(|highest| clock > *highest) {
                    return Err(SensorError::TooHigh { clock, highest });
                }
                (clock, format!("{clock} MHz"))
            }
        };
        self.0.lock_clocks(clock, clock)?;
        Ok(format!("locked to {words}"))
    }
}

/// The reason why sensors cannot be read, or clocks not be locked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SensorError {
    /// The library does not list the GPU.
    #[error("this GPU is unknown: {0}")]
    UnknownGpu(NvmlError),
    /// The user may not lock clocks.
    #[error("clocks are locked by root only")]
    NotRoot,
    /// There is no library, or it refuses for another reason.
    #[error("{0}")]
    Refused(NvmlError),
    /// The library does not report the highest clock.
    #[error("its highest clock is not known: {0}")]
    UnknownHighest(NvmlError),
    /// A clock beyond the highest, both in MHz.
    #[error("{clock} MHz is more than its highest, {highest} MHz")]
    TooHigh {
        /// The requested clock.
        clock: u32,
        /// The highest clock.
        highest: u32,
    },
}

impl From<NvmlError> for SensorError {
    fn from(error: NvmlError) -> Self {
        if error.is_no_permission() { Self::NotRoot } else { Self::Refused(error) }
    }
}
