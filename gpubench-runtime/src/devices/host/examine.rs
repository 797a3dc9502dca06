//! What affects measurements on this machine's CPU, and the launches of all other devices. In: the system's files; out: findings.

use std::collections::BTreeSet;

use gpubench_stats::{Bytes, format};

use super::cpu_name;
use super::topology::{allowed_processors, quota_processors};
use crate::device::finding::{Finding, Level};
use crate::devices::machine::Machine;

/// The least memory with which suites of usual sizes run: their inputs are made here, before they are copied to a GPU.
const LEAST_MEMORY: Bytes = Bytes(4 << 30);
/// Examines this machine.
pub(in crate::devices) fn examine() -> Vec<Finding> {
    let processors = allowed_processors();
    findings(&Machine::this(), &processors)
}

fn findings(machine: &Machine, processors: &[usize]) -> Vec<Finding> {
    let cpu = Finding::good("CPU", format!("{}, {} processors", cpu_name(), processors.len()));
    let rest = [governor(machine, processors), processor_time(machine), memory(machine)];
    [cpu].into_iter().chain(rest.into_iter().flatten()).collect()
}

/// The rule for the clock of these processors.
fn governor(machine: &Machine, processors: &[usize]) -> Option<Finding> {
    let of = |processor: &usize| {
        machine.read(&format!("/sys/devices/system/cpu/cpu{processor}/cpufreq/scaling_governor"))
    };
    let governors: BTreeSet<String> = processors.iter().filter_map(of).collect();
    let topic = "CPU governor";
    if governors.is_empty() {
        return Some(Finding::good(topic, "not told, as in most virtual machines"));
    }
    let names = governors.iter().cloned().collect::<Vec<_>>().join(", ");
    if names == "performance" {
        return Some(Finding::good(topic, names));
    }
    let advice = "for steadier times on the CPU: `sudo cpupower frequency-set --governor performance`";
    Some(Finding::of(topic, Level::Note, names, advice))
}

/// The processor time that a container may use.
fn processor_time(machine: &Machine) -> Option<Finding> {
    let processors = quota_processors(machine)?;
    let found = format!("limited to the time of {} processors", format::number(processors));
    let advice = "the system stops a process that has used its part, in the middle of samples: give the container whole \
                  processors (`--cpuset-cpus`) rather than a part of their time";
    Some(Finding::of("CPU time", Level::Warning, found, advice))
}

/// The memory that this process may use.
fn memory(machine: &Machine) -> Option<Finding> {
    let kibibytes = |name| machine.value("/proc/meminfo", name)?.trim_end_matches(" kB").parse::<u64>().ok();
    let available = Bytes(kibibytes("MemAvailable")? << 10);
    let limit = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let limit = limit.iter().find_map(|file| machine.read(file)?.parse().ok().map(Bytes));
    let (least, found) = match limit.filter(|limit| *limit < available) {
        Some(limit) => (limit, format!("{}, the limit of this container", format::bytes(limit))),
        None => (available, format!("{} available", format::bytes(available))),
    };
    if least >= LEAST_MEMORY {
        return Some(Finding::good("memory", found));
    }
    let advice =
        "inputs are made in this machine's memory: a process that needs more is ended, and its case fails";
    Some(Finding::of("memory", Level::Warning, found, advice))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings on a machine with these files, but for its CPU.
    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let (_root, machine) = Machine::of_files(files);
        let words = |finding: &Finding| format!("{:?} {}: {}", finding.level, finding.topic, finding.found);
        findings(&machine, &[0, 1]).iter().skip(1).map(words).collect()
    }

    #[test]
    fn a_machine_of_ones_own_has_nothing_to_mend() {
        let files = [
            ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n"),
            ("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n"),
            ("/sys/fs/cgroup/cpu.max", "max 100000\n"),
            ("/sys/fs/cgroup/memory.max", "max\n"),
            ("/proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable:   8388608 kB\n"),
        ];
        assert_eq!(found(&files), ["Good CPU governor: performance", "Good memory: 8 GiB available"]);
    }

    #[test]
    fn limits_of_a_container_are_found() {
        let files = [
            ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
            ("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "schedutil\n"),
            ("/sys/fs/cgroup/cpu.max", "150000 100000\n"),
            ("/sys/fs/cgroup/memory.max", "1073741824\n"),
            ("/proc/meminfo", "MemAvailable:   8388608 kB\n"),
        ];
        let expected = [
            "Note CPU governor: powersave, schedutil",
            "Warning CPU time: limited to the time of 1.5 processors",
            "Warning memory: 1 GiB, the limit of this container",
        ];
        assert_eq!(found(&files), expected);
        let older = [
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "2147483648"),
            ("/proc/meminfo", "MemAvailable:   8388608 kB\n"),
        ];
        let expected = [
            "Good CPU governor: not told, as in most virtual machines",
            "Warning memory: 2 GiB, the limit of this container",
        ];
        assert_eq!(found(&older), expected);
    }

    /// A machine that tells nothing is no reason to fail.
    #[test]
    fn nothing_told_is_nothing_found() {
        assert_eq!(found(&[]), ["Good CPU governor: not told, as in most virtual machines"]);
    }
}
