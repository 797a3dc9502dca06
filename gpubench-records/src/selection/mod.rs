//! The cases of a run that the user names. In: names, arguments, cache states and devices; out: true for each case that is
//! selected, and runs with those alone. Records do not contain the attribute's options, such as tags.

mod amount;
mod filter;
mod given;

use std::collections::{BTreeMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::device_info::{DeviceInfo, UUID};
use crate::id::{Arg, shown_name};
use crate::method::Cache;
use crate::record::{Record, Run};
use crate::text::printable;

pub use self::amount::{amount, is_value};
pub use self::filter::{BadFilter, NameFilter, Pattern};
pub use self::given::{ArgValues, NoArg, parse_filters, split_names};

/// The user's selection of cases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseSelection {
    /// Parts of names or patterns, one of which a case must match; full names with `exact`.
    pub filters: Vec<NameFilter>,
    /// True if filters and skips are full names.
    pub exact: bool,
    /// Parts of names or patterns that a case must not match.
    pub skip: Vec<NameFilter>,
    /// Values of arguments, by the name of the argument. A case that lacks the argument is selected.
    pub args: BTreeMap<String, Vec<String>>,
    /// The cache states, if not all.
    pub caches: Option<Vec<Cache>>,
    /// The devices in the words of the command line, if not all: numbers, names or UUIDs with commas between them, or `all`.
    pub device: Option<String>,
}

impl CaseSelection {
    /// Returns true if a benchmark of this name, arguments included, is selected: as it is, or as lists show it.
    pub fn matches(&self, name: &str) -> bool {
        if self.filters.is_empty() && self.skip.is_empty() {
            return true;
        }
        let hit = |filter: &NameFilter| self.hits(filter, name);
        (self.filters.is_empty() || self.filters.iter().any(hit)) && !self.skip.iter().any(hit)
    }

    /// Returns true if one of the filters, or of the skips, takes a benchmark of this name, as it is or as lists show it.
    pub fn hits(&self, filter: &NameFilter, name: &str) -> bool {
        [name, &printable(name)].iter().any(|name| filter.takes(name, self.exact))
    }

    /// Returns true if this value of an argument is selected, or all are.
    pub fn takes_value(&self, arg: &Arg) -> bool {
        let takes = |values: &Vec<String>| values.iter().any(|given| is_value(given, &arg.value));
        self.args.get(&arg.name).is_none_or(takes)
    }

    /// Returns true if this benchmark is selected, in any cache state and on any device.
    pub fn takes_benchmark(&self, benchmark: &str, args: &[Arg]) -> bool {
        let takes_all = self.filters.is_empty() && self.skip.is_empty();
        (takes_all || self.matches(&shown_name(benchmark, args)))
            && args.iter().all(|arg| self.takes_value(arg))
    }

    /// Returns true if cases in this cache state are selected.
    pub fn takes_cache(&self, cache: Cache) -> bool {
        self.caches.as_ref().is_none_or(|caches| caches.contains(&cache))
    }

    /// Returns true if the device of `info` is selected.
    fn takes_device(&self, info: &DeviceInfo) -> bool {
        let named = |wanted: &str| wanted == "all" || names_device(wanted, &info.device, info.text(UUID));
        self.device.as_deref().is_none_or(named)
    }

    /// Keeps the selected cases of `run`. A device without a selected case is removed too.
    pub fn narrow(&self, run: &mut Run) {
        let named = run.devices.iter().filter(|info| self.takes_device(info));
        let named: Vec<String> = named.map(|info| info.device.clone()).collect();
        let on_one = |device: &String| self.device.is_none() || named.contains(device);
        let (had, before) = (devices_with_cases(run), run.records.len());
        run.records.retain(|Record { case, device, .. }| {
            on_one(device)
                && self.takes_cache(case.cache)
                && self.takes_benchmark(&case.benchmark, &case.args)
        });
        run.planned_cases = run.planned_cases.saturating_sub(before - run.records.len());
        run.skipped.retain(|skipped| {
            on_one(&skipped.device) && self.takes_benchmark(&skipped.benchmark, &skipped.args)
        });
        let have = devices_with_cases(run);
        run.devices.retain(|DeviceInfo { device, .. }| {
            on_one(device) && (have.contains(device) || !had.contains(device))
        });
        let Some(check) = &mut run.baseline_comparison else { return };
        let cases = run.records.iter().map(|it| (it.case.name(), &it.device, it.case.cache));
        let cases: HashSet<_> = cases.collect();
        check.findings.retain(|line| cases.contains(&(line.name.clone(), &line.device, line.cache)));
        // Cases of the baseline that the run lacks are known by their names alone.
        check.missing.retain(|missing| match missing.rsplit_once(' ') {
            Some((name, cache)) => {
                let takes_cache = |taken: &Vec<Cache>| taken.iter().any(|taken| taken.to_string() == cache);
                self.matches(name) && self.caches.as_ref().is_none_or(takes_cache)
            }
            None => self.matches(missing),
        });
    }

    /// Returns the name of a given argument that no case of `run` has, if there is one.
    pub fn unknown_arg(&self, run: &Run) -> Option<&str> {
        let measured = run.records.iter().flat_map(|record| &record.case.args);
        let all = || measured.clone().chain(run.skipped.iter().flat_map(|skipped| &skipped.args));
        self.args.keys().map(|name| &**name).find(|name| !all().any(|arg| arg.name == *name))
    }

    /// Describes the selection in words, as in "`saxpy` without `cold` on host".
    pub fn describe(&self) -> String {
        let mut words = self.describe_names();
        words.extend(self.args.iter().map(|(name, values)| format!("with {name}={}", values.join(","))));
        if let Some(caches) = &self.caches {
            words.push(caches.iter().map(Cache::to_string).collect::<Vec<_>>().join(" or "));
        }
        words.extend(self.device.iter().map(|device| format!("on {device}")));
        words.join(" ")
    }

    /// Lists the conditions on names.
    pub fn describe_names(&self) -> Vec<String> {
        let mut words = Vec::new();
        if !self.filters.is_empty() {
            words.push(format!("`{}`", joined(&self.filters, "` or `")));
        }
        if !self.skip.is_empty() {
            words.push(format!("without `{}`", joined(&self.skip, "` and `")));
        }
        words
    }
}

fn joined(filters: &[NameFilter], between: &str) -> String {
    filters.iter().map(NameFilter::to_string).collect::<Vec<_>>().join(between)
}

fn devices_with_cases(run: &Run) -> HashSet<String> {
    let measured = run.records.iter().map(|record| &record.device);
    measured.chain(run.skipped.iter().map(|skipped| &skipped.device)).cloned().collect()
}

/// Returns true if `wanted` names the device that is called `device` and has this `uuid`, or all devices of its kind.
pub fn names_device(wanted: &str, device: &str, uuid: Option<&str>) -> bool {
    let (kind, number) = device.split_once(':').unzip();
    let named = |name: &str| [Some(device), uuid, kind, number].contains(&Some(name));
    wanted.split(',').map(str::trim).any(named)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::{Baseline, check};

    fn selection(filters: &[&str], exact: bool, skip: &[&str]) -> CaseSelection {
        let owned = |names: &[&str]| names.iter().map(|name| NameFilter::from(*name)).collect();
        CaseSelection { filters: owned(filters), exact, skip: owned(skip), ..CaseSelection::default() }
    }

    #[test]
    fn names_are_parts_or_whole() {
        let args = [Arg { name: "n".to_owned(), value: "4".to_owned() }];
        let takes = |selection: &CaseSelection| selection.takes_benchmark("a::copy", &args);
        assert!(takes(&selection(&[], false, &[])) && takes(&selection(&["x", "copy[n"], false, &[])));
        assert!(
            !takes(&selection(&["copy"], false, &["n=4"])) && !takes(&selection(&["a::copy"], true, &[]))
        );
        assert!(takes(&selection(&["a::copy[n=4]"], true, &["n=4"])));
        let with = |value: &str| CaseSelection {
            args: BTreeMap::from([("n".to_owned(), vec![value.to_owned()])]),
            ..CaseSelection::default()
        };
        assert!(takes(&with("4")) && !takes(&with("8")));
    }

    #[test]
    fn devices_are_named_by_number_name_or_uuid() {
        for wanted in ["1", "cuda:1", "GPU-7", "0, 1"] {
            assert!(names_device(wanted, "cuda:1", Some("GPU-7")), "{wanted}");
        }
        assert!(!names_device("0,host", "cuda:1", Some("GPU-7")));
        assert!(names_device("host,cuda", "cuda:1", None) && names_device("host", "host", None));
        assert!(!names_device("", "host", None) && !names_device("cud", "cuda:1", None));
    }

    /// A comparison of cases that are left out is left out with them.
    #[test]
    fn the_comparison_with_a_baseline_is_narrowed_too() {
        let lines = include_bytes!("../../../gpubench-runtime/tests/parsing/corpus/runs/clockwork.jsonl");
        let mut run = crate::files::read(&lines[..]).expect("a run").run;
        run.baseline_comparison = Some(check(&run, &Baseline::of("main".to_owned(), run.clone()), &|_| true));
        let missing = ["gone[n=1] hot", "gone[n=1] cold", "other hot"].map(str::to_owned);
        run.baseline_comparison.as_mut().expect("it was compared").missing = missing.to_vec();
        let first = run.records[0].case.clone();
        let mut hot = run.clone();
        CaseSelection { caches: Some(vec![first.cache]), ..selection(&[&first.name(), "gone"], false, &[]) }
            .narrow(&mut hot);
        let check = hot.baseline_comparison.expect("it was compared");
        let lines: Vec<_> = check.findings.iter().map(|line| (line.name.clone(), line.cache)).collect();
        let records: Vec<_> = hot.records.iter().map(|it| (it.case.name(), it.case.cache)).collect();
        assert!(!records.is_empty() && records.len() < run.records.len());
        assert_eq!((lines, check.missing), (records, vec![format!("gone[n=1] {}", first.cache)]));
    }

    #[test]
    fn a_selection_is_told_in_words() {
        let told = CaseSelection {
            caches: Some(vec![Cache::Cold]),
            device: Some("host".to_owned()),
            ..selection(&["a", "b"], false, &["c"])
        };
        assert_eq!(told.describe(), "`a` or `b` without `c` cold on host");
    }
}
