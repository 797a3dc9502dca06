//! Examines the GPUs of this machine, without changing anything. The findings come from the driver, the
//! management library of NVIDIA, and files of the operating system.

use super::device_info::nvml::Sensors;
use super::device_info::{count, list};
use crate::device::{Available, Monitor};
use crate::devices::doctor::{Finding, Level, Machine};
use crate::system::time_variables;
use gpubench_driver::sys::{CUDA_ERROR_NO_DEVICE, CUDA_SUCCESS};
use gpubench_driver::{Driver, LoadError, last_call};
use gpubench_records::{Value, device_info::DRIVER, environment::effect_on_times};

/// The number of the capability `CAP_SYS_ADMIN`, with which a process may read performance counters.
const CAP_SYS_ADMIN_BIT: u32 = 21;

/// Returns findings on the driver, each GPU, and the permissions and tools for clock locks and profiling. If
/// the driver cannot be loaded, this is the only finding.
pub(in crate::devices) fn examine() -> Vec<Finding> {
    let machine = Machine::this();
    let (none, driver) = (count().err(), gpubench_driver::load());
    // A machine without a GPU measures its CPU.
    let level = if is_absence(driver) { Level::Note } else { Level::Problem };
    let driver = match driver {
        Ok(driver) => driver,
        Err(error) => {
            return vec![Finding::with_advice("driver", level, error.short(), format!("for a GPU: {error}"))];
        }
    };
    let fake = if driver.fake { " (a fake driver for tests)" } else { "" };
    let driver = format!("{}, CUDA {}{fake}", driver.library.display(), driver.version);
    let mut findings = vec![Finding::good("driver", driver)];
    match none {
        None => findings.extend(list().unwrap_or_default().iter().flat_map(examine_gpu)),
        Some(error) => {
            let advice = "`nvidia-smi` says more; in a container, start it with `--gpus all`, and look at CUDA_VISIBLE_DEVICES";
            findings.push(Finding::with_advice("GPUs", level, error.to_string(), advice));
        }
    }
    findings.extend([clock_lock_finding(rustix::process::geteuid().is_root()), counter_finding(&machine)]);
    findings.push(cupti_finding());
    findings.extend(time_variables().iter().filter_map(|(name, value)| {
        Some(Finding::with_advice(name, Level::Warning, value, effect_on_times(name, value)?))
    }));
    findings
}

/// Returns true if [`count`] has just failed because the machine has no GPU or no driver. Returns false if a
/// driver or a GPU exists but cannot be used, or if the library that `GPUBENCH_LIBCUDA` names is missing.
fn is_absence(driver: Result<&Driver, &LoadError>) -> bool {
    match driver {
        Err(error) => matches!(error, LoadError::NotFound { from_variable: false, .. }),
        Ok(_) => last_call().is_some_and(|call| [CUDA_SUCCESS, CUDA_ERROR_NO_DEVICE].contains(&call.code)),
    }
}

/// Returns the findings on one listed GPU.
fn examine_gpu(found: &Available) -> Vec<Finding> {
    let device = &*found.device;
    if let Some(fault) = &found.fault {
        let advice = "the driver lists this GPU but cannot open it, so it is not measured: `nvidia-smi` and `dmesg` may say why";
        return vec![Finding::with_advice("GPU", Level::Problem, fault, advice).on(device)];
    }
    let name = Finding::good("GPU", &*found.name).on(device);
    let rest = match found.uuid.as_deref().map(Sensors::open) {
        Some(Ok(mut sensors)) => sensor_findings(&mut sensors),
        Some(Err(error)) => {
            let advice = "clocks, power and other processes are not seen, so that no row is suspect for them: install the \
                          management library of the driver; a container needs NVIDIA_DRIVER_CAPABILITIES=compute,utility";
            vec![Finding::with_advice("sensors", Level::Warning, error.to_string(), advice)]
        }
        None => Vec::new(),
    };
    [name].into_iter().chain(rest.into_iter().map(|finding| finding.on(device))).collect()
}

/// Returns findings on the settings and the state of a GPU, according to its sensors.
fn sensor_findings(sensors: &mut Sensors) -> Vec<Finding> {
    let properties = sensors.properties();
    let settings = properties.iter().filter_map(|property| match &property.value {
        Value::Text(text) => setting_finding(&property.name, text),
        _ => None,
    });
    let processes = sensors.0.compute_processes().ok().map(|processes| match processes {
        0 => Finding::good("other processes", "none"),
        _ => {
            let advice = "`nvidia-smi` lists them; results are suspect while they use the GPU";
            Finding::with_advice("other processes", Level::Warning, processes.to_string(), advice)
        }
    });
    let slowed_by = sensors.read().throttle_reasons;
    let slowed = (!slowed_by.is_empty()).then(|| {
        let advice = "results are suspect while that lasts; a lower clock that the GPU can hold gives steady times: `cargo bench -- --lock-clocks base`";
        Finding::with_advice("clocks", Level::Warning, format!("held down by {}", slowed_by.join(", ")), advice)
    });
    settings.chain(processes).chain(slowed).collect()
}

/// Returns a finding on the property `name` of a GPU: a good one if `value` is as it should be. Returns
/// `None` for properties that are not examined, such as the power limit.
fn setting_finding(name: &str, value: &str) -> Option<Finding> {
    let of = |level, advice: &str| Some(Finding::with_advice(name, level, value, advice));
    match (name, value) {
        (DRIVER, _) => Some(Finding::good("driver's release", value)),
        ("persistence", "off") => of(
            Level::Warning,
            "the driver stops the GPU between programs, and each one waits for it: `sudo nvidia-smi --persistence-mode=1`",
        ),
        ("ECC", "off") => of(
            Level::Note,
            "baselines of a GPU with ECC are not comparable: on some models it takes a part of the memory's bandwidth",
        ),
        ("MIG", "on") => of(
            Level::Warning,
            "an instance has a part of the GPU, whose peaks the driver does not tell: shares of peak are left out",
        ),
        ("compute mode", "prohibited") => {
            of(Level::Problem, "no program may use it: `sudo nvidia-smi --compute-mode=0`")
        }
        ("compute mode", "exclusive process" | "exclusive thread") => of(
            Level::Note,
            "one process at a time may use it: benchmarks that are compared across processes wait for each other",
        ),
        ("persistence" | "ECC" | "MIG" | "compute mode", _) => Some(Finding::good(name, value)),
        _ => None,
    }
}

/// Returns a finding on the permission to lock clocks. Assumes that only root has it: an attempt to lock
/// would change the machine.
fn clock_lock_finding(is_root: bool) -> Finding {
    let topic = "locking clocks";
    if is_root {
        return Finding::good(topic, "allowed (root)");
    }
    let advice =
        "`--lock-clocks` is for root; without it times are right too, and a clock that falls is seen";
    Finding::with_advice(topic, Level::Note, "for root only", advice)
}

/// Returns a finding on the permission to read the performance counters of a GPU, which Nsight Compute and
/// CUPTI need.
fn counter_finding(machine: &Machine) -> Finding {
    let topic = "performance counters";
    let capabilities = machine.value("/proc/self/status", "CapEff");
    let capabilities = capabilities.and_then(|set| u64::from_str_radix(&set, 16).ok()).unwrap_or(0);
    let administers = capabilities >> CAP_SYS_ADMIN_BIT & 1 == 1;
    match machine.value("/proc/driver/nvidia/params", "RmProfilingAdminOnly").as_deref() {
        Some("0") => Finding::good(topic, "for every user"),
        _ if administers => Finding::good(topic, "allowed (CAP_SYS_ADMIN)"),
        known => {
            let found = if known.is_some() { "for root only" } else { "not told for whom" };
            let advice = "gpubench needs none; profilers do (ERR_NVGPUCTRPERM): as root, set the option \
                          NVreg_RestrictProfilingToAdminUsers=0 of the module nvidia; start a container with \
                          `--cap-add=SYS_ADMIN`";
            Finding::with_advice(topic, Level::Note, found, advice)
        }
    }
}

/// Returns a finding on the library that traces launches: a note if it cannot be loaded.
fn cupti_finding() -> Finding {
    match gpubench_driver::cupti::load() {
        Ok(cupti) => Finding::good("libcupti", format!("{}, {}", cupti.library().display(), cupti.version())),
        Err(error) => Finding::with_advice(
            "libcupti",
            Level::Note,
            "not found",
            format!("optional, for `cargo bench -- --verify cupti`: {error}"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters_of(files: &[(&str, &str)]) -> Finding {
        let (_root, machine) = Machine::of_files(files);
        counter_finding(&machine)
    }

    #[test]
    fn counters_are_for_everybody_for_root_or_for_administrators() {
        let params = ("/proc/driver/nvidia/params", "RmProfilingAdminOnly: 1\n");
        let open = ("/proc/driver/nvidia/params", "RmProfilingAdminOnly: 0\n");
        let user = ("/proc/self/status", "Name:\tgpubench\nCapEff:\t0000000000000000\n");
        let root = ("/proc/self/status", "CapEff:\t000001ffffffffff\n");
        // A container's root.
        let contained = ("/proc/self/status", "CapEff:\t00000000a80425fb\n");
        assert_eq!(counters_of(&[open, user]).level, Level::Good);
        assert_eq!(counters_of(&[params, root]).level, Level::Good);
        for refused in [[params, user], [params, contained]] {
            let finding = counters_of(&refused);
            assert_eq!((finding.level, &*finding.found), (Level::Note, "for root only"));
        }
        assert_eq!(counters_of(&[user]).found, "not told for whom");
    }

    #[test]
    fn settings_are_judged_by_what_they_do_to_times() {
        let level = |name, value| setting_finding(name, value).map(|finding| finding.level);
        assert_eq!(level("persistence", "on"), Some(Level::Good));
        assert_eq!(level("persistence", "off"), Some(Level::Warning));
        assert_eq!(level("compute mode", "prohibited"), Some(Level::Problem));
        assert_eq!(level("MIG", "on"), Some(Level::Warning));
        assert_eq!(level("power limit", "700 W"), None);
    }
}
