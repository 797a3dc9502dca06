//! Misspelt variables. In: the table of flags and the environment. Out: an error for a variable whose name is nearly that of one
//! that is read. It would have no effect, and a gate without effect is worse than a stop. Any other name may be a user's own.

use std::env;
use std::fmt::Display;

use clap::Command;
use strsim::osa_distance;

/// The beginning of all names of ours.
const PREFIX: &str = "GPUBENCH_";

/// The variables that have no flag: the libraries of NVIDIA's driver, and the size of a cache that wgpu does not tell.
const WITHOUT_FLAG: [&str; 4] = ["LIBCUDA", "LIBNVML", "CUPTI", "WGPU_CACHE_MIB"];

/// A variable that is not read, though it seems to be meant for one that is.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{PREFIX}{name} is no variable of this program: write {PREFIX}{similar}, or unset it (one of your own needs a name that is less like it)"
)]
pub(super) struct MisspeltVariable {
    name: String,
    similar: String,
}

/// Looks for such a variable in the environment. An empty one counts as unset.
pub(super) fn misspelt_variable(command: &Command) -> Option<impl Display + use<>> {
    let set = env::vars_os().filter(|(_, value)| !value.is_empty());
    let mut names: Vec<String> = set.filter_map(|(name, _)| name.into_string().ok()).collect();
    names.sort_unstable();
    names.iter().find_map(|name| misspelt(command, name))
}

fn misspelt(command: &Command, name: &str) -> Option<MisspeltVariable> {
    let name = name.strip_prefix(PREFIX)?;
    let twins = command.get_arguments().filter_map(|arg| arg.get_env()?.to_str()?.strip_prefix(PREFIX));
    let distances = twins.chain(WITHOUT_FLAG).map(|twin| (osa_distance(name, twin), twin));
    let (distance, similar) = distances.min()?;
    let is_similar = (1..=(name.len() / 4).max(1)).contains(&distance);
    is_similar.then(|| MisspeltVariable { name: name.to_owned(), similar: similar.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::super::help::{Caller, command};
    use super::*;

    #[test]
    fn names_that_are_almost_ours_are_errors() {
        let command = command(&Caller::default());
        let similar = |name: &str| misspelt(&command, name).map(|found| found.similar);
        for (name, twin) in [
            ("FAIL_ON_REGRESION", "FAIL_ON_REGRESSION"),
            ("FAIL_ON_REGRESSIONS", "FAIL_ON_REGRESSION"),
            ("BASLEINE", "BASELINE"),
            ("QUIK", "QUICK"),
            ("SAMPLE", "SAMPLES"),
            ("LIB_CUDA", "LIBCUDA"),
            ("LIBNVLM", "LIBNVML"),
            ("WGPU_CACHE_MB", "WGPU_CACHE_MIB"),
        ] {
            assert_eq!(similar(&format!("{PREFIX}{name}")).as_deref(), Some(twin));
        }
        // Ours, those of tests and of other programs, and what users may call their own.
        for name in [
            "QUICK",
            "LIBCUDA",
            "LIBNVML",
            "CUPTI",
            "WGPU_CACHE_MIB",
            "RELIABILITY",
            "KILLS",
            "FAKE_KERNEL",
            "SIZE",
            "TARGET",
            "INPUTS",
            "DATA",
        ] {
            assert_eq!(similar(&format!("{PREFIX}{name}")), None, "{name}");
        }
        assert_eq!(similar("QUIK"), None);
    }
}
