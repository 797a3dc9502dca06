//! The user's selection of benchmarks and cases.

use super::{Arg, BenchmarkId};
use crate::registry::{BenchmarkOptions, Entry};
use gpubench_records::method::Cache;
use gpubench_records::selection::CaseSelection;

/// The user's selection of benchmarks and cases.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The names, arguments and cache states. Values of an argument replace those of its axis, and choose among the listed types
    /// and constants; cache states replace those of the benchmarks. The devices are chosen apart.
    pub cases: CaseSelection,
    /// Tags, one of which a benchmark must have.
    pub tags: Vec<String>,
    /// The treatment of ignored benchmarks.
    pub ignored: Ignored,
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
    /// Returns true if this case would be measured. If its benchmark is no longer there, its name alone
    /// decides.
    #[must_use]
    pub fn takes(&self, entries: &[&Entry], benchmark: &str, args: &[Arg], cache: Cache) -> bool {
        let options = options_of(entries, benchmark);
        self.cases.takes_cache(cache)
            && self.takes_tags_of(&options)
            && self.ignored.takes(options.ignore)
            && self.cases.takes_benchmark(benchmark, args)
    }

    /// Returns true if a benchmark with these options has a selected tag.
    pub(super) fn takes_tags_of(&self, options: &BenchmarkOptions) -> bool {
        self.tags.is_empty() || self.tags.iter().any(|tag| options.has_tag(tag))
    }

    /// Describes a selected benchmark on `devices` in words that begin with a verb, such as "matches".
    pub(super) fn describe(&self, devices: &[(String, &str)]) -> String {
        let mut words = self.cases.describe_names();
        if !self.tags.is_empty() {
            words.push(format!("with the tag `{}`", self.tags.join("` or `")));
        }
        if self.ignored == Ignored::Only {
            words.push("that is ignored".to_owned());
        }
        words.insert(0, if words.is_empty() { "runs" } else { "matches" }.to_owned());
        let devices: Vec<&str> = devices.iter().map(|(device, _)| device.as_str()).collect();
        if !devices.is_empty() {
            words.push(format!("on {}", devices.join(", ")));
        }
        words.join(" ")
    }
}

/// Returns the options of a benchmark; the default ones if it is no longer there.
fn options_of(entries: &[&Entry], benchmark: &str) -> BenchmarkOptions {
    let entry = entries.iter().find(|entry| entry.path() == benchmark);
    entry.map_or(BenchmarkOptions::DEFAULT, |entry| entry.options)
}
