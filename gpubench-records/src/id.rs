//! The names of things: of devices, arguments and cases.

use std::str::FromStr;

use gpubench_stats::format::joined;
use serde::{Deserialize, Serialize};

use crate::{Cache, text::split_outside_brackets};

/// A device as the command line and records name it: its kind, and its number if the kind has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceId<'a> {
    /// The kind, such as `cuda` or `host`.
    pub kind: &'a str,
    /// The number among devices of that kind, from 0.
    pub ordinal: usize,
}

impl<'a> DeviceId<'a> {
    /// Parses a name such as `host`, `cuda:1` or `n1/cuda:1`. The part before `/`, a host, is dropped. The
    /// number is 0 if there is none. Text after `:` that is no number is part of the kind.
    pub fn parse(device: &'a str) -> Self {
        let device = device.rsplit_once('/').map_or(device, |(_, device)| device);
        let numbered = device.split_once(':').and_then(|(kind, ordinal)| Some((kind, ordinal.parse().ok()?)));
        let (kind, ordinal) = numbered.unwrap_or((device, 0));
        Self { kind, ordinal }
    }
}

gpubench_stats::stored! {
    /// An argument's name and its value as it is shown.
    #[derive(Eq, PartialOrd, Ord, Hash, thiserror::Error)]
    #[error("{name}={value}")]
    pub struct Arg {
        /// The argument's name.
        pub name: String,
        /// Its value.
        pub value: String,
    }

    /// A benchmark with its arguments: the part of a [`CaseId`] that is the same on every device, hot and cold.
    #[derive(Default, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
    #[error("{}", shown_name(benchmark, args))]
    pub struct BenchmarkId {
        /// The benchmark's path, crate first.
        pub benchmark: String,
        /// Its arguments in the order of its axes.
        pub args: Vec<Arg>,
    }

    /// The identity of a case, from one run to another: a case is the same on every device of a model.
    #[derive(Default, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
    #[error("{} {cache}", self.name())]
    pub struct CaseId {
        /// The benchmark's path, crate first.
        pub benchmark: String,
        /// Its arguments in the order of its axes.
        pub args: Vec<Arg>,
        /// The name that its maker gave the device, such as `NVIDIA H200`; empty if the device could not be opened.
        pub model: String,
        /// Hot or cold.
        pub cache: Cache,
    }
}

/// Reads `sum`, or `sum[BLOCK=128, n=1024]`.
impl FromStr for BenchmarkId {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, args) = text.strip_suffix(']').and_then(|text| text.split_once('[')).unwrap_or((text, ""));
        let args = split_outside_brackets(args, ',').into_iter().filter(|arg| !arg.trim().is_empty());
        let args = args.map(|arg| {
            let (name, value) = arg.split_once('=')?;
            Some(Arg { name: name.trim().to_owned(), value: value.trim().to_owned() })
        });
        let args = args
            .collect::<Option<Vec<Arg>>>()
            .filter(|_| !name.trim().is_empty())
            .ok_or("give a benchmark's name, with its own arguments in brackets, such as sum[BLOCK=128]")?;
        Ok(Self { benchmark: name.trim().to_owned(), args })
    }
}

/// A case of a plan, on one device of this machine. Its model is not known before the device is open.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, thiserror::Error)]
#[error("{} {cache}", self.name())]
pub struct PlannedCase {
    /// The benchmark's path, crate first.
    pub benchmark: String,
    /// Its arguments in the order of its axes.
    pub args: Vec<Arg>,
    /// The device in the words of the command line.
    pub device: String,
    /// Hot or cold.
    pub cache: Cache,
}

impl PlannedCase {
    /// Returns the identity of this case on a device of the model `model`.
    pub fn on(self, model: impl Into<String>) -> CaseId {
        CaseId { benchmark: self.benchmark, args: self.args, model: model.into(), cache: self.cache }
    }

    /// Returns the benchmark with its arguments, like [`CaseId::name`].
    pub fn name(&self) -> String {
        shown_name(&self.benchmark, &self.args)
    }
}

impl CaseId {
    /// Returns the benchmark with its arguments, such as `kernels::saxpy[n=65536]`. Cases that differ only in their device or cache state have the
    /// same name.
    pub fn name(&self) -> String {
        shown_name(&self.benchmark, &self.args)
    }
}

/// Returns the name of a benchmark with its arguments, such as `kernels::saxpy[n=65536]`.
pub fn shown_name(benchmark: &str, args: &[Arg]) -> String {
    if args.is_empty() {
        return benchmark.to_owned();
    }
    format!("{benchmark}[{}]", joined(args, ", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_a_kind_and_a_number() {
        assert_eq!(DeviceId::parse("cuda:3"), DeviceId { kind: "cuda", ordinal: 3 });
        assert_eq!(DeviceId::parse("host"), DeviceId { kind: "host", ordinal: 0 });
        assert_eq!(DeviceId::parse("n1/cuda:3"), DeviceId { kind: "cuda", ordinal: 3 });
    }
}
