//! Reads the files in which Linux describes a machine, and finds programs by name.

use std::{env, fs, path::PathBuf};

/// A file system, usually this machine's.
#[derive(Clone)]
pub(crate) struct Machine {
    root: PathBuf,
    /// The user's folders of programs.
    path: Vec<PathBuf>,
}

impl Machine {
    /// This machine.
    pub(crate) fn this() -> Self {
        let path = env::var_os("PATH").iter().flat_map(env::split_paths).collect();
        Self { root: "/".into(), path }
    }

    /// A machine whose files are below `root`, without anything in the environment.
    #[cfg(test)]
    pub(crate) fn below(root: &std::path::Path) -> Self {
        Self { root: root.to_owned(), path: Vec::new() }
    }

    /// A machine with these files only, and the folder that contains them.
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

    /// Returns an absolute path below the root.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Reads a file, without the blanks around its text.
    pub(crate) fn read(&self, path: &str) -> Option<String> {
        Some(fs::read_to_string(self.path(path)).ok()?.trim().to_owned())
    }

    /// Reads the value after `name` and a colon in a file of such lines.
    pub(crate) fn value(&self, path: &str, name: &str) -> Option<String> {
        let text = self.read(path)?;
        let value = |line: &str| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim().to_owned());
        text.lines().find_map(value)
    }

    /// Finds a program, in the user's folders first, then in those that match, the last by name first.
    pub(crate) fn program(&self, name: &str, folders: &[&str]) -> Option<PathBuf> {
        let others = folders.iter().flat_map(|folder| self.matching(folder));
        let mut candidates = self.path.iter().cloned().chain(others).map(|folder| folder.join(name));
        candidates.find(|candidate| candidate.is_file())
    }

    /// Returns the folders that match, the last by name first. A part that is `*` is any folder.
    fn matching(&self, folder: &str) -> Vec<PathBuf> {
        let parts = folder.trim_matches('/').split('/');
        let mut found = parts.fold(vec![self.root.clone()], |found, part| {
            let within = |above: PathBuf| match part {
                "*" => {
                    fs::read_dir(above).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
                }
                name => vec![above.join(name)],
            };
            found.into_iter().flat_map(within).collect()
        });
        found.sort();
        found.reverse();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_found() {
        let root = tempfile::tempdir().expect("a folder");
        let machine = Machine::below(root.path());
        for version in ["2024.1.0", "2025.3.1", "2025.2.0"] {
            let folder = machine.path(&format!("/opt/nvidia/nsight-compute/{version}"));
            fs::create_dir_all(&folder).expect("it can be made");
            fs::write(folder.join("ncu"), "").expect("it can be written");
        }
        let found = machine.program("ncu", &["/usr/local/cuda/bin", "/opt/nvidia/nsight-compute/*"]);
        assert_eq!(found, Some(machine.path("/opt/nvidia/nsight-compute/2025.3.1/ncu")));
        assert_eq!(machine.program("nsys", &["/opt/nvidia/nsight-compute/*"]), None);
    }

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
