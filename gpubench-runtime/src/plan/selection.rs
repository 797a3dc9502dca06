//! The user's selection. In: the selecting flags. Out: true for each benchmark or case that is selected.

use std::collections::BTreeMap;

use super::{Arg, BenchmarkId, shown_name};
use crate::registry::{BenchmarkOptions, Entry};
use gpubench_records::method::Cache;

/// The user's selection of benchmarks and cases.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Parts of names, one of which a benchmark must contain; full names with `exact`.
    pub filters: Vec<String>,
    /// True if filters and skips are full names.
    pub exact: bool,
    /// Parts of names that a benchmark must not contain.
    pub skip: Vec<String>,
    /// Tags, one of which a benchmark must have.
    pub tags: Vec<String>,
    /// The treatment of ignored benchmarks.
    pub ignored: Ignored,
    /// Values that replace those of an axis, and choices among the listed types and constants, by the name of
    /// the argument.
    pub args: BTreeMap<String, Vec<String>>,
    /// Cache states that replace those of the benchmarks.
    pub caches: Option<Vec<Cache>>,
    /// The benchmark to compare all others with: the end of its path, and the arguments in which it differs.
    pub compare_with: Option<BenchmarkId>,
}

/// The treatment of benchmarks whose attribute says `ignore`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ignored {
    /// They are left out.
    #[default]
    Left,
    /// They are included with the others.
    Included,
    /// Only they are taken.
    Only,
}

impl Ignored {
    /// Returns true if a benchmark with this `ignore` option is taken.
    pub(super) fn takes(self, ignore: bool) -> bool {
        match self {
            Self::Left => !ignore,
            Self::Included => true,
            Self::Only => ignore,
        }
    }
}

impl Selection {
    /// Returns true if a case of this name is selected.
    pub(super) fn matches(&self, name: &str) -> bool {
        let hit =
            |pattern: &String| if self.exact { name == pattern } else { name.contains(pattern.as_str()) };
        (self.filters.is_empty() || self.filters.iter().any(hit)) && !self.skip.iter().any(hit)
    }

    /// Returns true if this case would be measured. If its benchmark is no longer there, its name alone
    /// decides.
    #[must_use]
    pub fn takes(&self, entries: &[&Entry], benchmark: &str, args: &[Arg], cache: Cache) -> bool {
        self.takes_benchmark(entries, benchmark, args)
            && self.caches.as_ref().is_none_or(|caches| caches.contains(&cache))
    }

    /// Returns true if this case would be measured, in any cache state.
    pub(crate) fn takes_benchmark(&self, entries: &[&Entry], benchmark: &str, args: &[Arg]) -> bool {
        let entry = entries.iter().find(|entry| entry.path() == benchmark);
        let options = entry.map_or(BenchmarkOptions::DEFAULT, |entry| entry.options);
        let given = |arg: &Arg| self.args.get(&arg.name).is_none_or(|values| values.contains(&arg.value));
        self.takes_tags_of(&options)
            && self.ignored.takes(options.ignore)
            && self.matches(&shown_name(benchmark, args))
            && args.iter().all(given)
    }

    /// Returns true if a benchmark with these options has a selected tag.
    pub(super) fn takes_tags_of(&self, options: &BenchmarkOptions) -> bool {
        self.tags.is_empty() || self.tags.iter().any(|tag| options.has_tag(tag))
    }

    /// Describes the whole selection in words, with the device as the user names it.
    pub(crate) fn describe_all(&self, device: Option<&str>) -> String {
        let mut words = self.describe_names();
        let args = self.args.iter().map(|(name, values)| format!("with {name}={}", values.join(",")));
        words.extend(args);
        if let Some(caches) = &self.caches {
            let caches: Vec<String> = caches.iter().map(Cache::to_string).collect();
            words.push(caches.join(" or "));
        }
        words.extend(device.map(|device| format!("on {device}")));
        words.join(" ")
    }

    /// Describes a selected benchmark on `devices` in words that begin with a verb, such as "matches".
    pub(super) fn describe(&self, devices: &[(String, &str)]) -> String {
        let mut words = self.describe_names();
        words.insert(0, if words.is_empty() { "runs" } else { "matches" }.to_owned());
        let devices: Vec<&str> = devices.iter().map(|(device, _)| device.as_str()).collect();
        if !devices.is_empty() {
            words.push(format!("on {}", devices.join(", ")));
        }
        words.join(" ")
    }

    /// Lists the conditions on a benchmark's name and options.
    fn describe_names(&self) -> Vec<String> {
        let mut words = Vec::new();
        if !self.filters.is_empty() {
            words.push(format!("`{}`", self.filters.join("` or `")));
        }
        if !self.skip.is_empty() {
            words.push(format!("without `{}`", self.skip.join("` and `")));
        }
        if !self.tags.is_empty() {
            words.push(format!("with the tag `{}`", self.tags.join("` or `")));
        }
        if self.ignored == Ignored::Only {
            words.push("that is ignored".to_owned());
        }
        words
    }
}
