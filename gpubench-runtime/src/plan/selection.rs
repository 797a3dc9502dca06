//! What the user selected of all that is there. In: the flags that say so; out: whether a benchmark or a case is wanted.

use std::collections::BTreeMap;

use super::{Arg, BenchmarkId, shown_name};
use crate::registry::{Entry, Options};
use gpubench_records::method::Cache;

/// What the user selected of all that is there.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Parts of names, one of which a benchmark must contain; whole names with `exact`.
    pub filters: Vec<String>,
    /// Whether filters and skips are whole names.
    pub exact: bool,
    /// Parts of names that a benchmark must not contain.
    pub skip: Vec<String>,
    /// Tags, one of which a benchmark must have.
    pub tags: Vec<String>,
    /// What becomes of ignored benchmarks.
    pub ignored: Ignored,
    /// Values in place of those an axis lists, by the axis's name; and which of its types and constants.
    pub args: BTreeMap<String, Vec<String>>,
    /// Cache states in place of those that benchmarks ask for.
    pub caches: Option<Vec<Cache>>,
    /// What all of them are compared with: the end of a benchmark's path, and those of its arguments that are not the same.
    pub compare_with: Option<BenchmarkId>,
}

/// What becomes of benchmarks whose attribute says `ignore`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ignored {
    /// They are left out.
    #[default]
    Left,
    /// They are taken with the others.
    Included,
    /// They alone are taken.
    Only,
}

impl Ignored {
    /// Whether a benchmark that is to be ignored, or is not, is taken.
    pub(super) fn takes(self, ignore: bool) -> bool {
        match self {
            Self::Left => !ignore,
            Self::Included => true,
            Self::Only => ignore,
        }
    }
}

impl Selection {
    /// Whether a case of this name is wanted.
    pub(super) fn matches(&self, name: &str) -> bool {
        let hit =
            |pattern: &String| if self.exact { name == pattern } else { name.contains(pattern.as_str()) };
        (self.filters.is_empty() || self.filters.iter().any(hit)) && !self.skip.iter().any(hit)
    }

    /// Whether this case would be measured. Of a benchmark that is no longer there its name alone says so.
    #[must_use]
    pub fn takes(&self, entries: &[&Entry], benchmark: &str, args: &[Arg], cache: Cache) -> bool {
        self.takes_benchmark(entries, benchmark, args)
            && self.caches.as_ref().is_none_or(|caches| caches.contains(&cache))
    }

    /// The same, whatever its cache state.
    pub(crate) fn takes_benchmark(&self, entries: &[&Entry], benchmark: &str, args: &[Arg]) -> bool {
        let entry = entries.iter().find(|entry| entry.path() == benchmark);
        let options = entry.map_or(Options::DEFAULT, |entry| entry.options);
        let given = |arg: &Arg| self.args.get(&arg.name).is_none_or(|values| values.contains(&arg.value));
        self.takes_tags_of(&options)
            && self.ignored.takes(options.ignore)
            && self.matches(&shown_name(benchmark, args))
            && args.iter().all(given)
    }

    /// Whether a benchmark of these options has a tag that is wanted.
    pub(super) fn takes_tags_of(&self, options: &Options) -> bool {
        self.tags.is_empty() || self.tags.iter().any(|tag| options.has_tag(tag))
    }

    /// All of the selection in words, with the device as the user names it.
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

    /// What a benchmark does that is selected on `devices`, in words.
    pub(super) fn describe(&self, devices: &[(String, &str)]) -> String {
        let mut words = self.describe_names();
        words.insert(0, if words.is_empty() { "runs" } else { "matches" }.to_owned());
        let devices: Vec<&str> = devices.iter().map(|(device, _)| device.as_str()).collect();
        if !devices.is_empty() {
            words.push(format!("on {}", devices.join(", ")));
        }
        words.join(" ")
    }

    /// What must be true of a benchmark's name and options.
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
