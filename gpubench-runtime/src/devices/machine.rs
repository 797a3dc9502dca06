//! Reads the files in which Linux describes a machine, and finds programs by name.

use std::{env, fs, path::PathBuf};

/// The file system and the search path of a machine: of this one, or of a test.
#[derive(Clone)]
pub(crate) struct Machine {
    root: PathBuf,
    /// The folders of the search path `PATH`.
    path: Vec<PathBuf>,
}

impl Machine {
    /// Returns this machine.
    pub(crate) fn this() -> Self {
        let path = env::var_os("PATH").iter().flat_map(env::split_paths).collect();
        Self { root: "/".into(), path }
    }

    /// Returns a machine whose files are below `root`, with an empty search path.
    #[cfg(test)]
    pub(crate) fn below(root: &std::path::Path) -> Self {
        Self { root: root.to_owned(), path: Vec::new() }
    }

    /// Returns a machine with these files only, each a name and its text, and the temporary folder that
    /// contains them.
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

    /// Returns the path of the absolute `path` below the root of the machine.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// Returns the text of a file without leading and trailing white space, or `None` if it cannot be read.
    pub(crate) fn read(&self, path: &str) -> Option<String> {
        Some(fs::read_to_string(self.path(path)).ok()?.trim().to_owned())
    }

    /// Returns the value of the first line `NAME: VALUE` with this name in a file, or `None`.
    pub(crate) fn value(&self, path: &str, name: &str) -> Option<String> {
        let text = self.read(path)?;
        let value = |line: &str| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim().to_owned());
        text.lines().find_map(value)
    }

    /// Returns the path of the program `name`: from the search path, otherwise from one of `folders`. A part
    /// of a folder that is `*` matches any name. Among several matches of a folder, the last one by name
    /// wins. Returns `None` if there is no such file.
    pub(crate) fn program(&self, name: &str, folders: &[&str]) -> Option<PathBuf> {
        let others = folders.iter().flat_map(|folder| self.matching(folder));
        let mut candidates = self.path.iter().cloned().chain(others).map(|folder| folder.join(name));
        candidates.find(|candidate| candidate.is_file())
    }

    /// Returns the folders that match `folder`, the last by name first. A part that is `*` matches any name.
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
