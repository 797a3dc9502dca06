//! What NVIDIA's management library tells of a GPU beside its attributes: sensors, and how it is set up. In: a UUID; out: a
//! [`Monitor`], and properties. All of it is optional: a machine may lack the library, and a GPU any of its answers.

use std::env;
use std::sync::Arc;

use nvml_wrapper::Device;
use nvml_wrapper::Nvml;
use nvml_wrapper::bitmasks::device::ThrottleReasons;
use nvml_wrapper::enum_wrappers::device::{Clock, TemperatureSensor};

use crate::device::conditions::{Monitor, Reading};
use crate::device::facts::{Property, Value};

/// Where the library is, if not where the system finds it.
const LIBRARY: &str = "GPUBENCH_LIBNVML";

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
    /// Of the GPU with this UUID; `None` where the library is missing or does not know it.
    pub(super) fn of(uuid: &str) -> Option<Self> {
        let nvml = match env::var_os(LIBRARY) {
            Some(path) => Nvml::builder().lib_path(&path).init(),
            None => Nvml::init(),
        };
        let sensors = Self { nvml: Arc::new(nvml.ok()?), uuid: uuid.to_owned() };
        sensors.device().is_some().then_some(sensors)
    }

    fn device(&self) -> Option<Device<'_>> {
        self.nvml.device_by_uuid(self.uuid.as_str()).ok()
    }

    /// How the GPU is set up, as far as that bears on its times.
    pub(super) fn properties(&self) -> Vec<Property> {
        let Some(device) = self.device() else { return Vec::new() };
        let text = |text: String| Value::Text(text);
        let on = |on: bool| text(if on { "on" } else { "off" }.to_owned());
        let known = [
            (
                "power limit",
                device.enforced_power_limit().ok().map(|limit| text(format!("{} W", limit / 1000))),
            ),
            ("ECC", device.is_ecc_enabled().ok().map(|ecc| on(ecc.currently_enabled))),
            ("MIG", device.mig_mode().ok().map(|mig| on(mig.current != 0))),
            ("persistence", device.is_in_persistent_mode().ok().map(on)),
        ];
        known.into_iter().filter_map(|(name, value)| Some(Property::new(name, value?))).collect()
    }
}

impl Monitor for Sensors {
    fn read(&mut self) -> Reading {
        let Some(device) = self.device() else { return Reading::default() };
        let clock = |clock| device.clock_info(clock).ok().map(|megahertz| u64::from(megahertz) * 1_000_000);
        let reasons = device.current_throttle_reasons().unwrap_or(ThrottleReasons::empty());
        let slowed_by = SLOWING.iter().filter(|(reason, _)| reasons.contains(*reason));
        // One of them is this one: in a container its number is not the one that is told.
        let processes = device.running_compute_processes_count().ok();
        Reading {
            sm_clock: clock(Clock::SM),
            memory_clock: clock(Clock::Memory),
            temperature: device.temperature(TemperatureSensor::Gpu).ok(),
            power: device.power_usage().ok().map(|milliwatts| f64::from(milliwatts) / 1e3),
            slowed_by: slowed_by.map(|(_, words)| (*words).to_owned()).collect(),
            other_processes: processes.map(|processes| processes.saturating_sub(1)),
        }
    }
}
