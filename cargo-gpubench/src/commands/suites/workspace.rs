//! The suites of a workspace. In: its manifest, as `cargo metadata` reads it; out: the bench targets of packages that depend on
//! gpubench.

use std::path::PathBuf;

use serde::Deserialize;

use crate::args::BuildArgs;
use crate::commands::init::GPUBENCH;
use crate::error::RunError;

/// A workspace in cargo's words.
#[derive(Debug, Deserialize)]
pub(in crate::commands) struct Workspace {
    packages: Vec<Package>,
    /// The folder of its manifest.
    #[serde(default)]
    pub(in crate::commands) workspace_root: PathBuf,
    /// The folder that cargo builds into.
    pub(in crate::commands) target_directory: PathBuf,
}

/// A package in cargo's words.
#[derive(Debug, Deserialize)]
pub(in crate::commands) struct Package {
    pub(in crate::commands) name: String,
    pub(in crate::commands) version: String,
    pub(in crate::commands) manifest_path: PathBuf,
    dependencies: Vec<Dependency>,
    targets: Vec<Target>,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    name: String,
}

#[derive(Debug, Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
    #[serde(default, rename = "required-features")]
    required_features: Vec<String>,
}

/// A bench target that is a suite, as far as its manifest tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::commands) struct BenchTarget {
    pub(in crate::commands) package: String,
    pub(in crate::commands) version: String,
    pub(in crate::commands) manifest: PathBuf,
    pub(in crate::commands) name: String,
    /// The features without which cargo does not build it.
    pub(in crate::commands) required_features: Vec<String>,
}

impl Workspace {
    /// Returns its suites: the bench targets of packages that depend on gpubench, by package and name. `wanted`
    /// names packages and bench targets; without names all are wanted.
    pub(in crate::commands) fn suites(&self, wanted: &BuildArgs) -> Result<Vec<BenchTarget>, RunError> {
        let BuildArgs { package: packages, bench: benches, .. } = wanted;
        if let Some(unknown) =
            packages.iter().find(|name| self.packages.iter().all(|package| package.name != **name))
        {
            return Err(RunError::NoPackage(unknown.clone()));
        }
        let wanted = |names: &[String], name: &String| names.is_empty() || names.contains(name);
        let of_gpubench = self.packages.iter().filter(|package| {
            wanted(packages, &package.name) && package.dependencies.iter().any(|other| other.name == GPUBENCH)
        });
        let mut suites: Vec<BenchTarget> = of_gpubench.flat_map(Package::bench_targets).collect();
        let known: Vec<String> = suites.iter().map(|suite| suite.name.clone()).collect();
        if let Some(unknown) = benches.iter().find(|name| !known.contains(name)) {
            return Err(RunError::NoBench { name: unknown.clone(), known });
        }
        suites.retain(|suite| wanted(benches, &suite.name));
        suites.sort_by(|a, b| (&a.package, &a.name).cmp(&(&b.package, &b.name)));
        if suites.is_empty() { Err(RunError::NoSuites) } else { Ok(suites) }
    }
}

impl BenchTarget {
    /// Returns true if it has the names of `other`, which may be of another revision.
    pub(in crate::commands) fn is_of_the_name_of(&self, other: &Self) -> bool {
        (&self.package, &self.name) == (&other.package, &other.name)
    }
}

impl Package {
    fn bench_targets(&self) -> impl Iterator<Item = BenchTarget> {
        let benches = self.targets.iter().filter(|target| target.kind.iter().any(|kind| kind == "bench"));
        benches.map(|target| BenchTarget {
            package: self.name.clone(),
            version: self.version.clone(),
            manifest: self.manifest_path.clone(),
            name: target.name.clone(),
            required_features: target.required_features.clone(),
        })
    }
}
