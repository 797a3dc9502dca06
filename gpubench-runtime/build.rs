//! Tells the library which commit it is built from, whether files have changed since, and how far it is optimised: every
//! run records it. Outside a checkout of its own the commit is unknown.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=GPUBENCH_OPT_LEVEL={}", env::var("OPT_LEVEL").unwrap_or_default());
    println!("cargo:rustc-env=GPUBENCH_TARGET={}", env::var("TARGET").unwrap_or_default());
    // A folder, or in a work tree a file.
    if !Path::new("../.git").exists() {
        return;
    }
    let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) else { return };
    for watched in fs::read_dir("..").into_iter().flatten().flatten().map(|entry| entry.file_name()) {
        let name = watched.to_string_lossy();
        if name.starts_with("gpubench-") || ["Cargo.toml", "src", "examples"].contains(&&*name) {
            println!("cargo:rerun-if-changed=../{name}");
        }
    }
    println!("cargo:rerun-if-changed={log}");
    if let Some(commit) = git(&["rev-parse", "HEAD"]) {
        println!("cargo:rustc-env=GPUBENCH_COMMIT={commit}");
    }
    if let Some(changes) = git(&["status", "--porcelain", "--untracked-files=no"]) {
        println!("cargo:rustc-env=GPUBENCH_DIRTY={}", !changes.is_empty());
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
