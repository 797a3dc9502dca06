//! The processor time that the control groups of this process leave it. In: the system's files; out: the number of processors whose
//! time it may use, if that is limited.

use std::path::Path;

use crate::devices::machine::Machine;

/// Reads the limit of a group in this folder.
type ReadLimit = fn(&Machine, &str) -> Option<f64>;

/// Returns the lowest limit of the groups of this process and of those that they are in.
pub(super) fn processors(machine: &Machine) -> Option<f64> {
    let groups = machine.read("/proc/self/cgroup").unwrap_or_default();
    let paths = |is_meant: fn(&str) -> bool| {
        // `4:cpu,cpuacct:/user/session`, without names in the second version.
        let found = groups.lines().filter_map(move |line| {
            let (names, path) = line.split_once(':')?.1.split_once(':')?;
            is_meant(names).then_some(path)
        });
        // A container without its own view sees other paths than its files have: those of the root are its own.
        found.chain(["/"]).flat_map(|path| Path::new(path).ancestors()).filter_map(Path::to_str)
    };
    let limits = |root: &'static str, is_meant, read: ReadLimit| {
        paths(is_meant)
            .filter_map(move |path| read(machine, &format!("{root}{}", path.trim_end_matches('/'))))
    };
    let second = limits("/sys/fs/cgroup", str::is_empty, second_version);
    let first =
        limits("/sys/fs/cgroup/cpu", |names| names.split(',').any(|name| name == "cpu"), first_version);
    second.chain(first).reduce(f64::min)
}

fn second_version(machine: &Machine, folder: &str) -> Option<f64> {
    let both = machine.read(&format!("{folder}/cpu.max"))?;
    let (quota, period) = both.split_once(' ')?;
    limit(quota, period)
}

fn first_version(machine: &Machine, folder: &str) -> Option<f64> {
    let read = |name: &str| machine.read(&format!("{folder}/cpu.cfs_{name}_us"));
    limit(&read("quota")?, &read("period")?)
}

/// Divides a quota by its period. One that is no limit is `max` or negative.
fn limit(quota: &str, period: &str) -> Option<f64> {
    let (quota, period) = (quota.parse::<f64>().ok()?, period.parse::<f64>().ok()?);
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(files: &[(&str, &str)]) -> Option<f64> {
        let (_root, machine) = Machine::of_files(files);
        processors(&machine)
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

    #[test]
    fn both_versions_are_read() {
        let own = ("/proc/self/cgroup", "9:cpuset:/other\n4:cpu,cpuacct:/job\n0::/\n");
        let quota = ("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "10000\n");
        let period = ("/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
        assert_eq!(limited(&[own, quota, period]), Some(0.1));
        // As a container sees its files at the root, whatever the path is that it has on the machine.
        let own = ("/proc/self/cgroup", "4:cpu,cpuacct:/docker/17\n");
        let [quota, period] = [
            ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "150000\n"),
            ("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
        ];
        assert_eq!(limited(&[own, quota, period]), Some(1.5));
        assert_eq!(limited(&[quota, period]), Some(1.5));
        assert_eq!(limited(&[own, ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1"), period]), None);
    }
}
