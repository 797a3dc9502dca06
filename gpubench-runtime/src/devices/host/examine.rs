//! Examines this machine's CPU and its limits, which affect measurements on the CPU and the launches of
//! all other devices. The findings are read from files of the operating system.

use std::collections::BTreeSet;

use gpubench_records::environment::shown_quota;

use super::{cpu_name, topology::allowed_processors};
use crate::devices::doctor::{Finding, Level, Machine};
use crate::system::cpu_quota;

/// Returns the findings on this machine.
pub(in crate::devices) fn examine() -> Vec<Finding> {
    let processors = allowed_processors();
    findings(&Machine::this(), &processors)
}

/// Returns the findings for `machine`, on which this process may use these `processors`.
fn findings(machine: &Machine, processors: &[usize]) -> Vec<Finding> {
    let cpu = Finding::good("CPU", format!("{}, {} processors", cpu_name(), processors.len()));
    [cpu, examine_governor(machine, processors)].into_iter().chain(examine_quota(machine)).collect()
}

/// Returns the finding on the frequency governor of `processors`: a note if one of them has another governor
/// than `performance`. An unknown governor counts as good.
fn examine_governor(machine: &Machine, processors: &[usize]) -> Finding {
    let of = |processor: &usize| {
        machine.read(&format!("/sys/devices/system/cpu/cpu{processor}/cpufreq/scaling_governor"))
    };
    let governors: BTreeSet<String> = processors.iter().filter_map(of).collect();
    let topic = "CPU governor";
    if governors.is_empty() {
        return Finding::good(topic, "unknown, as in most virtual machines");
    }
    let names = governors.iter().cloned().collect::<Vec<_>>().join(", ");
    if names == "performance" {
        return Finding::good(topic, names);
    }
    let advice = "for steadier times on the CPU: `sudo cpupower frequency-set --governor performance`";
    Finding::with_advice(topic, Level::Note, names, advice)
}

/// Returns a warning if a control group limits the processor time of this process, otherwise `None`.
fn examine_quota(machine: &Machine) -> Option<Finding> {
    let processors = cpu_quota(&|path| machine.read(path))?;
    let found = format!("limited to the time of {}", shown_quota(processors));
    let advice = "the system stops a process that has used its part, in the middle of samples: give the container whole \
                  processors (`--cpuset-cpus`) rather than a part of their time";
    Some(Finding::with_advice("CPU time", Level::Warning, found, advice))
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
        ];
        assert_eq!(found(&files), ["Good CPU governor: performance"]);
    }

    #[test]
    fn limits_of_a_container_are_found() {
        let files = [
            ("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n"),
            ("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "schedutil\n"),
            ("/sys/fs/cgroup/cpu.max", "150000 100000\n"),
        ];
        let expected = [
            "Note CPU governor: powersave, schedutil",
            "Warning CPU time: limited to the time of 1.5 processors",
        ];
        assert_eq!(found(&files), expected);
    }

    /// A machine without these files is no failure.
    #[test]
    fn without_files_nothing_is_found() {
        assert_eq!(found(&[]), ["Good CPU governor: unknown, as in most virtual machines"]);
    }
}

#[cfg(test)]
mod quota_tests {
    use super::*;

    fn limited(files: &[(&str, &str)]) -> Option<f64> {
        let (_root, machine) = Machine::of_files(files);
        cpu_quota(&|path| machine.read(path))
    }

    #[test]
    fn the_group_of_the_process_and_all_above_it_count() {
        let own = ("/proc/self/cgroup", "0::/user.slice/session");
        let session = ("/sys/fs/cgroup/user.slice/session/cpu.max", "200000 100000\n");
        let above = ("/sys/fs/cgroup/user.slice/cpu.max", "50000 100000\n");
        assert_eq!(limited(&[own, session]), Some(2.0));
        assert_eq!(limited(&[own, session, above]), Some(0.5));
        // Another group's.
        assert_eq!(limited(&[("/proc/self/cgroup", "0::/elsewhere"), session]), None);
        assert_eq!(limited(&[own, ("/sys/fs/cgroup/user.slice/session/cpu.max", "max 100000\n")]), None);
    }

    /// As a container sees its files at the root, whatever the path is that it has on the machine.
    #[test]
    fn a_container_has_the_limit_of_the_root() {
        let own = ("/proc/self/cgroup", "0::/docker/17\n");
        assert_eq!(limited(&[own, ("/sys/fs/cgroup/cpu.max", "150000 100000\n")]), Some(1.5));
    }

    #[test]
    fn the_first_version_has_its_limit_in_two_files() {
        let own = ("/proc/self/cgroup", "4:memory:/docker/9\n3:cpu,cpuacct:/docker/17\n");
        let quota = |of| ("/sys/fs/cgroup/cpu/docker/17/cpu.cfs_quota_us", of);
        let period = ("/sys/fs/cgroup/cpu/docker/17/cpu.cfs_period_us", "100000\n");
        assert_eq!(limited(&[own, quota("250000\n"), period]), Some(2.5));
        assert_eq!(limited(&[own, quota("-1\n"), period]), None);
        assert_eq!(
            limited(&[
                ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"),
                ("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
            ]),
            Some(0.5)
        );
    }
}
