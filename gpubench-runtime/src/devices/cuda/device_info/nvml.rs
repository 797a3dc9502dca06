//! A GPU through NVIDIA's management library: its sensors, its settings, and its clock locks. In: a UUID; out: a
//! [`Monitor`], and properties. A machine may lack the library, and a GPU any of its answers.

use std::env;
use std::path::PathBuf;
use std::sync::Arc;

use nvml_wrapper::Device;
use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, ClockLimitId, ComputeMode, TemperatureSensor};
use nvml_wrapper::enums::device::GpuLockedClocksSetting;
use nvml_wrapper::error::NvmlError;

use crate::device::{ClockTarget, DeviceError, Monitor};
use crate::devices::cuda::device_info::links;
use gpubench_records::conditions::Reading;
use gpubench_records::device_info::{DRIVER, Peak, Property, Value};
use gpubench_stats::units::{Hertz, Joules, Watts};

/// The environment variable with the library's path, for a library that the system does not find.
const LIBRARY: &str = "GPUBENCH_LIBNVML";
/// The library's usual file name.
const USUAL_LIBRARY: &str = "libnvidia-ml.so.1";

/// The reasons for throttled clocks, in words. An idle GPU and locked clocks are not among them.
const SLOWING: [(ThrottleReasons, &str); 6] = [
    (ThrottleReasons::SW_POWER_CAP, "power cap"),
    (ThrottleReasons::HW_SLOWDOWN, "hardware slowdown"),
    (ThrottleReasons::SYNC_BOOST, "sync boost"),
    (ThrottleReasons::SW_THERMAL_SLOWDOWN, "heat"),
    (ThrottleReasons::HW_THERMAL_SLOWDOWN, "heat (hardware)"),
    (ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN, "power brake"),
];

/// The sensors of one GPU.
#[derive(Clone)]
pub(crate) struct Sensors {
    nvml: Arc<Nvml>,
    uuid: String,
}

impl Sensors {
    /// Opens the sensors of the GPU with this UUID. Returns the reason if there are none: the library is missing or
    /// does not know the GPU.
    pub(crate) fn of(uuid: &str) -> Result<Self, SensorError> {
        let chosen = env::var_os(LIBRARY);
        let nvml = match &chosen {
            Some(path) => Nvml::builder().lib_path(path).init(),
            None => Nvml::init(),
        };
        let nvml = nvml.map_err(|error| match error {
            NvmlError::LibloadingError(_) => {
                SensorError::NoLibrary(chosen.unwrap_or_else(|| USUAL_LIBRARY.into()).into())
            }
            error => SensorError::NotStarted(error),
        })?;
        let sensors = Self { nvml: Arc::new(nvml), uuid: uuid.to_owned() };
        sensors.device().map(drop).map_err(SensorError::UnknownGpu)?;
        Ok(sensors)
    }

    /// Counts the processes with work on the GPU, where this process has none.
    pub(crate) fn processes(&self) -> Option<u32> {
        self.device().ok()?.running_compute_processes_count().ok()
    }

    fn device(&self) -> Result<Device<'_>, NvmlError> {
        self.nvml.device_by_uuid(self.uuid.as_str())
    }

    /// Returns the peaks of the GPU's links; PCIe only if that is the way to the host.
    pub(crate) fn link_peaks(&self, pcie: bool) -> Vec<Peak> {
        self.device().map_or_else(|_| Vec::new(), |device| links::peaks(&device, pcie))
    }

    /// Returns the settings of the GPU that affect its times, and the other processes on it. Leaves out what the library
    /// does not tell.
    pub(crate) fn properties(&self) -> Result<Vec<Property>, SensorError> {
        let device = self.device()?;
        let on = |on: bool| Value::Text(if on { "on" } else { "off" }.to_owned());
        let highest = |clock| device.max_clock_info(clock).map(hertz).map(Value::Hertz);
        let readings = [
            (DRIVER, self.nvml.sys_driver_version().map(Value::Text)),
            ("highest clock", highest(Clock::SM)),
            ("highest memory clock", highest(Clock::Memory)),
            (
                "power limit",
                device.enforced_power_limit().map(|limit| Value::Text(format!("{} W", limit / 1000))),
            ),
            ("ECC", device.is_ecc_enabled().map(|ecc| on(ecc.currently_enabled))),
            ("MIG", device.mig_mode().map(|mig| on(mig.current != 0))),
            ("compute mode", device.compute_mode().map(|mode| Value::Text(compute_mode(&mode).to_owned()))),
            #[cfg(target_os = "linux")]
            ("persistence", device.is_in_persistent_mode().map(on)),
            ("other processes", others(&device).map(|others| Value::Text(others.to_string()))),
        ];
        Ok(readings.into_iter().filter_map(|(name, value)| Some(Property::new(name, value.ok()?))).collect())
    }
}

/// Returns a mode in the words of `nvidia-smi`, in lower case.
fn compute_mode(mode: &ComputeMode) -> &'static str {
    match mode {
        ComputeMode::Default => "default",
        ComputeMode::ExclusiveThread => "exclusive thread",
        ComputeMode::Prohibited => "prohibited",
        ComputeMode::ExclusiveProcess => "exclusive process",
    }
}

fn hertz(megahertz: u32) -> Hertz {
    Hertz(u64::from(megahertz) * 1_000_000)
}

/// Counts the other processes with work on the GPU. In a container, this process does not know its own number outside.
fn others(device: &Device<'_>) -> Result<u32, NvmlError> {
    Ok(device.running_compute_processes_count()?.saturating_sub(1))
}

impl Monitor for Sensors {
    fn read(&mut self) -> Reading {
        let Ok(device) = self.device() else { return Reading::default() };
        let clock = |clock| device.clock_info(clock).ok().map(hertz);
        let reasons = device.current_throttle_reasons().unwrap_or(ThrottleReasons::empty());
        let slowed_by = SLOWING.iter().filter(|(reason, _)| reasons.contains(*reason));
        let mut reading = Reading::default();
        reading.sm_clock = clock(Clock::SM);
        reading.memory_clock = clock(Clock::Memory);
        reading.temperature = device.temperature(TemperatureSensor::Gpu).ok();
        reading.power = device.power_usage().ok().map(|milliwatts| Watts(f64::from(milliwatts) / 1e3));
        reading.throttle_reasons = slowed_by.map(|(_, words)| (*words).to_owned()).collect();
        reading.other_processes = others(&device).ok();
        reading
    }

    fn energy(&mut self) -> Option<Joules> {
        let millijoules = self.device().ok()?.total_energy_consumption().ok()?;
        Some(Joules(millijoules as f64 / 1e3))
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
    let reset = |sensors: Sensors| Ok(sensors.device()?.reset_gpu_locked_clocks()?);
    Sensors::of(uuid).and_then(reset).map_err(DeviceError::new)
}

impl Sensors {
    fn lock(&self, target: ClockTarget) -> Result<String, SensorError> {
        let mut device = self.device()?;
        let exactly = |clock| GpuLockedClocksSetting::Numeric { min_clock_mhz: clock, max_clock_mhz: clock };
        let highest = device.max_clock_info(Clock::SM);
        let (setting, words) = match target {
            // NVML has no number for the base clock.
            ClockTarget::Base => {
                let (lower_bound, upper_bound) = (ClockLimitId::Tdp, ClockLimitId::Tdp);
                (GpuLockedClocksSetting::Symbolic { lower_bound, upper_bound }, "base".to_owned())
            }
            ClockTarget::Max => {
                let clock = highest.map_err(|error| SensorError::UnknownHighest(Box::new(error.into())))?;
                (exactly(clock), format!("max, {clock} MHz"))
            }
            ClockTarget::Megahertz(clock) => {
                if let Some(highest) = highest.ok().filter(|highest| clock > *highest) {
                    return Err(SensorError::TooHigh { clock, highest });
                }
                (exactly(clock), format!("{clock} MHz"))
            }
        };
        device.set_gpu_locked_clocks(setting)?;
        Ok(format!("locked to {words}"))
    }
}

/// The reason why sensors cannot be read, or clocks not be locked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SensorError {
    /// NVIDIA's management library is missing.
    #[error("{} not found", .0.display())]
    NoLibrary(PathBuf),
    /// The library does not start.
    #[error("NVML: {0}")]
    NotStarted(NvmlError),
    /// The library does not list the GPU.
    #[error("NVML does not know this GPU: {0}")]
    UnknownGpu(NvmlError),
    /// The user may not lock clocks.
    #[error("clocks are locked by root only")]
    NotRoot,
    /// The library refuses for another reason.
    #[error("{0}")]
    Refused(NvmlError),
    /// The library does not report the highest clock.
    #[error("its highest clock is not known: {0}")]
    UnknownHighest(Box<Self>),
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
        match error {
            NvmlError::NoPermission => Self::NotRoot,
            error => Self::Refused(error),
        }
    }
}
