//! What NVIDIA's management library tells of a GPU beside its attributes: sensors, and how it is set up. In: a UUID; out: a
//! [`Monitor`], and properties. All of it is optional: a machine may lack the library, and a GPU any of its answers.

use std::env;
use std::sync::Arc;

use nvml_wrapper::Device;
use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};
use nvml_wrapper::error::NvmlError;

use crate::device::conditions::{Monitor, Reading};
use crate::device::facts::{Property, Value};
use crate::units::Joules;

/// Where the library is, if not where the system finds it.
const LIBRARY: &str = "GPUBENCH_LIBNVML";
/// What that is called where the system looks for it.
const USUAL_LIBRARY: &str = "libnvidia-ml.so.1";

/// What holds clocks down, in words. That a GPU idles, or that clocks were set, is not among them.
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
pub(super) struct Sensors {
    nvml: Arc<Nvml>,
    uuid: String,
}

impl Sensors {
    /// Of the GPU with this UUID, or why there are none: the library is missing or does not know it.
    pub(super) fn of(uuid: &str) -> Result<Self, String> {
        let chosen = env::var_os(LIBRARY);
        let nvml = match &chosen {
            Some(path) => Nvml::builder().lib_path(path).init(),
            None => Nvml::init(),
        };
        let nvml = nvml.map_err(|error| match error {
            NvmlError::LibloadingError(_) => {
                let library = chosen.unwrap_or_else(|| USUAL_LIBRARY.into());
                format!("{} not found", library.to_string_lossy())
            }
            error => format!("NVML: {error}"),
        })?;
        let sensors = Self { nvml: Arc::new(nvml), uuid: uuid.to_owned() };
        sensors.device().map(drop).map_err(|error| format!("NVML does not know this GPU: {error}"))?;
        Ok(sensors)
    }

    fn device(&self) -> Result<Device<'_>, NvmlError> {
        self.nvml.device_by_uuid(self.uuid.as_str())
    }

    /// How the GPU is set up, as far as that bears on its times, and who else is there.
    pub(super) fn properties(&self) -> Result<Vec<Property>, String> {
        let device = self.device().map_err(told)?;
        let on = |on: bool| if on { "on" } else { "off" }.to_owned();
        let known = [
            ("power limit", device.enforced_power_limit().map(|limit| format!("{} W", limit / 1000))),
            ("ECC", device.is_ecc_enabled().map(|ecc| on(ecc.currently_enabled))),
            ("MIG", device.mig_mode().map(|mig| on(mig.current != 0))),
            ("persistence", device.is_in_persistent_mode().map(on)),
            ("other processes", others(&device).map(|others| others.to_string())),
        ];
        let shown = |value: Result<String, NvmlError>| match value {
            Ok(value) => value,
            Err(NvmlError::NotSupported) => "not supported".to_owned(),
            Err(_) => "not told".to_owned(),
        };
        Ok(known.into_iter().map(|(name, value)| Property::new(name, Value::Text(shown(value)))).collect())
    }
}

/// How many processes have work on the GPU besides this one, which in a container does not know the number that it has outside.
fn others(device: &Device<'_>) -> Result<u32, NvmlError> {
    Ok(device.running_compute_processes_count()?.saturating_sub(1))
}

impl Monitor for Sensors {
    fn read(&mut self) -> Reading {
        let Ok(device) = self.device() else { return Reading::default() };
        let clock = |clock| device.clock_info(clock).ok().map(|megahertz| u64::from(megahertz) * 1_000_000);
        let reasons = device.current_throttle_reasons().unwrap_or(ThrottleReasons::empty());
        let slowed_by = SLOWING.iter().filter(|(reason, _)| reasons.contains(*reason));
        Reading {
            sm_clock: clock(Clock::SM),
            memory_clock: clock(Clock::Memory),
            temperature: device.temperature(TemperatureSensor::Gpu).ok(),
            power: device.power_usage().ok().map(|milliwatts| f64::from(milliwatts) / 1e3),
            slowed_by: slowed_by.map(|(_, words)| (*words).to_owned()).collect(),
            other_processes: others(&device).ok(),
        }
    }

    fn energy(&mut self) -> Option<Joules> {
        let millijoules = self.device().ok()?.total_energy_consumption().ok()?;
        Some(Joules(millijoules as f64 / 1e3))
    }
}

/// What a refusal means to a user.
fn told(error: NvmlError) -> String {
    match error {
        NvmlError::NoPermission => "clocks are locked by root only".to_owned(),
        error => error.to_string(),
    }
}
