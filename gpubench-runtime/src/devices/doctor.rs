//! What `cargo gpubench doctor` finds: facts about a device or the machine with advice, and the files in which Linux
//! describes a machine.

use std::{fs, path::PathBuf};

use gpubench_core::{StreamSource as _, cuda::Gpu, host::Stream};
use serde::{Deserialize, Serialize};

use super::{cuda, host};

/// A fact about a device or the machine that affects measurements, with advice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The subject, such as `persistence`.
    pub topic: String,
    /// The device that the finding is about, such as `cuda:0`; `None` for the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Its meaning for measurements.
    pub level: Level,
    /// The state as a phrase, such as `off`.
    pub found: String,
    /// Advice on how to improve the state, or what follows from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// What a [`Finding`] means for measurements, from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// The state is as it should be.
    Good,
    /// The state is fine for most uses, but not for all.
    Note,
    /// Measured times are less steady, or may be suspect.
    Warning,
    /// A device cannot be measured.
    Problem,
}

impl Finding {
    /// Returns a finding with the state `found`, which is as it should be.
    pub fn good(topic: impl Into<String>, found: impl Into<String>) -> Self {
        Self { topic: topic.into(), device: None, level: Level::Good, found: found.into(), advice: None }
    }

    /// Returns a finding with the state `found`, its level and advice.
    pub fn with_advice(
        topic: impl Into<String>,
        level: Level,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { level, advice: Some(advice.into()), ..Self::good(topic, found) }
    }

    /// Sets the device that the finding is about.
    pub fn on(self, device: &str) -> Self {
        Self { device: Some(device.to_owned()), ..self }
    }
}

/// Examines the devices of the kind `kind` without changing anything. Returns findings on what measurements
/// need and what affects them; none for a kind that does not come with gpubench.
pub(crate) fn examine(kind: &str) -> Vec<Finding> {
    match kind {
        Gpu::KIND => cuda::examine::examine(),
        Stream::KIND => host::examine::examine(),
        _ => Vec::new(),
    }
}

/// The file system of a machine: of this one, or of a test.
pub(crate) struct Machine {
    root: PathBuf,
}

impl Machine {
    /// Returns this machine.
    pub(crate) fn this() -> Self {
        Self { root: "/".into() }
    }

    /// Returns a machine whose files are below `root`.
    #[cfg(test)]
    fn below(root: &std::path::Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Returns a temporary folder, and a machine that has only these files, which are in the folder. Each
    /// file is a pair of its absolute path and its text.
    #[cfg(test)]
    pub(crate) fn of_files(files: &[(&str, &str)]) -> (tempfile::TempDir, Self) {
        let root = tempfile::tempdir().expect("a folder");
        let machine = Self::below(root.path());
        for (name, text) in files {
            let path = machine.path(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
            fs::write(path, text).expect("it can be written");
        }
        (root, machine)
    }

    /// Returns the path, below the root of the machine, of the file with the absolute path `path`.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Returns the text of a file without leading and trailing white space, or `None` if it cannot be read.
    pub(crate) fn read(&self, path: &str) -> Option<String> {
        Some(fs::read_to_string(self.path(path)).ok()?.trim().to_owned())
    }

    /// Returns the value of the first line `NAME: VALUE` of the file `path`, where NAME is `name`. Returns
    /// `None` if the file cannot be read, or has no such line.
    pub(crate) fn value(&self, path: &str, name: &str) -> Option<String> {
        let text = self.read(path)?;
        let value = |line: &str| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim().to_owned());
        text.lines().find_map(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_by_name() {
        let root = tempfile::tempdir().expect("a folder");
        fs::write(root.path().join("params"), "A: 1\nRmProfilingAdminOnly: 1\n").expect("it can be written");
        let machine = Machine::below(root.path());
        assert_eq!(machine.value("/params", "RmProfilingAdminOnly").as_deref(), Some("1"));
        assert_eq!(machine.value("/params", "RmProfiling"), None);
        assert_eq!(machine.value("/none", "A"), None);
    }
}
